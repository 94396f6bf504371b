"""Gathering what the annotation page shows, in one read of the store."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from potato.annotate.saving import ItemNotYours
from potato.annotate.suggested import suggested
from potato.annotate.view import ItemPage, asks_for
from potato.errors import PotatoError
from potato.store import Connection, assignments, items
from potato.store.annotations import of_user
from potato.store.assignments import Progress
from potato.store.items import ItemRow
from potato.web.auth import User
from potato.web.site import Site

URL_STARTS = ("http://", "https://", "data:image/", "data:audio/")


class NoMedia(PotatoError):
    """An item names an image or a recording that is not there."""

    code = "no_media"
    status = 404

    def __init__(self, seq: int, kind: str) -> None:
        super().__init__(f"The {kind} of item number {seq} is not there", hint="Look for its file under `task_dir`.")


def item_page(
    connection: Connection, site: Site, user: User, seq: int, keys: Mapping[str, Mapping[str, str]]
) -> tuple[ItemPage, Progress]:
    """The page of one item for one annotator. Raises `ItemNotYours`."""
    item = _given_item(connection, user, seq)
    suggestions, _ = suggested(connection, site.project, item)
    asks = asks_for(site.project.schemes, item, user.name, keys, of_user(connection, user.id, seq), suggestions)
    shown = {ask.scheme.name: suggestions[ask.scheme.name].as_json() for ask in asks if ask.suggested is not None}
    page = ItemPage(
        item,
        asks,
        shown=site.sessions.sign("shown", {"item": seq, "suggestions": shown}),
        image=item.image and _address(item.image),
        audio=item.audio and _address(item.audio),
    )
    return page, assignments.progress(connection, user.id)


def media_file(connection: Connection, site: Site, user: User, seq: int, kind: str) -> Path:
    """The file of an item's image or recording. Raises `NoMedia` for one that is not under `task_dir`."""
    item = _given_item(connection, user, seq)
    name = {"image": item.image, "audio": item.audio}.get(kind)
    if not name or name.startswith(URL_STARTS):
        raise NoMedia(seq, kind)
    file = (site.project.task_dir / name).resolve()
    if not file.is_relative_to(site.project.task_dir):
        raise NoMedia(seq, kind)
    return file


def _given_item(connection: Connection, user: User, seq: int) -> ItemRow:
    item = items.by_seq(connection, seq)
    if item is None or not assignments.was_given(connection, user.id, seq):
        raise ItemNotYours(seq)
    return item


def _address(name: str) -> str:
    """The address of a media field that is one itself; empty for a file, which the page asks this server for."""
    return name if name.startswith(URL_STARTS) else ""
