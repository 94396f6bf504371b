"""Logistic regression, and how closely it fits chosen on val: the head of the trainers that learn no features."""

import warnings
from typing import Any, Dict, List, Optional, Sequence

from potato.training.contract.bundle import BundleItem
from potato.training.trainers.base import Param, Task
from potato.training.trainers.targets import decode, encode, figures, known, log_loss

STRENGTHS = (0.3, 1.0, 3.0, 10.0, 30.0)
"""The values of C that are tried on val. Log loss chooses: accuracy ties between them on little data, and then the
confidences of a model that is held too tight say nothing."""
USUAL_STRENGTH = 3.0
ENOUGH_TO_CHOOSE = 20
"""With fewer val items their figures are chance, and the usual C is taken."""

PARAMS = (
    Param(
        "C",
        "float",
        None,
        "Inverse strength of the regularisation: higher fits the training items closer. "
        "Left out, the one of 0.3, 1, 3, 10 and 30 whose probabilities suit val best.",
        minimum=1e-4,
        maximum=1e4,
    ),
    Param(
        "class_weight",
        "choice",
        "balanced",
        "`balanced` counts rare labels as much as common ones; `none` counts every item alike.",
        choices=("balanced", "none"),
    ),
    Param("max_iter", "int", 1000, "Most steps of the solver.", 10),
)


def rounds(task: Task) -> int:
    """How many heads `choose` fits: its steps of progress."""
    return len(_strengths(task))


def choose(task: Task, table: Any, val_table: Any, report: bool = True) -> "Head":
    """Fit a head on `table`, a row a training item, for each strength, and return the one that suits val best.

    `val_table` has a row for each of `usable(task)`. With `report`, the figures on val of each are reported.
    """
    targets = _targets(encode(task.train, task.schema), task.schema.kind)
    best: Optional[Head] = None
    for number, strength in enumerate(_strengths(task), 1):
        task.check_stop()
        head = Head(task, _trained(task, strength, table, targets), strength)
        head.measure(val_table)
        if report:
            head.report(number)
        if best is None or (head.loss is not None and best.loss is not None and head.loss < best.loss):
            best = head
        if report:
            task.progress("training", number + 1, rounds(task) + 1)
    assert best is not None
    return best


def usable(task: Task) -> List[BundleItem]:
    """The val items that a head is chosen by: those whose labels training items have."""
    return known(task.val, task.schema)


class Head:
    """A fitted classifier, and what it did on val. `classifier` is scikit-learn's own."""

    def __init__(self, task: Task, classifier: Any, strength: float) -> None:
        self._task = task
        self.classifier = classifier
        self.strength = strength
        self.figures: Dict[str, float] = {}
        self.loss: Optional[float] = None

    def probabilities(self, table: Any) -> List[List[float]]:
        """Each row's probabilities in the order of the scheme's classes, by the classifier's own list of them."""
        columns = self.classifier.classes_.tolist()
        order = [columns.index(number) for number in range(len(self._task.schema.classes))]
        return [[row[column] for column in order] for row in self.classifier.predict_proba(table).tolist()]

    def measure(self, table: Any) -> None:
        """Take its figures on val."""
        schema, items = self._task.schema, usable(self._task)
        rows = self.probabilities(table) if items else []
        predictions = [decode(item.id, schema, row) for item, row in zip(items, rows)]
        self.figures = figures(predictions, items, schema)
        self.loss = log_loss(predictions, items, schema)
        if self.loss is not None:
            self.figures["loss"] = self.loss

    def report(self, step: int) -> None:
        """Report its figures, and say so where the solver did not come to its end."""
        for name, value in self.figures.items():
            self._task.metric("val", name, value, step, C=self.strength)
        if _unfinished(self.classifier, self._task.params["max_iter"]):
            self._task.log("warning", "the solver stopped at max_iter before it had converged (C %g)" % self.strength)

    def metrics(self) -> Dict[str, float]:
        """Its own figures, for the run."""
        return dict({"val_" + name: value for name, value in self.figures.items()}, C=self.strength)


def save(model: Any, path: str) -> List[str]:
    """Write a scikit-learn model with skops, which runs no code when it is loaded. Returns the types that must be
    named as trusted then: mostly none."""
    import zipfile

    import skops.io

    skops.io.dump(model, path, compression=zipfile.ZIP_DEFLATED)
    # a label that every training item has is predicted by a type of scikit-learn's that skops wants named
    return list(skops.io.get_untrusted_types(file=path))


def _strengths(task: Task) -> Sequence[float]:
    if task.params["C"] is not None:
        return (task.params["C"],)
    return STRENGTHS if len(task.val) >= ENOUGH_TO_CHOOSE else (USUAL_STRENGTH,)


def _targets(encoded: List[Any], kind: str) -> Any:
    """The targets as scikit-learn takes them. It takes a single column for one class or the other, so a lone label is
    given its opposite as a second, which nobody asks for."""
    import numpy

    table = numpy.asarray(encoded)
    return numpy.hstack([table, 1 - table]) if kind == "multilabel" and table.shape[1] == 1 else table


def _trained(task: Task, strength: float, table: Any, targets: Any) -> Any:
    with warnings.catch_warnings():
        # of no use to anybody: that label is then always predicted
        warnings.filterwarnings("ignore", message=".* is present in all training examples")
        return _classifier(task, strength).fit(table, targets)


def _classifier(task: Task, strength: float) -> Any:
    from sklearn.linear_model import LogisticRegression
    from sklearn.multiclass import OneVsRestClassifier

    weight = None if task.params["class_weight"] == "none" else "balanced"
    model = LogisticRegression(
        C=strength, class_weight=weight, max_iter=task.params["max_iter"], random_state=task.seed
    )
    return OneVsRestClassifier(model) if task.schema.kind == "multilabel" else model


def _unfinished(classifier: Any, limit: int) -> bool:
    solvers = getattr(classifier, "estimators_", [classifier])
    return any(max(getattr(solver, "n_iter_", [0])) >= limit for solver in solvers)
