"""The base of every typed model that is read from a project file."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Model(BaseModel):
    """Immutable, and closed: a key it does not know is an error, never ignored."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True, str_strip_whitespace=False)
