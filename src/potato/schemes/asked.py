"""Which questions an item asks of someone, given what they have answered; "done" is defined here and nowhere else.

A question with `show_if` is asked when each question that it names is asked itself and has one of the wanted answers.
The answer of a question that is not asked counts for nothing, and is not kept.
"""

from __future__ import annotations

from collections.abc import Mapping

from potato.schemes.base import Answer, Scheme


def asked(schemes: Mapping[str, Scheme], answers: Mapping[str, Answer]) -> set[str]:
    """The names of the questions that are asked. None wait for each other in a circle: `validate` refuses that."""
    found: dict[str, bool] = {}

    def is_asked(scheme: Scheme) -> bool:
        if scheme.name not in found:
            found[scheme.name] = all(holds(other, wanted) for other, wanted in (scheme.show_if or {}).items())
        return found[scheme.name]

    def holds(other: str, wanted: str | list[str]) -> bool:
        if other not in schemes or answers.get(other) is None or not is_asked(schemes[other]):
            return False
        return not set(schemes[other].names(answers[other])).isdisjoint([wanted] if isinstance(wanted, str) else wanted)

    return {name for name, scheme in schemes.items() if is_asked(scheme)}


def missing(schemes: Mapping[str, Scheme], answers: Mapping[str, Answer]) -> list[str]:
    """The names of the questions that are asked, required and not answered; none: the item is done."""
    waiting = [scheme for scheme in schemes.values() if scheme.required and answers.get(scheme.name) is None]
    if not waiting:
        return []
    shown = asked(schemes, answers)
    return [scheme.name for scheme in waiting if scheme.name in shown]


def unasked(schemes: Mapping[str, Scheme], answers: Mapping[str, Answer]) -> set[str]:
    """Those of the project's questions that have one of these answers and are not asked."""
    if not any(scheme.show_if for scheme in schemes.values()):
        return set()
    return {name for name in answers if name in schemes} - asked(schemes, answers)
