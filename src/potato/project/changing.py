"""Giving a project file another `database_url`, and leaving all else in it as it was written."""

from __future__ import annotations

import json
from pathlib import Path

from ruamel.yaml import YAML
from ruamel.yaml.nodes import MappingNode

from potato.errors import PotatoError
from potato.project.loading import load_or_raise
from potato.project.nodes import decode

_KEY = "database_url"


class NotChanged(PotatoError):
    """The project file is written in a way in which a program cannot change it safely."""

    code = "project_not_changed"
    status = 422

    def __init__(self, file: Path) -> None:
        super().__init__(f"{file.name} could not be given another {_KEY}", hint=f"Change {_KEY} in it by hand.")


def set_database_url(file: Path, url: str | None) -> None:
    """Write `url` into the valid project file; None: no database, so the store is a file. Raises `NotChanged`."""
    before = load_or_raise(file).config
    text = decode(file.read_bytes())
    file.write_text(_changed(text, json.dumps(url, ensure_ascii=False)), encoding="utf-8")
    project = load_or_raise(file)
    after = project.config.database_url
    same = project.config.model_copy(update={_KEY: before.database_url}) == before
    if not same or (after.get_secret_value() if after else None) != url:
        raise NotChanged(file)


def _changed(text: str, value: str) -> str:
    root = YAML(typ="rt", pure=True).compose(text)
    assert isinstance(root, MappingNode)  # the file is valid
    for key, old in root.value:
        if key.value == _KEY:
            return text[: old.start_mark.index] + value + text[old.end_mark.index :]
    if root.flow_style:
        begin = root.start_mark.index + 1
        return f'{text[:begin]}"{_KEY}": {value}, {text[begin:]}'
    before, after = text[: root.end_mark.index], text[root.end_mark.index :]
    gap = "" if before.endswith("\n") else "\n"
    return f"{before}{gap}{' ' * root.start_mark.column}{_KEY}: {value}\n{after}"
