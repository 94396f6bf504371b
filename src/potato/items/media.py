"""Items' images and recordings: files under `task_dir` that browsers show, or addresses."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from potato.errors import PotatoError
from potato.items.problems import Problems, RowProblem
from potato.items.text import URL_STARTS
from potato.store.intake import NewItem

Kind = Literal["image", "audio"]

TYPES: dict[Kind, dict[str, str]] = {
    "image": {
        ".png": "image/png",
        ".jpg": "image/jpeg",
        ".jpeg": "image/jpeg",
        ".gif": "image/gif",
        ".webp": "image/webp",
        ".avif": "image/avif",
        ".bmp": "image/bmp",
        ".svg": "image/svg+xml",
    },
    "audio": {
        ".mp3": "audio/mpeg",
        ".wav": "audio/wav",
        ".ogg": "audio/ogg",
        ".oga": "audio/ogg",
        ".opus": "audio/ogg",
        ".m4a": "audio/mp4",
        ".aac": "audio/aac",
        ".flac": "audio/flac",
        ".webm": "audio/webm",
    },
}
"""What is served, by the ending of the file's name, and as what. Nothing else leaves `task_dir`."""

MOST_MB: dict[Kind, int] = {"image": 50, "audio": 500}
"""The most megabytes that a file may have."""

WORDS: dict[Kind, str] = {"image": "image", "audio": "recording"}

MOST_HOSTS = 100
"""Hosts that a page's headers name one by one; with more, every host is allowed."""

_HOST = re.compile(r"[a-z0-9.-]+(:\d{1,5})?")


class NoMedia(PotatoError):
    """An item's image or recording cannot be shown."""

    code = "no_media"
    status = 404

    def __init__(self, kind: Kind, name: str, reason: str) -> None:
        super().__init__(
            f"The {WORDS[kind]} {name!r:.120} cannot be shown: {reason}",
            hint="Skip the item, and tell whoever runs the project.",
        )
        self.reason = reason


@dataclass(frozen=True)
class MediaFile:
    """A file to be served, and as what."""

    path: Path
    type: str


def is_address(name: str) -> bool:
    """Whether a media field is an address itself."""
    return name.startswith(URL_STARTS)


def find(task_dir: Path, kind: Kind, name: str) -> MediaFile:
    """The file that a media field names; links are followed. Raises `NoMedia`."""
    root = task_dir.resolve()
    try:
        path = (root / name).resolve()
        inside, there = path.is_relative_to(root), path.is_file()
        size = path.stat().st_size if inside and there else 0
    except (OSError, ValueError, RuntimeError) as error:
        raise NoMedia(kind, name, f"this cannot be a file ({error})") from error
    if not inside:
        raise NoMedia(kind, name, "it lies outside of task_dir")
    if path.suffix.lower() not in TYPES[kind]:
        raise NoMedia(kind, name, f"its name must end in one of {', '.join(TYPES[kind])}")
    if not there:
        raise NoMedia(kind, name, "there is no such file under task_dir")
    if size > MOST_MB[kind] * 1_000_000:
        raise NoMedia(kind, name, f"it has {size / 1_000_000:.0f} MB, and {MOST_MB[kind]} MB are the most")
    return MediaFile(path, TYPES[kind][path.suffix.lower()])


def host_of(address: str) -> str | None:
    """`https://host:port` of an address, as a page's headers name it; None where it has no host that they can name."""
    try:
        parts = urlsplit(address)
        host = parts.netloc.rpartition("@")[2].encode("idna").decode().lower()
    except ValueError:
        return None
    return f"{parts.scheme}://{host}" if _HOST.fullmatch(host) else None


@dataclass
class MediaSurvey:
    """What the rows of a load name that cannot be shown, and the hosts of their addresses."""

    task_dir: Path
    problems: Problems = field(default_factory=Problems)
    hosts: set[str] = field(default_factory=set)

    def look(self, piece: Sequence[NewItem]) -> None:
        """Look at what these items name."""
        for item in piece:
            if item.image is not None:
                self._look(item, "image", item.image)
            if item.audio is not None:
                self._look(item, "audio", item.audio)

    def sentences(self) -> Iterator[str]:
        """What a person wants to know of it."""
        if self.problems:
            what = "image or recording" if self.problems.count == 1 else "images and recordings"
            yield f"{self.problems.count} {what} cannot be shown:"
            yield from self.problems.lines()

    def _look(self, item: NewItem, kind: Kind, name: str) -> None:
        if not is_address(name):
            try:
                find(self.task_dir, kind, name)
            except NoMedia as error:
                self.problems.add(RowProblem(item.source, item.line, error.message))
        elif not name.startswith("data:"):
            host = host_of(name)
            if host is None:
                self.problems.add(RowProblem(item.source, item.line, f"the address {name!r:.120} names no host"))
            elif len(self.hosts) <= MOST_HOSTS:
                self.hosts.add(host)
