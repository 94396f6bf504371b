"""A run's learning curve as its page shows it: plot, table, and whether the last quarter of the labels still paid."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from potato.store import Connection
from potato.store.training import runs as stored
from potato.training.results.curves import SHARES
from potato.training.runs.model import Run, State
from potato.training.web import figures, plots
from potato.web.render import signed


@dataclass(frozen=True)
class Row:
    """A point in the curve's table."""

    run: Run
    labels: int | None
    value: float | None
    interval: Sequence[float] | None


@dataclass(frozen=True)
class SchemeCurve:
    """The curve of one scheme."""

    scheme: str
    title: str
    plot: plots.History | None
    sentence: str
    rows: Sequence[Row]


@dataclass(frozen=True)
class Section:
    """The curve's part of the page. `missing` shares can be asked for; `waiting` of its runs have not ended."""

    curves: Sequence[SchemeCurve]
    missing: Sequence[float]
    waiting: int
    begun: bool


def section(connection: Connection, run: Run) -> Section | None:
    """The learning curve of a run; None for a run that can have none."""
    if run.state is not State.SUCCESS or run.curve_of is not None:
        return None
    points = {point.train_share: point for point in stored.curve(connection, run.run_id)}  # the newest of each share
    there = [share for share, point in points.items() if point.state is State.SUCCESS or not point.is_finished]
    if run.files_removed and not points:
        return None
    missing = [] if run.files_removed else [share for share in SHARES if share not in there]
    runs = [*(points[share] for share in sorted(points)), run]
    return Section(
        curves=[_scheme(name, runs) for name in run.schemas if figures.primary_value(run.scores, name) is not None],
        missing=missing,
        waiting=sum(not point.is_finished for point in points.values()),
        begun=bool(points),
    )


def _scheme(scheme: str, runs: Sequence[Run]) -> SchemeCurve:
    figure = runs[-1].scores[scheme]["primary"]["name"]
    title = figures.NAMES.get(figure, "Score")
    rows = [Row(run, figures.labels_of(run, scheme), *figures.value_of(run.scores, scheme, figure)) for run in runs]
    points = [point for row in rows if (point := _point(row)) is not None]
    return SchemeCurve(scheme, title, plots.learning_curve(points), _sentence(scheme, runs), rows)


def _point(row: Row) -> plots.CurvePoint | None:
    if row.value is None or row.labels is None:
        return None
    low, high = row.interval or (None, None)
    return plots.CurvePoint(row.run.run_id, row.run.train_share, row.labels, row.value, low, high)


def _sentence(scheme: str, runs: Sequence[Run]) -> str:
    """Whether the last quarter of the labels still gained."""
    last = next((run for run in runs if run.train_share == SHARES[-1] and run.state is State.SUCCESS), None)
    gain = (last.scores.get(scheme) or {}).get("to_whole") if last is not None else None
    if not gain or gain["difference"] is None:
        return "Whether the last quarter of the labels still gains is not known yet: the run on 75\u00a0% says it."
    return gain_sentence(gain)


def gain_sentence(gain: dict[str, Any]) -> str:
    """What the whole training split gains over three quarters of it, from their paired comparison."""
    sign = 1 if gain["better"] == "higher" else -1
    figure = figures.within_sentence(gain["name"])
    better = sign * gain["difference"]
    if gain["interval"] is None:
        return f"The last quarter of the labels changed {figure} by {signed(gain['difference'])}; {gain['reason']}."
    low, high = sorted(sign * bound for bound in gain["interval"])
    spread = f"95\u00a0% interval {signed(low)} to {signed(high)}, on the same {gain['items']:,} held-out items"
    if low > 0:
        return (
            f"Yes, the last quarter of the labels still gained: {figure} got better by {better:.3f} ({spread}). "
            "More labels will probably help."
        )
    if high < 0:
        return f"No, with the last quarter of the labels {figure} got worse by {-better:.3f} ({spread})."
    return (
        f"Not measurably: with the last quarter of the labels {figure} changed by {signed(better)} ({spread}), which "
        "may be chance. More labels may bring little, or too few items are held out to see it."
    )


__all__ = ["Section", "gain_sentence", "section"]
