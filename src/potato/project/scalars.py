"""Single values: the field's type decides what a text means."""

from __future__ import annotations

import math
import re
from typing import Any

from pydantic import SecretStr

from potato.project.kinds import choices
from potato.project.nodes import Scalar
from potato.project.wording import near, one_of, quoted

NULLS = ("null", "Null", "NULL", "~", "")
_TRUE = ("true", "yes", "on")
_FALSE = ("false", "no", "off")
_WHOLE = re.compile(r"[-+]?[0-9]{1,18}")
_NUMBER = re.compile(r"[-+]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]{1,4})?")
_INFINITE = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")


class WrongValue(ValueError):
    """The text is no value of the field's type; the sentence says what is."""


def is_null(scalar: Scalar) -> bool:
    """Whether nothing is meant: no text at all, `null` or `~`, without quotes."""
    return scalar.plain and scalar.text in NULLS


def read(kind: Any, scalar: Scalar) -> Any:
    """The value of `scalar` as a `kind`. Raises `WrongValue`."""
    allowed = choices(kind)
    if allowed is not None:
        return _choice(allowed, scalar.text)
    if kind is bool:
        return _boolean(scalar.text)
    if kind is int:
        return _whole(scalar.text)
    if kind is float:
        return _number(scalar.text)
    if kind in (str, SecretStr):
        return scalar.text
    return guess(scalar)


def guess(scalar: Scalar) -> Any:
    """The value where no field decides (a trainer's params): YAML 1.2, so `no` is text and `1e-5` a number."""
    text = scalar.text
    if not scalar.plain:
        return text
    if text in NULLS:
        return None
    if text in ("true", "True", "TRUE", "false", "False", "FALSE"):
        return text.lower() == "true"
    if _WHOLE.fullmatch(text):
        return int(text)
    if _INFINITE.fullmatch(text):
        raise WrongValue(f"must be a finite number, not {quoted(text)}")
    return _number(text) if _NUMBER.fullmatch(text) else text


def _choice(allowed: tuple[Any, ...], text: str) -> str:
    if text in allowed:
        return text
    raise WrongValue(f"must be {one_of(allowed)}, not {quoted(text)}{near(text, allowed)}")


def _boolean(text: str) -> bool:
    if text.lower() in _TRUE:
        return True
    if text.lower() in _FALSE:
        return False
    raise WrongValue(f"must be true or false, not {quoted(text)}")


def _whole(text: str) -> int:
    if _WHOLE.fullmatch(text):
        return int(text)
    raise WrongValue(f"must be a whole number, not {quoted(text)}")


def _number(text: str) -> float:
    number = float(text) if _NUMBER.fullmatch(text) else math.nan
    if math.isfinite(number):
        return number
    raise WrongValue(f"must be a number, not {quoted(text)}")
