"""What events say: to the run's row, and to a person. Whatever a worker wrote becomes typed values here."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from potato.training.contract.events import Event

MAX_STEP = 300
MAX_TEXT = 2000
MAX_ATTEMPT = 1 << 31


def changes(events: Iterable[Event]) -> dict[str, Any]:
    """The fields of the run's row that these events change."""
    fields: dict[str, Any] = {}
    for event in events:
        if event.name == "status":
            fields["step"] = text(event.fields.get("step"), MAX_STEP)
            attempt = event.fields.get("attempt")
            if isinstance(attempt, int) and 0 < attempt <= MAX_ATTEMPT:
                fields["attempt"] = attempt  # a scheduler has started the job again
        elif event.name == "progress":
            fields["progress"] = _progress(event.fields)
        elif event.name == "result":
            fields.update(_result(event.fields))
        if event.name in ("status", "result") and event.fields.get("device"):
            fields["device"] = text(event.fields["device"], MAX_STEP)
    return fields


def log_lines(event: Event) -> list[tuple[float, str]]:
    """The lines of `run.log` for an event: its moment, and what a person reads."""
    line = _line(event)
    return [(event.t, line)] if line else []


def error_of(fields: dict[str, Any]) -> dict[str, Any]:
    """A worker's error event as the run's error."""
    install = text(fields.get("install_hint"), MAX_TEXT)
    message = text(fields.get("message"), MAX_TEXT) or "The trainer failed"
    return {"code": text(fields.get("code"), 100) or "trainer_failed", "message": message, "hint": install or None}


def text(value: Any, limit: int) -> str:
    """`value` as text of at most `limit` characters; empty for None."""
    return "" if value is None else str(value)[:limit]


def _line(event: Event) -> str:
    fields = event.fields
    if event.name == "status":
        return text(fields.get("step"), MAX_STEP)
    if event.name == "log":
        level, words = text(fields.get("level"), 20), text(fields.get("msg"), MAX_TEXT)
        return words if level in ("", "info") else f"{level}: {words}"
    if event.name == "metric":
        return _metric(fields)
    if event.name == "artifact":
        return f"wrote {text(fields.get('path'), MAX_STEP)} ({text(fields.get('bytes'), 30)} bytes)"
    if event.name == "error":
        error = error_of(fields)
        return f"error: {error['message']}" + (f" {error['hint']}" if error["hint"] else "")
    return "the worker has finished" if event.name == "result" else ""


def _metric(fields: dict[str, Any]) -> str:
    value = _number(fields.get("value"))
    if fields.get("split") not in ("val", "test") or value is None:
        return ""  # the curves show each training step; the log does not
    return f"{fields['split']} {text(fields.get('name'), 60)} {value:.4g} (step {text(fields.get('step'), 20)})"


def _progress(fields: dict[str, Any]) -> dict[str, Any]:
    return {
        "phase": text(fields.get("phase"), 60),
        "current": int(_number(fields.get("current")) or 0),
        "total": int(_number(fields.get("total")) or 0),
        "eta_s": _number(fields.get("eta_s")),
    }


def _result(fields: dict[str, Any]) -> dict[str, Any]:
    metrics, order = fields.get("metrics"), fields.get("label_order")
    return {
        "metrics": metrics if isinstance(metrics, dict) else {},
        "label_order": order if isinstance(order, dict) else None,
        "model_version": text(fields.get("model_version"), 200) or None,
    }


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        return None
    return value
