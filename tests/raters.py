"""What people said of real reviews."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

RATERS = 5


def majority(reviews: Path) -> dict[str, str]:
    """Review → the sign that most of its first raters gave it; left out where they are divided."""
    found = {}
    for line in map(json.loads, (reviews / "ratings.jsonl").read_text("utf-8").splitlines()):
        signs = Counter(rating > 0 for rating in line["ratings"][:RATERS] if rating)
        if signs[True] != signs[False]:
            found[line["id"]] = "positive" if signs[True] > signs[False] else "negative"
    return found
