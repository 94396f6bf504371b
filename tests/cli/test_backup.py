"""`potato backup` says what is not in the backup."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

import site_scenes as scenes
from potato.cli import build


@pytest.mark.parametrize("field", ["image_key", "audio_key", None])
def test_images_and_recordings_are_said_to_be_left_out(field: str | None, tmp_path: Path) -> None:
    properties = {"item_properties": {field: "file"}} if field else {}
    project = scenes.project(tmp_path, **properties)
    said = CliRunner().invoke(build(), ["backup", str(project.file), str(tmp_path / "b.tar.gz")]).output
    assert ("Not in it: the items' images and recordings." in said) == (field is not None)
