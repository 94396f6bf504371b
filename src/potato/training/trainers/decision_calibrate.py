"""`decision-calibrate`: makes the live model's confidences say how often it is right, and finds for each label the
confidence from which on its answers can be taken without review."""

import os
from typing import Any, Dict, Iterable, Iterator, List, Optional, Sequence

from potato.training.contract.bundle import BundleItem
from potato.training.contract.files import write_json
from potato.training.contract.predictions import Prediction
from potato.training.trainers import calibrating, provenance
from potato.training.trainers.base import Model, Param, Requirement, Task, Trainer, TrainerInfo
from potato.training.trainers.calibrating import Fitted, Judged, Said, Threshold, Trial
from potato.training.trainers.targets import DIGITS

AT_LEAST = 30
"""Answers known to be right or wrong, below which nothing can be checked."""


class DecisionCalibrate(Trainer):
    """Reads what the live model said, and what people and reviewers say of it; see `info`."""

    info = TrainerInfo(
        name="decision-calibrate",
        summary="Calibrates the confidences of the model whose suggestions are shown, and finds which of its answers"
        " need no review",
        kinds=("nominal",),
        modalities=("text", "image"),
        requires=(Requirement("sklearn", "scikit-learn>=1.0"),),
        licence="BSD-3-Clause (scikit-learn, SciPy)",
        params=(
            Param(
                "method",
                "choice",
                "auto",
                "How; `auto` takes what helps most, if anything does.",
                choices=("auto", "temperature", "isotonic", "none"),
            ),
            Param("precision", "float", 0.95, "Share of right answers that is wanted without review.", 0.5, 0.999),
            Param("certainty", "float", 0.9, "How sure a threshold must be to keep that promise.", 0.5, 0.999),
        ),
        min_train_items=AT_LEAST,
        backends=("local",),
        calibrates_live=True,
    )

    def fit(self, task: Task) -> Model:
        judged = _judged(task)
        task.progress("calibrating", 0, 1)
        wanted = task.params["method"]
        names = ("temperature", "isotonic") if wanted == "auto" else (wanted,)
        trials = [calibrating.trial(judged, name) for name in names if name != "none"]
        for one in trials:
            task.metric("val", "nll", one.nll, 0, method=one.method)
            task.metric("val", "ece", one.ece, 0, method=one.method)
        best = max(trials, key=lambda one: one.gain, default=None)
        method = best.method if best is not None and best.helps else "none"
        fitted = calibrating.METHODS[method](judged)
        task.progress("calibrating", 1, 1)
        return _Calibration(task, judged, best, fitted)


class _Calibration(Model):
    """The live model's answers, with other confidences."""

    def __init__(self, task: Task, judged: Sequence[Judged], trial: Optional[Trial], fitted: Fitted) -> None:
        self._task = task
        self._judged = judged
        self._trial = trial
        self._fitted = fitted
        self._thresholds = {label: self._threshold(label) for label in task.schema.classes}

    def save(self, folder: str) -> None:
        record = {
            "method": self._fitted.method,
            "settings": self._fitted.settings,
            "judged": len(self._judged),
            "thresholds": {name: vars(found) for name, found in self._thresholds.items() if found is not None},
        }
        write_json(os.path.join(folder, "calibration.json"), record)
        provenance.write(folder, self._task, DecisionCalibrate.info, ("scikit-learn", "scipy"))

    def predict(self, items: Iterable[BundleItem]) -> Iterator[Prediction]:
        name = self._task.schema.name
        for item in items:
            self._task.check_stop()
            said = _said(item, name)
            sure = round(self._fitted.confidence(said), DIGITS)
            yield Prediction(item.id, name, said.label, sure, _around(said, sure))

    def metrics(self) -> Dict[str, float]:
        """The figures before and after, and the thresholds by the place of their label in the label order."""
        found = dict(self._figures(), judged=float(len(self._judged)))
        found.update({key: value for key, value in self._fitted.settings.items() if isinstance(value, float)})
        for place, label in enumerate(self._task.schema.classes):
            threshold = self._thresholds[label]
            if threshold is not None:
                found["threshold_%d" % place] = threshold.confidence
                found["threshold_%d_judged" % place] = float(threshold.judged)
                found["threshold_%d_right" % place] = float(threshold.right)
        return found

    def notes(self) -> List[str]:
        """Whether it helped, in a sentence."""
        if self._trial is None:
            return ["The confidences of '%s' are left as they are: `method` is none" % self._task.schema.name]
        if self._fitted.method == "none":
            return [
                "Calibration does not help '%s', so its confidences are left as they are: checked on %d answers, %s"
                " changes the loss by %+.4f (standard error %.4f)"
                % (
                    self._task.schema.name,
                    len(self._judged),
                    self._trial.method,
                    -self._trial.gain,
                    self._trial.doubt,
                )
            ]
        return []

    def _figures(self) -> Dict[str, float]:
        sure, right = [one.said.confidence for one in self._judged], [one.right for one in self._judged]
        before = {"nll_before": calibrating.nll(sure, right), "ece_before": calibrating.ece(sure, right)}
        if self._trial is None or self._fitted.method == "none":
            return before
        return dict(before, nll_after=self._trial.nll, ece_after=self._trial.ece)

    def _threshold(self, label: str) -> Optional[Threshold]:
        mine = [one for one in self._judged if one.said.label == label]
        sure = [round(self._fitted.confidence(one.said), DIGITS) for one in mine]
        params = self._task.params
        return calibrating.threshold(sure, [one.right for one in mine], params["precision"], params["certainty"])


def _judged(task: Task) -> List[Judged]:
    """The live model's answers that are known to be right or wrong: on items of val, and those with a verdict.

    Items that people labelled after they had seen the suggestion do not count: it may have swayed them.
    """
    name = task.schema.name
    known = [
        Judged(_said(item, name), item.targets[name] == item.said[name]["payload"]) for item in _with(task.val, name)
    ]
    reviewed = {item.id: item for item in [*task.train, *task.judged] if "verdict" in item.said.get(name, {})}
    return known + [Judged(_said(item, name), item.said[name]["verdict"] == "accept") for item in reviewed.values()]


def _with(items: Iterable[BundleItem], name: str) -> List[BundleItem]:
    return [item for item in items if name in item.said]


def _said(item: BundleItem, name: str) -> Said:
    raw: Dict[str, Any] = item.said[name]
    return Said(raw["payload"], raw["confidence"], raw.get("probabilities"))


def _around(said: Said, sure: float) -> Optional[Dict[str, float]]:
    """The probabilities with the answer's own at `sure`, and the others' in their old proportion."""
    if said.probabilities is None:
        return None
    rest = sum(share for name, share in said.probabilities.items() if name != said.label)
    scale = (1 - sure) / rest if rest > 0 else 0.0
    return {
        name: sure if name == said.label else round(share * scale, DIGITS) for name, share in said.probabilities.items()
    }
