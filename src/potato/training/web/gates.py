"""The write-back report in words: what became of each prediction, in the order in which the gates ask."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from potato.project import Project

_SENTENCES = {
    "train_split": "trained on, by this or an earlier run",
    "held_out": "held out for scoring: a suggestion would anchor the very labels that models are measured by",
    "not_listed": "of a scheme that writeback.schemas does not list",
    "rejected": "rejected by a reviewer before, with this same answer",
    "low_confidence": "less sure than min_confidence",
    "hidden": "hidden from annotators, to measure how suggestions sway them (hide_share)",
    "low_score": "of a run whose held-out score does not reach min_score",
}


@dataclass(frozen=True)
class Gate:
    """One reason for which predictions are stored but not shown."""

    name: str
    sentence: str
    skipped: int


@dataclass(frozen=True)
class Report:
    """What was read, what may be shown, and what was kept back by which gate."""

    read: int
    written: int
    gates: list[Gate]
    reason: str | None

    @property
    def skipped(self) -> int:
        """How many predictions are stored and not shown."""
        return sum(gate.skipped for gate in self.gates)


def report(writeback: dict[str, Any] | None, project: Project) -> Report | None:
    """The report of a run's `writeback`; None where the run has not come so far."""
    if writeback is None:
        return None
    skipped = writeback.get("skipped") or {}
    names = [*_SENTENCES, *(name for name in skipped if name not in _SENTENCES)]
    return Report(
        read=writeback.get("read") or 0,
        written=writeback.get("written") or 0,
        gates=[Gate(name, _sentence(name, project), skipped[name]) for name in names if name in skipped],
        reason=writeback.get("reason"),
    )


def _sentence(name: str, project: Project) -> str:
    settings = project.config.model_training.writeback
    limits = {"low_confidence": settings.min_confidence, "low_score": settings.min_score}
    sentence = _SENTENCES.get(name, name.replace("_", " "))
    return f"{sentence} ({limits[name]:g})" if limits.get(name) is not None else sentence
