"""What the server and its child say to each other: JSON lines on the child's stdin and stdout.

The first line is the project; then a request a line, `{"name", "args"}`, each answered with `{"answer"}`, or with
`{"refused": {"message", "code", "status", "hint"}}` for an error that a person is told, or `{"crashed": sentence}`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from potato.errors import PotatoError
from potato.project import Project
from potato.project.models import ProjectFile


class TaskCrashed(PotatoError):
    """The child process died, or met an error that nobody foresaw."""

    code = "task_crashed"
    status = 500


class TaskRefused(PotatoError):
    """A task's own error, brought over from the child: its code, status, sentence and hint are those it had there."""


def project_line(project: Project, epoch: int | None = None) -> bytes:
    """The project as the child gets it: as the server has it, whatever became of the file since; and the election
    that the child works for."""
    config = project.config.model_dump(mode="json")
    url = project.config.database_url
    config["database_url"] = url.get_secret_value() if url is not None else None
    config["admin_api_key"] = None  # no task needs it
    return line({"file": str(project.file), "config": config, "epoch": epoch})


def read_project(data: bytes) -> Project:
    """The project of `project_line`."""
    raw = json.loads(data)
    return Project(Path(raw["file"]), ProjectFile.model_validate(raw["config"]))


def read_epoch(data: bytes) -> int | None:
    """The election of `project_line`."""
    epoch: int | None = json.loads(data)["epoch"]
    return epoch


def refused(error: PotatoError) -> dict[str, Any]:
    """An error as it crosses to the server."""
    return {"message": error.message, "code": error.code, "status": error.status, "hint": error.hint}


def restored(raw: dict[str, Any]) -> PotatoError:
    """The error of `refused`, an instance of `TaskRefused`."""
    leaf = type("TaskRefused", (TaskRefused,), {"code": raw["code"], "status": raw["status"]})
    error: PotatoError = leaf(raw["message"], hint=raw["hint"])
    return error


def line(value: Any) -> bytes:
    """`value` on a line of its own."""
    return json.dumps(value, ensure_ascii=True, separators=(",", ":")).encode() + b"\n"
