"""One item as the administrator sees it: its text, what people answered, and what models said of it. Read-only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from potato.items.media import Kind
from potato.project import Project
from potato.store import Connection, items, one_item
from potato.store.items import ItemRow, UnknownItem
from potato.store.training import predictions
from potato.training.splits import is_hidden, split_of
from potato.web.media import Medium, medium_of

RUNS_SHOWN = 20
"""The newest runs whose predictions the page lists."""

KINDS: Sequence[Kind] = ("image", "audio")

_GATES = {
    "train_split": "not shown: the item was trained on",
    "held_out": "not shown: the item is held out for scoring",
    "not_listed": "not shown: the scheme is not in writeback.schemas",
    "rejected": "not shown: a reviewer rejected this answer",
    "low_confidence": "not shown: less sure than min_confidence",
    "low_score": "not shown: the run's score is too low",
    "hidden": "hidden, to measure how suggestions sway annotators",
}


@dataclass(frozen=True)
class Answered:
    """An annotator's answer in words; `scheme` empty and `text` the reason for a skip. `extra`: given when enough
    others had answered."""

    annotator: str
    scheme: str
    text: str
    at: str
    origin: str
    extra: bool = False


@dataclass(frozen=True)
class Predicted:
    """What a run said of the item. `fate` says whether annotators may see it."""

    run_id: str
    trainer: str
    scheme: str
    text: str
    confidence: float | None
    live: bool
    fate: str


@dataclass(frozen=True)
class ItemView:
    """The page's content. `split` is where training keeps the item; None where the project does not train."""

    item: ItemRow
    split: str | None
    answers: Sequence[Answered]
    skips: Sequence[Answered]
    predictions: Sequence[Predicted]
    media: Sequence[Medium]
    before: int | None
    after: int | None


def item_view(connection: Connection, project: Project, seq: int) -> ItemView:
    """The item at the place `seq`. Raises `UnknownItem`."""
    item = items.by_seq(connection, seq)
    if item is None:
        raise UnknownItem(str(seq))
    training, schemes = project.config.model_training, list(project.schemes)
    return ItemView(
        item=item,
        split=split_of(item.group, training.split_seed, training.splits) if training.enabled else None,
        answers=[_answered(project, row) for row in one_item.answers(connection, seq)],
        skips=[Answered(row.annotator, "", row.reason or "", row.at, "") for row in one_item.skips(connection, seq)],
        predictions=[
            _predicted(project, row, _kept_back(connection, project, item, row))
            for row in one_item.predictions(connection, seq, schemes, RUNS_SHOWN)
        ],
        media=[found for kind in KINDS if (found := medium_of(project, item, kind)) is not None],
        before=seq - 1 if seq > 1 else None,
        after=seq + 1 if seq < items.count(connection) else None,
    )


def _answered(project: Project, row: one_item.Answer) -> Answered:
    return Answered(row.annotator, row.scheme, _said(project, row.scheme, row.value), row.at, row.origin, row.extra)


def _predicted(project: Project, row: one_item.Prediction, kept_back: str | None) -> Predicted:
    text = _said(project, row.scheme, row.said)
    fate = kept_back or "shown to annotators"
    return Predicted(row.run_id, row.trainer, row.scheme, text, row.confidence, kept_back is None, fate)


def _kept_back(connection: Connection, project: Project, item: ItemRow, row: one_item.Prediction) -> str | None:
    """Why annotators do not see what a run said, by what is known by now; None where they do."""
    if row.gate is not None:
        return _GATES.get(row.gate, f"not shown: {row.gate}")
    if not row.live:
        return "not shown: another run's pre-labels are, or none"
    schemes = project.schemes
    if schemes[row.scheme].suggested(row.said) is None:
        return "not shown: the question does not take this answer any more"
    if predictions.rejected(connection, row.scheme, schemes, [item.seq]).holds(item.seq, row.said):
        return _GATES["rejected"]
    if row.scheme not in predictions.suggestions(connection, item.seq, schemes):
        return _GATES["train_split"]
    hidden = is_hidden(row.scheme, item.group, project.config.model_training.writeback.hide_share)
    return _GATES["hidden"] if hidden else None


def _said(project: Project, scheme: str, answer: Any) -> str:
    known = project.schemes.get(scheme)
    return known.told(answer) if known else str(answer)
