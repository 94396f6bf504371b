"""What a run leaves behind, as text and downloads: its logs, and the files of its model."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from fastapi import APIRouter, Query
from starlette.responses import FileResponse, Response, StreamingResponse

from potato.errors import PotatoError
from potato.store import Connection
from potato.store.training import runs as stored
from potato.training.runs.folder import RunFolder
from potato.training.web import pieces
from potato.training.web.answers import RunId, errors
from potato.web.auth import AdminDep
from potato.web.site import Site, SiteDep

router = APIRouter(tags=["files"])

LogName = Literal["run", "stderr", "agent"]

_TEXT = "text/plain; charset=utf-8"


class NoSuchFile(PotatoError):
    """The run has no model file of that name; old runs lose theirs."""

    code = "unknown_file"
    status = 404

    def __init__(self, run_id: str, name: str) -> None:
        super().__init__(f"Run {run_id} has no file {name!r:.200}", hint="Old runs lose their files: see retain_runs.")


@dataclass(frozen=True)
class Artifact:
    """A file of the model: its path under the run's artifacts folder, and its size in bytes."""

    path: str
    size: int

    @property
    def size_text(self) -> str:
        """The size for people."""
        return size_text(self.size)


def size_text(size: int) -> str:
    """`812 B`, `3.4 kB`, `120 MB`: in units of 1,000 bytes."""
    value, units = float(size), ["B", "kB", "MB", "GB", "TB"]
    while value >= 999.5 and len(units) > 1:
        value, units = value / 1000, units[1:]
    return f"{value:.0f} {units[0]}" if value >= 10 or units[0] == "B" else f"{value:.1f} {units[0]}"


def log_file(folder: RunFolder, name: LogName) -> Path:
    """Where a log of the run lies, whether or not it is there."""
    return {"run": folder.log, "stderr": folder.stderr, "agent": folder.agent_log}[name]


def artifacts(folder: RunFolder) -> list[Artifact]:
    """The model's files in order of their paths; none for a run that left none. Links are left out."""
    root = folder.artifacts
    found = [Path(at, name) for at, _, names in os.walk(root) for name in names]
    sizes = ((path, file_size(path)) for path in found)
    listed = (Artifact(path.relative_to(root).as_posix(), size) for path, size in sizes if size is not None)
    return sorted(listed, key=_by_path)


def file_size(path: Path) -> int | None:
    """In bytes; None for what is no file, or no more: a run renames files as it goes on, and loses them in the end."""
    try:
        found = path.lstat()
    except FileNotFoundError:
        return None
    return found.st_size if stat.S_ISREG(found.st_mode) else None


def _by_path(artifact: Artifact) -> str:
    return artifact.path


@router.get(
    "/runs/{run_id}/log",
    response_class=Response,
    responses={200: {"content": {"text/plain": {}}, "description": "The log as text."}, **errors(404)},
)
async def get_log(
    run_id: RunId,
    site: SiteDep,
    admin: AdminDep,
    file: LogName = "run",
    tail: Annotated[int | None, Query(ge=0, le=1 << 20)] = None,
) -> Response:
    """A log of the run as text: what a person reads (`run`), or what was printed (`stderr`, `agent`).

    `tail` asks for the last whole lines of at most so many bytes. The header `X-Next-Offset` says where the text
    ends: pass it as `log_after` to the stream.
    """
    path = log_file(await _folder(site, run_id), file)
    if tail is not None:
        text = await site.read(lambda _: pieces.read_tail(path, tail))
        return Response(text.text, media_type=_TEXT, headers={"X-Next-Offset": str(text.next)})
    size = file_size(path) or 0
    headers = {"X-Next-Offset": str(size), "Content-Length": str(size)}
    return StreamingResponse(pieces.stream(path, size) if size else iter(()), media_type=_TEXT, headers=headers)


@router.get(
    "/runs/{run_id}/artifacts/{path:path}",
    response_class=Response,
    responses={200: {"content": {"application/octet-stream": {}}, "description": "The file."}, **errors(404)},
)
async def get_artifact(run_id: RunId, path: str, site: SiteDep, admin: AdminDep) -> Response:
    """One file of the run's model."""
    folder = await _folder(site, run_id)
    names = await site.read(lambda _: {artifact.path for artifact in artifacts(folder)})
    if path not in names:  # only what the listing names is given out, so no path leads elsewhere
        raise NoSuchFile(run_id, path)
    return FileResponse(folder.artifacts / path, media_type="application/octet-stream", filename=Path(path).name)


async def _folder(site: Site, run_id: str) -> RunFolder:
    def find(connection: Connection) -> RunFolder:
        return RunFolder.of(site.project, stored.get_or_raise(connection, run_id).run_id)

    return await site.read(find)
