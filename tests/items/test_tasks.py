"""The work of the items that the task child does."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

from makers import small
from potato.items import tasks


def test_a_download_is_written_beside_others_that_come_and_go_and_removes_what_was_left(tmp_path: Path) -> None:
    folder = tmp_path / "exports"
    folder.mkdir()
    gone = folder / "gone.part"
    gone.symlink_to(folder / "renamed meanwhile")  # listed, and not there when it is looked at
    begun, left = folder / "begun.part", folder / "left.part"
    for each in (begun, left):
        each.write_text("of another download")
    long_ago = time.time() - 2 * 3600
    os.utime(left, (long_ago, long_ago))
    with small(tmp_path) as project:
        args = {"path": str(folder / "own"), "format": "jsonl"}
        manifest = tasks.export(project.project, project.database, args)
    assert json.loads((folder / "own.manifest.json").read_text()).items() >= manifest.items()
    assert begun.exists()
    assert not left.exists()
