"""The JSON Schema of the project file, for editors."""

from __future__ import annotations

from typing import Any

from potato.project.models import ProjectFile

DIALECT = "https://json-schema.org/draft/2020-12/schema"
_WRITTEN_AS_TEXT = ["string", "number", "boolean"]
"""An editor reads an unquoted `no`, `01` or `0` as these; Potato reads the text as it was written."""


def project_schema() -> dict[str, Any]:
    """The schema, as `potato schema` prints it."""
    schema = _as_written(ProjectFile.model_json_schema())
    label = schema["$defs"]["Label"]
    schema["$defs"]["Label"] = {"anyOf": [{"type": _WRITTEN_AS_TEXT}, label]}
    return {"$schema": DIALECT, **schema, "title": "Potato project file"}


def _as_written(part: Any) -> Any:
    if isinstance(part, list):
        return [_as_written(item) for item in part]
    if not isinstance(part, dict):
        return part
    read = {key: _as_written(value) for key, value in part.items()}
    if read.get("type") == "string" and not {"const", "enum"} & read.keys():
        read["type"] = _WRITTEN_AS_TEXT
    return read
