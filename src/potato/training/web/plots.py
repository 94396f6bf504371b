"""The geometry of the small plots that the server draws as SVG: plain numbers for the templates, no style.

A strip sets one figure on its scale beside its yardsticks; a history sets the score of every run against time or
labels; a calibration diagram sets how sure the model was against how often it was right.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from potato.training.web.figures import Figure


@dataclass(frozen=True)
class Strip:
    """Positions on a horizontal scale, in percent of its width."""

    value: float
    low: float | None
    high: float | None
    baseline: float | None
    scale_start: float
    scale_end: float


def strip(figure: Figure) -> Strip | None:
    """The strip of one figure; None where the figure is undefined.

    The scale runs from 0, or from just below the least value where that is negative, to 1 for shares, and to just past
    the largest of the values for errors.
    """
    if figure.value is None:
        return None
    known = [v for v in (figure.value, figure.baseline, *(figure.interval or ())) if v is not None]
    end = 1.0 if max(known) <= 1 and figure.name not in ("mae", "rmse") else nice_ceiling(max(known) * 1.05)
    start = -nice_ceiling(-min(known) * 1.05) if min(known) < 0 else 0.0

    def percent(value: float | None) -> float | None:
        return None if value is None else round(100 * _share(value, start, end), 2)

    low, high = figure.interval or (None, None)
    return Strip(percent(figure.value) or 0.0, percent(low), percent(high), percent(figure.baseline), start, end)


def _share(value: float, start: float, end: float) -> float:
    return min(max((value - start) / (end - start), 0.0), 1.0)


def nice_ceiling(value: float) -> float:
    """The least of 1, 2, 2.5, 5 times a power of ten that is at least `value`; 1 for nothing."""
    if value <= 0 or not math.isfinite(value):
        return 1.0
    power = 10.0 ** math.floor(math.log10(value))
    return next((factor * power for factor in (1, 2, 2.5, 5) if factor * power >= value), 10 * power)


@dataclass(frozen=True)
class Score:
    """The held-out score of one finished run: a point of the history plots."""

    run_id: str
    trainer: str
    ended: str
    labels: int | None
    value: float
    low: float | None
    high: float | None
    baseline: float | None


@dataclass(frozen=True)
class Dot:
    """A run on a history plot, in the plot's own units."""

    run_id: str
    title: str
    x: float
    y: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Tick:
    """A mark on an axis with its text."""

    at: float
    text: str


@dataclass(frozen=True)
class History:
    """A scatter of runs: `dots` within `width` by `height`, y growing downwards, and the axes' ticks."""

    width: float
    height: float
    dots: list[Dot]
    x_ticks: list[Tick]
    y_ticks: list[Tick]
    line: str


WIDTH, HEIGHT = 520.0, 190.0


def by_labels(scores: Sequence[Score]) -> History | None:
    """Score against the number of labels trained on: is more labelling still paying? None where no run tells."""
    known = [(score, score.labels) for score in scores if score.labels is not None]
    if not known:
        return None
    end = nice_ceiling(max(labels for _, labels in known) * 1.02)
    ticks = [Tick(WIDTH * part, f"{end * part:,.0f}") for part in (0.0, 0.5, 1.0)]
    return _history([score for score, _ in known], [WIDTH * labels / end for _, labels in known], ticks)


def by_time(scores: Sequence[Score]) -> History | None:
    """Score over the order in which runs ended, oldest first; None for no run."""
    if not scores:
        return None
    ordered = sorted(scores, key=lambda score: score.ended)
    step = WIDTH / (len(ordered) + 1)
    places = [step * (index + 1) for index in range(len(ordered))]
    ticks = [Tick(place, str(index + 1)) for index, place in enumerate(places)]
    return _history(ordered, places, ticks[:: max(1, len(ticks) // 10)])


def _history(scores: Sequence[Score], places: Sequence[float], x_ticks: list[Tick]) -> History:
    drawn = (v for score in scores for v in (score.value, score.low, score.high, score.baseline) if v is not None)
    marks = _whole_scale(list(drawn))
    start, end = marks[0], marks[-1]

    def y(value: float | None) -> float | None:
        return None if value is None else round(HEIGHT * (1 - _share(value, start, end)), 1)

    dots = [
        Dot(score.run_id, _title(score), round(x, 1), y(score.value) or 0.0, y(score.low), y(score.high))
        for score, x in zip(scores, places, strict=True)
    ]
    y_ticks = [Tick(round(HEIGHT * (1 - _share(mark, start, end)), 1), f"{mark:g}") for mark in marks]
    line = " ".join(f"{dot.x:g},{dot.y:g}" for dot in sorted(dots, key=lambda dot: dot.x))
    return History(WIDTH, HEIGHT, dots, x_ticks, y_ticks, line)


def _whole_scale(values: Sequence[float]) -> list[float]:
    """The marks of an axis from 0, or from below the least value where that is negative, to 1 or past the largest."""
    end = 1.0 if max(values) <= 1 else nice_ceiling(max(values))
    if min(values) >= 0:
        return [end * part for part in (0.0, 0.25, 0.5, 0.75, 1.0)]
    return _round_marks(min(values), end)


def _title(score: Score) -> str:
    interval = f" ({score.low:.3f} to {score.high:.3f})" if score.low is not None and score.high is not None else ""
    labels = f"{score.labels:,} labels, " if score.labels is not None else ""
    return f"{score.value:.3f}{interval}, {labels}{score.trainer}, run {score.run_id}"


@dataclass(frozen=True)
class Bin:
    """Predictions of similar confidence, in percent: where they stand and how many they are."""

    confidence: float
    accuracy: float
    n: int
    radius: float
    title: str
    range: str


def calibration(score: dict[str, Any]) -> list[Bin]:
    """The calibration diagram's points; empty where the trainer gave no confidence or nothing was held out."""
    bins = [b for b in (score.get("test") or {}).get("calibration_bins") or [] if b.get("n")]
    most = max((b["n"] for b in bins), default=1)
    return [
        Bin(
            confidence=round(100 * b["confidence"], 1),
            accuracy=round(100 * b["accuracy"], 1),
            n=b["n"],
            radius=round(1.0 + 2.4 * math.sqrt(b["n"] / most), 2),
            range=f"{b['from']:.0%} to {b['to']:.0%}",
            title=f"{b['n']} predictions, {b['confidence']:.0%} sure on average, {b['accuracy']:.0%} right",
        )
        for b in bins
    ]


@dataclass(frozen=True)
class CurvePoint:
    """A score of a learning curve: after training on `labels` labels, `share` of the training split."""

    run_id: str
    share: float
    labels: int
    value: float
    low: float | None
    high: float | None


_LEAST_SPAN = 0.04
"""Of an axis of scores: equal ones are drawn level, and not as if a thousandth were much."""


def learning_curve(points: Sequence[CurvePoint]) -> History | None:
    """Score against labels for the points of one curve; None for fewer than two.

    The axis of scores begins and ends near them: what a quarter of the labels gains is small beside the whole scale.
    """
    if len(points) < 2:
        return None
    marks = _marks([v for point in points for v in (point.value, point.low, point.high) if v is not None])
    low, high = marks[0], marks[-1]
    end = nice_ceiling(max(point.labels for point in points) * 1.02)

    def y(value: float | None) -> float | None:
        return None if value is None else round(HEIGHT * (1 - (value - low) / (high - low)), 1)

    dots = [
        Dot(p.run_id, _curve_title(p), round(WIDTH * p.labels / end, 1), y(p.value) or 0.0, y(p.low), y(p.high))
        for p in points
    ]
    x_ticks = [Tick(WIDTH * part, f"{end * part:,.0f}") for part in (0.0, 0.5, 1.0)]
    y_ticks = [Tick(round(HEIGHT * (1 - (mark - low) / (high - low)), 1), f"{mark:g}") for mark in marks]
    return History(WIDTH, HEIGHT, dots, x_ticks, y_ticks, " ".join(f"{dot.x:g},{dot.y:g}" for dot in dots))


def _marks(values: Sequence[float]) -> list[float]:
    """Round numbers from just below the values to just above them, evenly apart."""
    low = min(*values, max(0.0, max(values) - _LEAST_SPAN))
    high = max(*values, low + _LEAST_SPAN)
    return _round_marks(low, high)


def _round_marks(low: float, high: float) -> list[float]:
    step = nice_ceiling((high - low) / 4)
    return [round(number * step, 9) for number in range(math.floor(low / step), math.ceil(high / step - 1e-9) + 1)]


def _curve_title(point: CurvePoint) -> str:
    interval = f" ({point.low:.3f} to {point.high:.3f})" if point.low is not None and point.high is not None else ""
    return f"{point.value:.3f}{interval} from {point.labels:,} labels, {point.share:.0%} of the training split"
