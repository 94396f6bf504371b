"""Which questions an item asks of someone, given what they have answered; "done" is defined here and nowhere else."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from potato.schemes.base import Answer, Scheme


def is_asked(scheme: Scheme, answers: Mapping[str, Answer]) -> bool:
    """Whether `scheme` is shown: it has no `show_if`, or the answers so far fulfil each of its conditions."""
    return all(_gives(answers.get(other), wanted) for other, wanted in (scheme.show_if or {}).items())


def missing(schemes: Iterable[Scheme], answers: Mapping[str, Answer]) -> list[str]:
    """The names of the questions that are asked, required and not answered; none: the item is done."""
    return [s.name for s in schemes if s.required and s.name not in answers and is_asked(s, answers)]


def _gives(answer: Any, wanted: str | list[str]) -> bool:
    given = {_named(part) for part in answer} if isinstance(answer, list) else {str(answer)}
    return answer is not None and not given.isdisjoint([wanted] if isinstance(wanted, str) else wanted)


def _named(part: Any) -> str:
    """The label of a span; another part of a list is a label itself."""
    return str(part["label"] if isinstance(part, dict) else part)
