"""The thresholds that a calibration found: which of the live model's answers can be taken without review."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from potato.store.training.runs import Run


@dataclass(frozen=True)
class Decision:
    """From `confidence` on, the model's answers `label` have the wanted `precision`; it rests on `judged` answers above
    it, of which `right` were. `confidence` None: no threshold keeps that promise yet."""

    label: str
    confidence: float | None
    precision: float
    judged: int
    right: int

    def takes(self, sure: float | None) -> bool:
        """Whether an answer of that confidence can be taken without review."""
        return self.confidence is not None and sure is not None and sure >= self.confidence


def decisions(run: Run, scheme: str) -> dict[str, Decision]:
    """Label → its decision, of a run that calibrated; nothing for any other."""
    figures = run.metrics.get(scheme)
    labels = (run.label_order or {}).get(scheme)
    wanted = run.params.get("precision")
    if not isinstance(figures, Mapping) or "judged" not in figures or not labels or not isinstance(wanted, float):
        return {}
    return {str(label): _decision(str(label), place, figures, wanted) for place, label in enumerate(labels)}


def can_be_taken(run: Run, scheme: str, payload: Any, sure: float | None) -> Decision | None:
    """The decision by which an answer of that run can be taken without review; None where it cannot."""
    decision = decisions(run, scheme).get(payload) if isinstance(payload, str) else None
    return decision if decision is not None and decision.takes(sure) else None


def _decision(label: str, place: int, figures: Mapping[str, Any], wanted: float) -> Decision:
    name = f"threshold_{place}"
    confidence = figures.get(name)
    judged, right = int(figures.get(f"{name}_judged") or 0), int(figures.get(f"{name}_right") or 0)
    known = isinstance(confidence, (int, float)) and not isinstance(confidence, bool)
    return Decision(label, float(confidence) if known else None, wanted, judged, right)  # type: ignore[arg-type]
