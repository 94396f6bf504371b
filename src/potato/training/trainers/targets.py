"""Between answers and a model's numbers: what trainers of text and images share, without any library.

Classes are always named: a model's outputs are read by the order of its own class list, never by the project's.
"""

import math
from typing import Any, Dict, List, Optional, Sequence, Set, Tuple

from potato.training.contract.bundle import BundleItem, SchemaInfo
from potato.training.contract.predictions import Prediction
from potato.training.trainers.base import Task, TrainerError

DIGITS = 6
"""Decimals of a probability in a prediction."""


def check_trainable(task: Task, minimum: int = 2) -> None:
    """Raise `TrainerError` where there is too little to train on: no items, or nothing to tell apart."""
    schema, count = task.schema, len(task.train)
    if count < minimum:
        raise TrainerError(
            "'%s' has %d labelled training items and needs %d" % (schema.name, count, minimum), "not_enough_labels"
        )
    if schema.kind in ("nominal", "ordinal") and len(schema.classes) < 2:
        only = "every one of them is '%s'" % schema.classes[0] if schema.classes else "none of them has a label"
        raise TrainerError("'%s' has nothing to tell apart: %s" % (schema.name, only), "one_class")
    if schema.kind == "pairwise" and all(item.targets[schema.name] == "tie" for item in task.train):
        raise TrainerError("'%s' has nothing to learn: every pair is a tie" % schema.name, "one_class")
    if schema.kind in ("multilabel", "span") and not schema.classes:
        raise TrainerError("'%s' has nothing to learn: no training item has a label" % schema.name, "one_class")


def known(items: Sequence[BundleItem], schema: SchemaInfo) -> List[BundleItem]:
    """The items whose target the model has a class for: all but those with a label that no training item has."""
    if schema.kind in ("continuous", "pairwise", "text"):
        return list(items)
    classes = set(schema.classes)
    return [item for item in items if classes.issuperset(_names(item.targets[schema.name]))]


def encode(items: Sequence[BundleItem], schema: SchemaInfo) -> List[Any]:
    """The targets as numbers: a class's index (nominal, ordinal), a 0/1 row (multilabel), a float (continuous)."""
    position = {label: number for number, label in enumerate(schema.classes)}
    targets = [item.targets[schema.name] for item in items]
    if schema.kind == "continuous":
        return [float(target) for target in targets]
    if schema.kind == "multilabel":
        return [[int(label in target) for label in schema.classes] for target in map(_names, targets)]
    return [position[str(target)] for target in targets]


def class_weights(encoded: Sequence[Any], schema: SchemaInfo) -> List[float]:
    """What a training item of each class counts, so that rare classes count as much as common ones.

    nominal, ordinal: n / (classes * count), as scikit-learn's `balanced` (King and Zeng 2001). multilabel: what an
    item that has the label counts against one that has not, (n - count) / count, between 1/20 and 20.
    """
    total, size = len(encoded), len(schema.classes)
    if schema.kind == "multilabel":
        counts = [sum(row[column] for row in encoded) for column in range(size)]
        return [min(20.0, max(0.05, (total - count) / count)) if count else 1.0 for count in counts]
    counts = [0] * size
    for index in encoded:
        counts[index] += 1
    return [total / (size * count) if count else 1.0 for count in counts]


def decode(item_id: str, schema: SchemaInfo, outputs: Sequence[float]) -> Prediction:
    """The prediction that `outputs` stand for: probabilities in class order, or for a continuous scheme one number.

    nominal: the most probable label. ordinal: the median of the distribution, which keeps the expected absolute error
    smallest. multilabel: the labels that are rather there than not; the confidence is the probability of exactly
    this set, were labels independent. continuous: the number; there is no confidence. Raises `TrainerError` for
    outputs that are no numbers.
    """
    if not all(math.isfinite(value) for value in outputs):
        raise TrainerError("the model's output for item '%s' is not a number" % item_id, "not_finite")
    if schema.kind == "continuous":
        return Prediction(item_id, schema.name, round(float(outputs[0]), DIGITS))
    shares = [round(min(1.0, max(0.0, float(value))), DIGITS) for value in outputs]
    probabilities = dict(zip(schema.classes, shares))
    if schema.kind == "multilabel":
        chosen = [label for label, share in probabilities.items() if share >= 0.5]
        confidence = math.prod(max(share, 1.0 - share) for share in shares)
        return Prediction(item_id, schema.name, chosen, round(confidence, DIGITS), probabilities)
    index = _median(shares) if schema.kind == "ordinal" else shares.index(max(shares))
    label = schema.classes[index]
    return Prediction(item_id, schema.name, _answer(label, schema), shares[index], probabilities)


def figures(predictions: Sequence[Prediction], items: Sequence[BundleItem], schema: SchemaInfo) -> Dict[str, float]:
    """The trainer's own figures of `predictions` against the targets of the same items; empty where there are none.

    nominal: accuracy, macro_f1; multilabel: exact_match, micro_f1, macro_f1; ordinal, continuous: mae; span:
    entity_precision, entity_recall, entity_f1 with exact boundaries; pairwise: accuracy. macro_f1 is the mean over the
    classes that occur in either.
    """
    if not items:
        return {}
    pairs = [(item.targets[schema.name], prediction.payload) for item, prediction in zip(items, predictions)]
    if schema.kind in ("ordinal", "continuous"):
        return {"mae": sum(abs(float(truth) - float(said)) for truth, said in pairs) / len(pairs)}
    if schema.kind == "span":
        return _entities([(_spans(truth), _spans(said)) for truth, said in pairs])
    named = [(_names(truth), _names(said)) for truth, said in pairs]
    if schema.kind == "pairwise":
        return {"accuracy": sum(truth == said for truth, said in named) / len(named)}
    exact = sum(set(truth) == set(said) for truth, said in named) / len(named)
    counts = [_counts(label, named) for label in schema.classes]
    f1 = [_f1(*count) for count in counts if any(count)]
    macro = sum(f1) / len(f1) if f1 else 0.0
    if schema.kind == "multilabel":
        micro = _f1(*(sum(column) for column in zip(*counts)))
        return {"exact_match": exact, "micro_f1": micro, "macro_f1": macro}
    return {"accuracy": exact, "macro_f1": macro}


def log_loss(predictions: Sequence[Prediction], items: Sequence[BundleItem], schema: SchemaInfo) -> Optional[float]:
    """How surprised the predictions' probabilities are by the targets: the mean of -ln p, over labels for multilabel.

    It rewards honest confidences, and tells models apart that give the same answers. None without items or
    probabilities.
    """
    pairs = [
        (item.targets[schema.name], prediction.probabilities)
        for item, prediction in zip(items, predictions)
        if prediction.probabilities is not None
    ]
    if not pairs:
        return None
    return sum(_surprise(_names(truth), shares, schema.kind) for truth, shares in pairs) / len(pairs)


def merit(own: Dict[str, float], loss: Optional[float]) -> Optional[Tuple[float, float]]:
    """What to choose between models by: the main one of `figures`, and where that ties `loss`; more is better. None
    where there are no figures."""
    main = next((name for name in ("macro_f1", "mae", "entity_f1", "accuracy") if name in own), None)
    if main is None:
        return None
    return -own["mae"] if main == "mae" else own[main], 0.0 if loss is None else -loss


def _surprise(truth: List[str], shares: Dict[str, float], kind: str) -> float:
    least = 10.0**-DIGITS
    if kind != "multilabel":
        return -math.log(max(least, shares.get(truth[0], 0.0)))
    said = [share if label in truth else 1.0 - share for label, share in shares.items()]
    return -sum(math.log(max(least, share)) for share in said) / len(said)


def _names(target: Any) -> List[str]:
    """The labels that a target is made of."""
    parts = target if isinstance(target, (list, tuple)) else [target]
    return [str(part["label"]) if isinstance(part, dict) else str(part) for part in parts]


def _spans(target: Any) -> Set[Tuple[int, int, str]]:
    return {(span["start"], span["end"], span["label"]) for span in target}


def _entities(pairs: Sequence[Tuple[Set[Any], Set[Any]]]) -> Dict[str, float]:
    """Precision, recall and F1 over all spans; one that nothing was said of, or that nothing is of, counts as 0."""
    hits = sum(len(truth & said) for truth, said in pairs)
    true, given = sum(len(truth) for truth, _ in pairs), sum(len(said) for _, said in pairs)
    return {
        "entity_precision": hits / given if given else 0.0,
        "entity_recall": hits / true if true else 0.0,
        "entity_f1": _f1(hits, given - hits, true - hits),
    }


def _median(shares: Sequence[float]) -> int:
    half, reached = sum(shares) / 2, 0.0
    for index, share in enumerate(shares):
        reached += share
        if reached >= half:
            return index
    return len(shares) - 1


def _answer(label: str, schema: SchemaInfo) -> Any:
    """The answer that a class name stands for: a point of an ordinal scale is a whole number."""
    return int(label) if schema.kind == "ordinal" and label.lstrip("-").isdigit() else label


def _counts(label: str, named: Sequence[Tuple[List[str], List[str]]]) -> Tuple[int, int, int]:
    """True positives, false positives, false negatives."""
    hits = sum(label in truth and label in said for truth, said in named)
    alarms = sum(label not in truth and label in said for truth, said in named)
    misses = sum(label in truth and label not in said for truth, said in named)
    return hits, alarms, misses


def _f1(hits: int, alarms: int, misses: int) -> float:
    total = 2 * hits + alarms + misses
    return 2 * hits / total if total else 0.0
