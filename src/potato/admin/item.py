"""One item as the administrator sees it: its text, what people answered, and what models said of it. Read-only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from potato.errors import PotatoError
from potato.items.text import URL_STARTS
from potato.project import Project
from potato.store import Connection, items, one_item
from potato.store.items import ItemRow, UnknownItem
from potato.training.splits import split_of

RUNS_SHOWN = 20
"""The newest runs whose predictions the page lists."""

_GATES = {
    None: "may be shown",
    "train_split": "not shown: the item was trained on",
    "held_out": "not shown: the item is held out for scoring",
    "not_listed": "not shown: the scheme is not in writeback.schemas",
    "rejected": "not shown: a reviewer rejected this answer",
    "low_confidence": "not shown: less sure than min_confidence",
    "low_score": "not shown: the run's score is too low",
    "hidden": "hidden, to measure how suggestions sway annotators",
}


class NoSuchMedia(PotatoError):
    """The item has no such file."""

    code = "no_media"
    status = 404

    def __init__(self, item: str, kind: str) -> None:
        super().__init__(f"item {item!r:.120} has no {kind:.20} on this server")


@dataclass(frozen=True)
class Answered:
    """An annotator's answer in words; `scheme` empty and `text` the reason for a skip."""

    annotator: str
    scheme: str
    text: str
    at: str
    origin: str


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
    """The page's content. `split` is where training keeps the item; None where the project does not train. `image` and
    `audio` are addresses, empty for a file that the page asks this server for."""

    item: ItemRow
    split: str | None
    answers: Sequence[Answered]
    skips: Sequence[Answered]
    predictions: Sequence[Predicted]
    image: str | None
    audio: str | None
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
        predictions=[_predicted(project, row) for row in one_item.predictions(connection, seq, schemes, RUNS_SHOWN)],
        image=_address(item.image),
        audio=_address(item.audio),
        before=seq - 1 if seq > 1 else None,
        after=seq + 1 if seq < items.count(connection) else None,
    )


def media_file(connection: Connection, project: Project, seq: int, kind: str) -> Path:
    """The file of an item's image or recording. Raises `UnknownItem`, or `NoSuchMedia` where it has none."""
    item = items.by_seq(connection, seq)
    if item is None:
        raise UnknownItem(str(seq))
    name = {"image": item.image, "audio": item.audio}.get(kind)
    file = (project.task_dir / name).resolve() if name and not name.startswith(URL_STARTS) else None
    if file is None or not file.is_relative_to(project.task_dir) or not file.is_file():
        raise NoSuchMedia(item.id, kind)
    return file


def _address(name: str | None) -> str | None:
    return name if name is None or name.startswith(URL_STARTS) else ""


def _answered(project: Project, row: one_item.Answer) -> Answered:
    return Answered(row.annotator, row.scheme, _said(project, row.scheme, row.value), row.at, row.origin)


def _predicted(project: Project, row: one_item.Prediction) -> Predicted:
    fate = "shown to annotators" if row.live and row.gate is None else _GATES.get(row.gate, f"not shown: {row.gate}")
    if not row.live and row.gate is None:
        fate = "not shown: another run's pre-labels are, or none"
    text = _said(project, row.scheme, row.said)
    return Predicted(row.run_id, row.trainer, row.scheme, text, row.confidence, row.live and row.gate is None, fate)


def _said(project: Project, scheme: str, answer: Any) -> str:
    known = project.schemes.get(scheme)
    return known.said(answer) if known else str(answer)
