"""A trainer of one's own: it always gives one of the commonest labels. A yardstick, and an example."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from potato.training.contract.bundle import BundleItem
from potato.training.contract.predictions import Prediction
from potato.training.trainers import provenance
from potato.training.trainers.base import Model, Param, Task, Trainer, TrainerInfo
from potato.training.trainers.targets import check_trainable


class Commonest(Trainer):
    """Counts labels."""

    info = TrainerInfo(
        name="commonest",
        summary="Always one of the commonest labels: a yardstick",
        kinds=("nominal",),
        modalities=("text", "image"),
        requires=(),
        licence="Apache-2.0",
        params=(Param("rank", "int", 1, "Which label is given: 1 for the commonest, 2 for the next one.", 1, 1000),),
    )

    def fit(self, task: Task) -> Model:
        check_trainable(task, self.info.min_train_items)
        counts: Counter[str] = Counter()
        for done, item in enumerate(task.train, 1):
            task.check_stop()
            counts[item.targets[task.schema.name]] += 1
            task.progress("training", done, len(task.train))
        ranked = [label for label, _ in counts.most_common()]
        label = ranked[min(task.params["rank"], len(ranked)) - 1]
        return Fitted(task, label, {one: count / len(task.train) for one, count in counts.items()})


class Fitted(Model):
    """The label, and how frequent each one was."""

    def __init__(self, task: Task, label: str, shares: dict[str, float]) -> None:
        self._task = task
        self._label = label
        self._shares = shares

    def save(self, folder: str) -> None:
        (Path(folder) / "shares.json").write_text(json.dumps(self._shares), "utf-8")
        provenance.write(folder, self._task, Commonest.info, packages=())

    def predict(self, items: Iterable[BundleItem]) -> Iterator[Prediction]:
        for item in items:
            self._task.check_stop()
            yield Prediction(item.id, self._task.schema.name, self._label, self._shares[self._label], self._shares)
