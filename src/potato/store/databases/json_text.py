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


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {name: _finite(each) for name, each in value.items()}
    return [_finite(each) for each in value] if isinstance(value, list | tuple) else value
