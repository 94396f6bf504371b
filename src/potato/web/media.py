"""An item's image and recording on its page, and their files."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import FileResponse, Response

from potato.items.media import MOST_HOSTS, Kind, MediaFile, NoMedia, find, is_address
from potato.project import Project
from potato.store import Connection, facts
from potato.store.items import MEDIA_HOSTS, ItemRow
from potato.web.protection import content_security_policy

FRESH_S = 600
"""Seconds for which a browser shows a file again without asking."""

ALONE = "default-src 'none'; style-src 'unsafe-inline'; sandbox"
"""The policy of a file that is opened by itself: a drawing may style itself, and runs nothing."""


@dataclass(frozen=True)
class Medium:
    """How the page shows an image or a recording: `address` is empty for a file of this server's; `problem` says why
    it cannot be shown; `description` is the image in words."""

    kind: Kind
    address: str
    problem: NoMedia | None
    description: str


def medium_of(project: Project, item: ItemRow, kind: Kind) -> Medium | None:
    """The item's image or recording; None where it has none. Looks whether the file is there."""
    name = item.image if kind == "image" else item.audio
    if not name:
        return None
    if is_address(name):
        return Medium(kind, name, None, _description(project, item))
    try:
        find(project.task_dir, kind, name)
    except NoMedia as problem:
        return Medium(kind, "", problem, "")
    return Medium(kind, "", None, _description(project, item))


def media_file(project: Project, item: ItemRow, kind: Kind) -> MediaFile:
    """The file of an item's image or recording. Raises `NoMedia`, also for one that is an address."""
    name = item.image if kind == "image" else item.audio
    if not name or is_address(name):
        raise NoMedia(kind, name or "", "the item has no such file")
    return find(project.task_dir, kind, name)


def policy(connection: Connection) -> str:
    """The content security policy of pages that show items: media may come from the hosts that items name."""
    hosts: Sequence[str] = facts.get_list(connection, MEDIA_HOSTS)
    return content_security_policy(hosts if len(hosts) <= MOST_HOSTS else ("http:", "https:"))


def file_response(request: Request, file: MediaFile) -> Response:
    """The file, or the range of it that is asked for, or that it has not changed. Raises `FileNotFoundError`."""
    stat = os.stat(file.path)  # noqa: PTH116 - FileResponse wants just this
    headers = {"cache-control": f"private, max-age={FRESH_S}", "content-security-policy": ALONE}
    response = FileResponse(file.path, media_type=file.type, headers=headers, stat_result=stat)
    if response.headers["etag"] in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers={**headers, "etag": response.headers["etag"]})
    return response


def _description(project: Project, item: ItemRow) -> str:
    key = project.config.item_properties.image_alt_key
    said = item.fields.get(key) if key else None
    return said.strip() if isinstance(said, str) else ""
