"""The figures that a model of each kind of scheme can be judged by."""

from __future__ import annotations

from dataclasses import dataclass

from potato.schemes.base import Kind


@dataclass(frozen=True)
class Metric:
    """A figure of held-out items that says how good a model is."""

    name: str
    higher_is_better: bool = True


_ACCURACY, _MACRO_F1, _KAPPA, _EXACT = (Metric(name) for name in ("accuracy", "macro_f1", "kappa", "exact_match"))
_MAE, _RMSE = (Metric(name, higher_is_better=False) for name in ("mae", "rmse"))

METRICS: dict[Kind, tuple[Metric, ...]] = {
    Kind.NOMINAL: (_MACRO_F1, _ACCURACY, _KAPPA),
    Kind.MULTILABEL: (_MACRO_F1, Metric("micro_f1"), _EXACT),
    Kind.ORDINAL: (_MAE, _RMSE, Metric("quadratic_kappa")),
    Kind.CONTINUOUS: (_MAE, _RMSE),
    Kind.SPAN: (Metric("entity_f1"), Metric("entity_precision"), Metric("entity_recall"), _EXACT),
    Kind.PAIRWISE: (_ACCURACY, _MACRO_F1, _KAPPA),
    Kind.TEXT: (Metric("chrf"), _EXACT),
}
"""Kind of scheme → its figures. The first judges where the project names none: for labels it is no share of right
answers, which a model that always says the most frequent label has too."""


def metric(kind: Kind, name: str | None = None) -> Metric:
    """The figure `name`, or the kind's first. Raises KeyError for one that the kind does not have."""
    of_kind = METRICS[kind]
    return of_kind[0] if name is None else {one.name: one for one in of_kind}[name]
