"""Which split an item is in: a seeded hash of its group, so that it never changes however the corpus grows."""

from __future__ import annotations

import hashlib

from potato.project.training import Splits


def split_of(group: str, seed: int, splits: Splits) -> str:
    """`train`, `val` or `test` for the group of items with one text (named by the id of its first item)."""
    digest = hashlib.sha256(f"{seed}:{group}".encode()).digest()
    place = int.from_bytes(digest[:7], "big") / 2**56
    if place < splits.train:
        return "train"
    if splits.test <= 0 or (splits.val > 0 and place < splits.train + splits.val):
        return "val" if splits.val > 0 else "train"
    return "test"


def is_hidden(scheme: str, group: str, share: float) -> bool:
    """Whether `writeback.hide_share` keeps this scheme's suggestions for the group from every annotator.

    The same groups for every run, and more of them when the share grows.
    """
    digest = hashlib.sha256(f"hide:{scheme}:{group}".encode()).digest()
    return int.from_bytes(digest[:7], "big") / 2**56 < share
