"""Is there enough to train on at all?"""

from __future__ import annotations

from collections.abc import Sequence

from potato.errors import PotatoError
from potato.schemes import Answer, Kind, Scheme
from potato.training.trainers.base import TrainerInfo


class NotEnoughLabels(PotatoError):
    """There are too few labels, or they are all alike; nothing was started."""

    code = "not_enough_labels"
    status = 400

    def __init__(self, scheme: str, have: int, need: int, only: str | None = None) -> None:
        if only is None:
            message = f"Not enough labels to train '{scheme}': {have} of {need} needed in the training split"
        else:
            message = (
                f"Not enough labels to train '{scheme}': all {have} labels in the training split are {only}, "
                "and at least 2 different ones are needed"
            )
        super().__init__(message, hint="label more items, and start the run again")
        self.have = have
        self.need = need


def require_enough(info: TrainerInfo, scheme: Scheme, answers: Sequence[Answer]) -> None:
    """Raise `NotEnoughLabels` unless these training targets suffice for the trainer."""
    need = max(1, info.min_train_items)
    if len(answers) < need:
        raise NotEnoughLabels(scheme.name, len(answers), need)
    if scheme.kind is Kind.SPAN:
        _require_any_span(scheme, answers)
    elif scheme.kind is not Kind.CONTINUOUS and len({_plain(answer) for answer in answers}) < 2:
        raise NotEnoughLabels(scheme.name, len(answers), need, only=_said(answers[0]))


def _require_any_span(scheme: Scheme, answers: Sequence[Answer]) -> None:
    if not any(answers):
        raise NotEnoughLabels(scheme.name, 0, 1)


def _plain(answer: Answer) -> str:
    return repr(answer)


def _said(answer: Answer) -> str:
    if isinstance(answer, list):
        return " and ".join(f"'{name}'" for name in answer) or "'none of these'"
    return f"'{answer}'"
