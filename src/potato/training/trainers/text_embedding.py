"""`text-embedding`: a sentence encoder's vectors and a linear head; the encoder frozen, or fine-tuned by contrast."""

import os
from typing import Any, Dict, Iterable, Iterator, List, Optional, Sequence

from potato.training.contract.bundle import BundleItem
from potato.training.contract.predictions import Prediction
from potato.training.trainers import linear, provenance
from potato.training.trainers.base import Model, Param, Requirement, Task, Trainer, TrainerInfo
from potato.training.trainers.hf import base_model, contrast
from potato.training.trainers.hf.batches import batched
from potato.training.trainers.hf.encoder import Encoder
from potato.training.trainers.hf.loop import Evaluation, Loop, params
from potato.training.trainers.hf.setting_up import Precision, set_up
from potato.training.trainers.hf.texts import length
from potato.training.trainers.targets import check_trainable, decode, merit

RATE = 2e-5
"""The learning rate of contrastive fine-tuning where none is given."""

_PARAMS = (
    Param(
        "base_model",
        "text",
        "sentence-transformers/all-MiniLM-L6-v2",
        "The sentence encoder: a name on the Hugging Face Hub, or a folder (then nothing is downloaded).",
        folder=True,
    ),
    Param(
        "method",
        "choice",
        "frozen",
        "`frozen` leaves the encoder as it is: much quicker. `contrastive` first fine-tunes it on pairs of items.",
        choices=("frozen", "contrastive"),
    ),
    Param(
        "pooling",
        "choice",
        "mean",
        "A text's vector: the mean of its tokens', or the first token's, as the encoder's card says.",
        choices=("mean", "cls"),
    ),
    Param("max_length", "int", 256, "Tokens of a text that are read; the rest is cut off.", 8, 8192),
    *linear.PARAMS,
    Param("pairs", "int", 8, "`contrastive`: pairs that each training item is put into.", 1, 1000),
    *params("2e-5; for `contrastive` alone, as are epochs and the like", epochs=1),
)


class TextEmbedding(Trainer):
    """Sentence vectors with logistic regression; see `info`."""

    info = TrainerInfo(
        name="text-embedding",
        summary="A sentence encoder's vectors with logistic regression: good scores from few labels, bearable on a CPU",
        kinds=("nominal", "ordinal", "multilabel"),
        modalities=("text",),
        requires=(
            Requirement("torch", "torch"),
            Requirement("transformers", "transformers>=4.46.0"),
            Requirement("sklearn", "scikit-learn>=1.0"),
            Requirement("skops", "skops>=0.9"),
        ),
        licence="Apache-2.0 (transformers), BSD-3-Clause (torch, scikit-learn), MIT (skops); the encoder has its own",
        params=_PARAMS,
        extra="train-text",
        min_train_items=2,
    )

    def fit(self, task: Task) -> Model:
        check_trainable(task, self.info.min_train_items)
        set_up(task)
        model = _EmbeddingModel(task)
        if task.params["method"] == "contrastive":
            model.contrast()
        model.fit()
        return model


class _EmbeddingModel(Model):
    """The encoder and the head."""

    def __init__(self, task: Task) -> None:
        self._task = task
        self._precision = Precision(task.device, task.params["precision"])
        self._encoder = Encoder(task, self._precision)
        self._head: Optional[linear.Head] = None
        self._epoch = 0

    def contrast(self) -> None:
        """Fine-tune the encoder on pairs, and keep the epoch whose head val likes best."""
        import torch

        task, encoder = self._task, self._encoder
        pairs = contrast.pairs(task)
        inputs = encoder.texts.of_items(task.train)
        lengths = [length(inputs[left]) + length(inputs[right]) for left, right, _ in pairs]

        def losses(positions: List[int]) -> Any:
            some = [pairs[position] for position in positions]
            wanted = torch.tensor([alike for _, _, alike in some], device=task.device)
            left = encoder.vectors([inputs[one] for one, _, _ in some])
            right = encoder.vectors([inputs[other] for _, other, _ in some])
            return contrast.losses(left, right, wanted)

        rate = task.params["learning_rate"] or RATE
        loop = Loop(task, encoder.network, lengths, losses, self._evaluate, rate, self._precision)
        loop.run()
        self._epoch = loop.best_epoch

    def fit(self) -> None:
        """Embed, and fit the head."""
        self._encoder.texts.say_what_is_cut(self._encoder.texts.of_items(self._task.train))
        self._head = self._fitted(report=True)

    def save(self, folder: str) -> None:
        assert self._head is not None
        self._encoder.save(folder)
        trusted = linear.save(self._head.classifier, os.path.join(folder, "head.skops"))
        more = base_model.provenance(self._task.params["base_model"], self._encoder.network)
        more.update(C=self._head.strength, skops_trusted=trusted, max_length=self._encoder.texts.longest)
        packages = ("torch", "transformers", "scikit-learn", "skops")
        provenance.write(folder, self._task, TextEmbedding.info, packages, **more)

    def predict(self, items: Iterable[BundleItem]) -> Iterator[Prediction]:
        import numpy

        assert self._head is not None
        for some in batched(self._encoder.embedded(items), 512):
            table = numpy.asarray([row for _, row in some], dtype=numpy.float32)
            for (item, _), outputs in zip(some, self._head.probabilities(table)):
                yield decode(item.id, self._task.schema, outputs)

    def metrics(self) -> Dict[str, float]:
        assert self._head is not None
        return dict(self._head.metrics(), **({"epoch": self._epoch} if self._epoch else {}))

    def _fitted(self, report: bool) -> linear.Head:
        table = self._table(self._task.train, "embedding the training items")
        val_table = self._table(linear.usable(self._task), "embedding the val items")
        return linear.choose(self._task, table, val_table, report)

    def _evaluate(self) -> Evaluation:
        """How the head does that the encoder as it is now would get."""
        if not linear.usable(self._task):
            return Evaluation({}, None)
        head = self._fitted(report=False)
        return Evaluation(head.figures, merit(head.figures, head.loss))

    def _table(self, items: Sequence[BundleItem], phase: str) -> Any:
        return self._encoder.table(items, phase) if items else None
