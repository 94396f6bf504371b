"""Values as the JSON that the store keeps: what every database takes, and every program reads."""

from __future__ import annotations

import json
import math
from typing import Any


def to_json(value: Any) -> str:
    """The text of `value`. NaN and infinities, which JSON does not have, become null, as they do in events."""
    try:
        return json.dumps(value, allow_nan=False)
    except ValueError:
        return json.dumps(_finite(value), allow_nan=False)


def for_sqlite(value: Any) -> Any:
    """What SQLite's driver is given for `value`: as `to_json`, but a number with a fraction as that number.

    SQLite keeps a bare number as a number whichever it is given; made of text, its last digit is wrong now and then.
    """
    return value if isinstance(value, float) and math.isfinite(value) else to_json(value)


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {name: _finite(each) for name, each in value.items()}
    return [_finite(each) for each in value] if isinstance(value, list | tuple) else value
