"""When two items have the same text, and what a store takes as one."""

from __future__ import annotations

import unicodedata
from hashlib import blake2b
from typing import Any


def normalise(text: str) -> str:
    """`text` as it is compared: compatibility forms, case and white space do not count."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
    return " ".join(text.casefold().split())


def storable(text: Any) -> Any:
    """`text` without what no store takes: zero characters and half character pairs. What is no text stays as it is."""
    if not isinstance(text, str):
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").replace("\0", "\ufffd")


def text_hash(text: str, image: str | None = None, audio: str | None = None) -> int:
    """A 63-bit number for what an item shows; items with equal numbers are one group.

    Media count too: the same caption under two pictures makes two items, not one twice.
    """
    shown = normalise(text) if image is None and audio is None else f"{normalise(text)}\0{image}\0{audio}"
    return int.from_bytes(blake2b(shown.encode(), digest_size=8).digest(), "big") >> 1


URL_STARTS = ("http://", "https://", "data:image/", "data:audio/")
"""How a media field begins that is an address itself; others name a file under `task_dir`."""
