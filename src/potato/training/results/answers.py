"""A run's held-out answers as rows: what people said of each test item, what the model said, and how far apart."""

from __future__ import annotations

from collections.abc import Mapping

from potato.agreement.chrf import alike
from potato.schemes import Answer, Kind, Scheme
from potato.store import Database, items
from potato.store.databases.pieces import in_pieces
from potato.store.training import held_out as rows
from potato.store.training.held_out import HeldOut
from potato.training.contract.bundle import Bundle, BundleItem
from potato.training.results.held_out import Said

_NUMBERS = (Kind.ORDINAL, Kind.CONTINUOUS)


def store(database: Database, bundle: Bundle, run_id: str, scheme: Scheme, said: Mapping[str, Said]) -> None:
    """Keep the test items of one scheme with both answers. Repeating it is harmless."""
    for piece in in_pieces(item for item in bundle.items("test") if scheme.name in item.targets):
        with database.write() as connection:
            seqs = items.seqs(connection, [item.id for item in piece])
            made = [_row(scheme, item, said[item.id], seqs[item.id]) for item in piece if item.id in seqs]
            rows.put(connection, run_id, scheme.name, made)


def distance(kind: Kind, target: Answer, said: Answer) -> float:
    """How far apart two answers are: in points for numbers, in labels for sets of labels, for texts as unlike as chrF
    says, else 0 or 1."""
    if kind in _NUMBERS:
        return abs(float(target) - float(said))
    if kind is Kind.TEXT:
        return 0.0 if target == str(said).strip() else 1.0 - alike(target, said)
    if kind is Kind.MULTILABEL:
        return float(len(set(target) ^ set(said)))
    return float(target != said)


def cell_of(kind: Kind, answer: Answer) -> str | None:
    """The row or column of the confusion matrix that an answer falls into; None for a kind that has no matrix."""
    if kind in (Kind.NOMINAL, Kind.PAIRWISE):
        return str(answer)
    return f"{answer:g}" if kind is Kind.ORDINAL else None


def _row(scheme: Scheme, item: BundleItem, said: Said, seq: int) -> HeldOut:
    target, payload, kind = item.targets[scheme.name], scheme.as_now(said.payload), scheme.kind
    return HeldOut(
        item=seq,
        target=target,
        said=payload,
        human=cell_of(kind, target),
        model=cell_of(kind, payload),
        off=distance(kind, target, payload),
        confidence=said.confidence,
    )
