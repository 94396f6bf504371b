"""From what a model said, and whether it was right, to confidences that can be taken at their word.

Sources: Guo et al., "On Calibration of Modern Neural Networks" (ICML 2017): temperature scaling, and the expected
calibration error over ten bins; Zadrozny and Elkan (KDD 2002): isotonic regression; Clopper and Pearson (Biometrika
1934): the exact bound of a share; Angelopoulos et al., "Learn then Test" (2021): testing thresholds in a fixed order.
"""

import math
from dataclasses import dataclass
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple

BINS = 10
FOLDS = 5
TINY = 1e-6


@dataclass(frozen=True)
class Said:
    """One answer of the live model: `label` with `confidence`; `probabilities` by label, where it gave them."""

    label: str
    confidence: float
    probabilities: Optional[Mapping[str, float]] = None


@dataclass(frozen=True)
class Judged:
    """An answer that is known to be right or not."""

    said: Said
    right: bool


Mapped = Callable[[Said], float]
"""From an answer to its calibrated confidence."""


@dataclass(frozen=True)
class Fitted:
    """A way to calibrate. `settings` is all that it consists of, as JSON."""

    method: str
    confidence: Mapped
    settings: Dict[str, Any]


def unchanged(judged: Sequence[Judged]) -> Fitted:
    """The confidences as they are."""
    return Fitted("none", lambda said: said.confidence, {})


def temperature(judged: Sequence[Judged]) -> Fitted:
    """One number by which every score is divided; it keeps which answer is the likeliest."""
    from scipy.optimize import minimize_scalar

    def loss(log_temperature: float) -> float:
        heat = math.exp(log_temperature)
        return nll([warmed(one.said, heat) for one in judged], [one.right for one in judged])

    heat = math.exp(float(minimize_scalar(loss, bounds=(math.log(0.05), math.log(20.0)), method="bounded").x))
    return Fitted("temperature", lambda said: warmed(said, heat), {"temperature": heat})


def isotonic(judged: Sequence[Judged]) -> Fitted:
    """A staircase that never falls; between its steps it goes straight. Its ends stay off 0 and 1: that many answers
    cannot tell certainty."""
    from sklearn.isotonic import IsotonicRegression

    edge = 1.0 / (len(judged) + 2)
    model = IsotonicRegression(y_min=edge, y_max=1 - edge, out_of_bounds="clip")
    model.fit([one.said.confidence for one in judged], [float(one.right) for one in judged])
    xs, ys = [float(x) for x in model.X_thresholds_], [float(y) for y in model.y_thresholds_]
    return Fitted("isotonic", lambda said: between(xs, ys, said.confidence), {"confidence": xs, "calibrated": ys})


METHODS: Dict[str, Callable[[Sequence[Judged]], Fitted]] = {
    "none": unchanged,
    "temperature": temperature,
    "isotonic": isotonic,
}


def warmed(said: Said, heat: float) -> float:
    """The confidence at another temperature: softmax of the logarithms of the probabilities over it."""
    rest = 1.0 - said.confidence
    others = {name: share for name, share in (said.probabilities or {}).items() if name != said.label}
    shares = list(others.values()) if others else [rest]
    logs = [math.log(max(share, TINY)) / heat for share in shares]
    own = math.log(max(said.confidence, TINY)) / heat
    top = max([own, *logs])
    return math.exp(own - top) / (math.exp(own - top) + sum(math.exp(one - top) for one in logs))


def between(xs: Sequence[float], ys: Sequence[float], x: float) -> float:
    """The value at `x` of the line through the points, level beyond its ends."""
    import bisect

    if x <= xs[0]:
        return ys[0]
    if x >= xs[-1]:
        return ys[-1]
    place = bisect.bisect_right(xs, x)
    share = (x - xs[place - 1]) / (xs[place] - xs[place - 1])
    return ys[place - 1] + share * (ys[place] - ys[place - 1])


def nll(sure: Sequence[float], right: Sequence[bool]) -> float:
    """The mean negative log-likelihood of being right or wrong."""
    return sum(_losses(sure, right)) / len(sure)


def ece(sure: Sequence[float], right: Sequence[bool]) -> float:
    """The expected calibration error over ten bins of equal width."""
    bins: Dict[int, List[Tuple[float, bool]]] = {}
    for one, truth in zip(sure, right):
        bins.setdefault(min(BINS - 1, max(0, math.ceil(one * BINS) - 1)), []).append((one, truth))
    return sum(abs(sum(one for one, _ in held) - sum(truth for _, truth in held)) for held in bins.values()) / len(sure)


def out_of_fold(judged: Sequence[Judged], method: str) -> List[float]:
    """Each answer's confidence by a calibration that was fitted without its fold. Folds hold right and wrong answers
    alike, in the order that they come in."""
    order = sorted(range(len(judged)), key=lambda place: judged[place].right)
    fold = {place: rank % FOLDS for rank, place in enumerate(order)}
    found = [0.0] * len(judged)
    for number in range(FOLDS):
        fitted = METHODS[method]([one for place, one in enumerate(judged) if fold[place] != number])
        for place, one in enumerate(judged):
            if fold[place] == number:
                found[place] = fitted.confidence(one.said)
    return found


@dataclass(frozen=True)
class Trial:
    """How a method does on answers that it was not fitted on. `gain` is how much lower its loss is than without it, on
    average, and `doubt` the standard error of that."""

    method: str
    nll: float
    ece: float
    gain: float
    doubt: float

    @property
    def helps(self) -> bool:
        """Whether it is better by more than chance would easily have it."""
        return self.gain > max(self.doubt, 1e-9)


def trial(judged: Sequence[Judged], method: str) -> Trial:
    """Try a method by cross-validation."""
    right = [one.right for one in judged]
    before = _losses([one.said.confidence for one in judged], right)
    sure = out_of_fold(judged, method)
    gains = [old - new for old, new in zip(before, _losses(sure, right))]
    mean = sum(gains) / len(gains)
    spread = math.sqrt(sum((gain - mean) ** 2 for gain in gains) / max(1, len(gains) - 1) / len(gains))
    return Trial(method, nll(sure, right), ece(sure, right), mean, spread)


@dataclass(frozen=True)
class Threshold:
    """From `confidence` on, answers of a label are right in at least the wanted share, as far as the `judged` answers
    above it tell, of which `right` were."""

    confidence: float
    judged: int
    right: int


def threshold(sure: Sequence[float], right: Sequence[bool], precision: float, certainty: float) -> Optional[Threshold]:
    """The lowest confidence from which on a label's answers have the wanted precision, or None.

    Thresholds are tested from the top down, each by the exact one-sided bound at `certainty`, and the first that fails
    ends it; so the chance that the one returned promises too much is at most 1 - certainty, however many are tested.
    Where to begin depends on the number of answers alone: low enough that one wrong answer does not end it at once.
    """
    ranked = sorted(zip(sure, right), key=lambda pair: -pair[0])
    least = fewest(precision, certainty)
    first = len(ranked) // 4 if len(ranked) // 4 >= 2 * least else max(least, len(ranked) // 2)
    best: Optional[Threshold] = None
    hits = 0
    for count, (one, truth) in enumerate(ranked, 1):
        hits += truth
        if count < first or (count < len(ranked) and ranked[count][0] == one):
            continue
        if lower_bound(hits, count, certainty) < precision:
            break
        best = Threshold(one, count, hits)
    return best


def fewest(precision: float, certainty: float) -> int:
    """How many right answers without a wrong one it takes to promise that precision."""
    return math.ceil(math.log(1 - certainty) / math.log(precision))


def lower_bound(hits: int, count: int, certainty: float) -> float:
    """The one-sided Clopper-Pearson bound of a share."""
    from scipy.stats import beta

    return float(beta.ppf(1 - certainty, hits, count - hits + 1)) if hits else 0.0


def _losses(sure: Sequence[float], right: Sequence[bool]) -> List[float]:
    return [-math.log(max(one if truth else 1 - one, TINY)) for one, truth in zip(sure, right)]
