"""How large a predictions file will be, before there is one."""

from __future__ import annotations

from potato.project.models import ProjectFile
from potato.schemes import Kind, Scheme
from potato.training.contract.predictions import Prediction

_ID = "item-0123456"
_SHARE = 0.1234567890123456
_SPANS = 4
"""How many spans of about this size a text is taken to have."""


def megabytes(config: ProjectFile, items: int) -> float:
    """The size of a prediction of every written-back scheme for each of `items` items; without the schemes of a draft
    whose type nobody knows."""
    written = set(config.model_training.writeback.schemas)
    schemes = [each for each in config.annotation_schemes if each.name in written and hasattr(each, "kind")]
    return items * sum(len(_line(scheme)) for scheme in schemes) / 1_000_000


def _line(scheme: Scheme) -> bytes:
    names = scheme.label_names()
    if scheme.kind is Kind.SPAN:
        span = {"start": 1000, "end": 1012, "label": "".join(names[:1]), "text": "t" * 12}
        return Prediction(_ID, scheme.name, [span] * _SPANS, _SHARE).line()
    payload = names[:1] if scheme.kind is Kind.MULTILABEL else names[0] if names else ""
    return Prediction(_ID, scheme.name, payload, _SHARE, dict.fromkeys(names, _SHARE)).line()
