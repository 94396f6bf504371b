"""Write-back: which of a run's schemes go live, and the report of every gate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from potato.project.training import ModelTraining
from potato.training.results.gates import Gate, Gates, Tally, empty_skips


@dataclass
class Verdict:
    """What is to become of a run's predictions: `report` as the run keeps it, the schemes whose pre-labels go live,
    and what people should know. `said` has a sentence on each listed scheme: whether its model takes over, and why."""

    report: dict[str, Any]
    said: dict[str, str] = field(default_factory=dict)
    live: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Comparison:
    """The model that is live and the new one on the held-out items of which both said something: their first
    figures, as in a run's `primary` with the number of `items`."""

    live_run: str
    new: Mapping[str, Any]
    live: Mapping[str, Any]


def decide(
    settings: ModelTraining,
    gates: Mapping[str, Gates],
    scores: Mapping[str, Any],
    comparisons: Mapping[str, Comparison] | None = None,
) -> Verdict:
    """Apply the last gate, the held-out score, and sum up. A scheme of which nothing passes leaves the pre-labels
    that are shown now as they are."""
    verdict = Verdict({"read": 0, "written": 0, "skipped": empty_skips(settings), "by_scheme": {}, "reason": None})
    compared = comparisons or {}
    reasons = [
        _decide_scheme(settings, name, entry.tally, _refusal(settings, name, scores[name], compared.get(name)), verdict)
        for name, entry in gates.items()
    ]
    for name in gates:
        _compare(settings, name, scores[name], compared.get(name), verdict)
    said = list(dict.fromkeys(reason for reason in reasons if reason))
    verdict.report["reason"] = "; ".join(said) or None
    return verdict


def _refusal(
    settings: ModelTraining, name: str, scores: Mapping[str, Any], comparison: Comparison | None
) -> str | None:
    """Why nothing of a scheme may be shown for its score; None where it may."""
    if name not in settings.writeback.schemas:
        return None
    return _low_score(settings, name, scores) or _dropped(settings, name, comparison)


def _decide_scheme(
    settings: ModelTraining, name: str, tally: Tally, refused: str | None, verdict: Verdict
) -> str | None:
    listed = name in settings.writeback.schemas
    skips = {**empty_skips(settings), **tally.skipped}
    written = tally.passed
    if refused is not None:
        skips[Gate.LOW_SCORE.value] += written
        written = 0
    _add(verdict.report, name, tally.read, written, skips)
    verdict.report["by_scheme"][name] |= {"passed": tally.passed, "reason": refused}
    if written:
        verdict.live.append(name)
    if listed and tally.without_confidence:
        verdict.warnings.append(_without_confidence(settings, name, tally.without_confidence))
    return refused if listed else _not_listed(settings, name)


def _compare(
    settings: ModelTraining, name: str, scores: Mapping[str, Any], comparison: Comparison | None, verdict: Verdict
) -> None:
    """Keep beside the counts of a listed scheme which rule judged its model, and how it stands to the live one."""
    if name not in settings.writeback.schemas:
        return
    entry = verdict.report["by_scheme"][name]
    entry["takes_over"] = name in verdict.live
    entry["rule"] = {
        "figure": scores["primary"]["name"],
        "min_score": settings.writeback.min_score,
        "max_drop": settings.writeback.max_drop,
    }
    entry["compared"] = None
    if comparison is not None:
        new, live = comparison.new, comparison.live
        shared = {"figure": new["name"], "items": new["items"], "new": new["value"], "live": live["value"]}
        entry["compared"] = {"live_run": comparison.live_run, **shared}
    verdict.said[name] = _said(name, entry, scores["primary"], comparison)


def _said(name: str, entry: Mapping[str, Any], primary: Mapping[str, Any], comparison: Comparison | None) -> str:
    beside, compared = _beside(comparison) if comparison else "", entry["compared"]
    figure = primary["name"].replace("_", " ")
    score = f"its {figure} is {primary['value']:.3f}" if primary["value"] is not None else "it has no held-out score"
    if entry["takes_over"]:
        return f"'{name}': this model's suggestions are shown from now on: {score}{beside}"
    why = entry["reason"] or "none of its predictions passed the gates"
    stay = f"; those of run {compared['live_run']} stay" if compared else ""
    return f"'{name}': this model's suggestions are not shown: {why}{stay}"


def _beside(comparison: Comparison) -> str:
    """How the model stands to the live one on the items that both have; nothing where it has no figure there."""
    new, live = comparison.new, comparison.live
    if new["value"] is None:
        return ""
    beside = f"; on the {new['items']} held-out items that both have, {new['value']:.3f} against "
    if live["value"] is None:
        return f"{beside}none of run {comparison.live_run}, as {live['reason']}"
    return f"{beside}{live['value']:.3f} of run {comparison.live_run}"


def _add(report: dict[str, Any], name: str, read: int, written: int, skips: dict[str, int]) -> None:
    report["by_scheme"][name] = {"read": read, "written": written, "skipped": skips}
    report["read"] += read
    report["written"] += written
    for gate, count in skips.items():
        report["skipped"][gate] += count


def _low_score(settings: ModelTraining, name: str, scores: Mapping[str, Any]) -> str | None:
    """Why the held-out score keeps everything back; None where it does not."""
    wanted = settings.writeback.min_score
    if wanted is None:
        return None
    primary = scores["primary"]
    figure = primary["name"].replace("_", " ")
    if primary["value"] is None:
        return f"'{name}' has no held-out score ({primary['reason']}), and min_score asks for one"
    reached = primary["value"] >= wanted if primary["better"] == "higher" else primary["value"] <= wanted
    return None if reached else f"the {figure} of '{name}' is {primary['value']:.3f}; min_score asks for {wanted:g}"


def _dropped(settings: ModelTraining, name: str, comparison: Comparison | None) -> str | None:
    """Why the model is too much worse than the live one; None where it is not, where none is live, or where the live
    one's figure is undefined."""
    allowed = settings.writeback.max_drop
    if allowed is None or comparison is None:
        return None
    if not comparison.new["items"]:
        return f"'{name}' shares no held-out item with the live run {comparison.live_run}, and max_drop asks for some"
    new, live = comparison.new["value"], comparison.live["value"]
    if new is None:
        return (
            f"on the {comparison.new['items']} held-out items that both have, '{name}' has no "
            f"{comparison.new['name'].replace('_', ' ')} ({comparison.new['reason']}), and max_drop asks for one"
        )
    if live is None:
        return None  # there is nothing that it could have dropped from
    drop = live - new if comparison.new["better"] == "higher" else new - live
    if drop <= allowed + 1e-12:
        return None
    figure = comparison.new["name"].replace("_", " ")
    return (
        f"on the {comparison.new['items']} held-out items that both have, the {figure} of '{name}' is {new:.3f}, and "
        f"{live:.3f} in the live run {comparison.live_run}; max_drop allows {allowed:g}"
    )


def _not_listed(settings: ModelTraining, name: str) -> str:
    if not settings.writeback.schemas:
        return "no scheme is listed under writeback.schemas"
    return f"'{name}' is not listed under writeback.schemas"


def _without_confidence(settings: ModelTraining, name: str, count: int) -> str:
    floor = settings.writeback.min_confidence
    passed = "they pass, because min_confidence is 0" if floor <= 0 else f"none passes min_confidence {floor:g}"
    return f"The trainer gave no confidence for {count} predictions of '{name}': {passed}"
