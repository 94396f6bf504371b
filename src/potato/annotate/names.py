"""One spelling for each annotator."""

from __future__ import annotations

import unicodedata

from potato.store.users import check_name


def clean_name(name: str) -> str:
    """`name` composed, with single spaces and none at the ends, so that one person is one annotator.

    Raises `InvalidName`.
    """
    return check_name(" ".join(unicodedata.normalize("NFC", name).split()))
