"""The export as a download. It is written whole by the task child first, so that nobody gets half of one."""

from __future__ import annotations

import asyncio
import uuid
from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, Query
from starlette.background import BackgroundTask
from starlette.responses import FileResponse, Response

from potato.items.exporters import EXPORTERS, UnknownFormat
from potato.web.auth import AdminDep
from potato.web.site import SiteDep

router = APIRouter(include_in_schema=False)

FILES = {"label-studio": "labels.json", "spacy": "labels.spacy.jsonl"}
"""Names of downloads that do not follow from their format's."""
DOWNLOADS = [name for name, exporter in EXPORTERS.items() if not exporter.is_folder]


@router.get("/admin/export", name="admin_export")
async def download(
    site: SiteDep, _admin: AdminDep, form: Annotated[str, Query(alias="format", max_length=100)] = "jsonl"
) -> Response:
    """Every answer in that format, as `potato export` writes it."""
    if form not in DOWNLOADS:
        raise UnknownFormat(form, DOWNLOADS)
    path = site.project.output_dir / "exports" / uuid.uuid4().hex
    await asyncio.wrap_future(site.tasks.run("items.export", {"format": form, "path": str(path)}))
    name = FILES.get(form, f"labels.{form}")
    return FileResponse(
        path, filename=name, headers={"Cache-Control": "no-store"}, background=BackgroundTask(_forget, path)
    )


def _forget(path: Path) -> None:
    for each in (path, Path(f"{path}.manifest.json")):
        each.unlink(missing_ok=True)
