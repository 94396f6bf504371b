"""Annotation schemes: what is asked of each item, one file a type."""

from potato.schemes.base import WHOLE, Answer, InvalidAnswer, Kind, Label, Scheme
from potato.schemes.metrics import METRICS, Metric, metric
from potato.schemes.registry import SCHEME_TYPES, AnyScheme

__all__ = [
    "METRICS",
    "SCHEME_TYPES",
    "WHOLE",
    "Answer",
    "AnyScheme",
    "InvalidAnswer",
    "Kind",
    "Label",
    "Metric",
    "Scheme",
    "metric",
]
