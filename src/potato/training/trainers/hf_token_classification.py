"""`hf-token-classification`: fine-tunes a transformer to find labelled stretches of a text."""

import itertools
from typing import Any, Dict, Iterable, Iterator, List, Sequence, Tuple

from potato.training.contract.bundle import BundleItem
from potato.training.contract.predictions import Prediction
from potato.training.trainers import provenance
from potato.training.trainers import spans as tagging
from potato.training.trainers.base import Model, Param, Requirement, Task, Trainer, TrainerError, TrainerInfo
from potato.training.trainers.hf import base_model
from potato.training.trainers.hf.batches import Halving, mapped
from potato.training.trainers.hf.classification import named
from potato.training.trainers.hf.loop import Evaluation, Loop, params
from potato.training.trainers.hf.setting_up import Precision, set_up
from potato.training.trainers.hf.windows import Window, Windows
from potato.training.trainers.targets import DIGITS, check_trainable, figures, known, merit

RATE = 1e-4
"""The learning rate where none is given."""

_PARAMS = (
    Param(
        "base_model",
        "text",
        "distilbert-base-cased",
        "The model to start from: a name on the Hugging Face Hub, or a folder (then nothing is downloaded).",
        folder=True,
    ),
    Param("max_length", "int", 256, "Tokens that are read at once; a longer text is read in pieces.", 16, 8192),
    Param(
        "class_weight",
        "choice",
        "none",
        "`balanced` counts tags that are rare as much as common ones, which finds more and also more that is wrong.",
        choices=("balanced", "none"),
    ),
    *params("1e-4"),
)


class HfTokenClassification(Trainer):
    """A fine-tuned tagger; see `info`."""

    info = TrainerInfo(
        name="hf-token-classification",
        summary="Fine-tunes a transformer to find labelled stretches of text; wants a GPU",
        kinds=("span",),
        modalities=("text",),
        requires=(Requirement("torch", "torch"), Requirement("transformers", "transformers>=4.46.0")),
        licence="Apache-2.0 (transformers), BSD-3-Clause (torch); the base model has its own",
        params=_PARAMS,
        extra="train-text",
        fine_tunes=True,
        min_train_items=2,
    )

    def fit(self, task: Task) -> Model:
        check_trainable(task, self.info.min_train_items)
        set_up(task)
        model = _Tagger(task)
        model.fit()
        return model


Example = Tuple[Window, List[int]]
"""A window and its tokens' tags."""


class _Tagger(Model):
    """The tokenizer, the network, and how tags become spans."""

    def __init__(self, task: Task) -> None:
        self._task = task
        self._own: Dict[str, float] = {}
        tags = tagging.names(task.schema.classes)
        self._tokenizer, network = base_model.load(task, "AutoModelForTokenClassification", **named(tags))
        self._windows = Windows(task, self._tokenizer, network)
        self._network = network.to(task.device)
        self._precision = Precision(task.device, task.params["precision"])
        self._sizes = Halving(task, 4 * task.params["batch_size"], "predicting")

    def fit(self) -> None:
        """Train, and keep the epoch that val likes best."""
        task = self._task
        examples = self._examples()
        val = known(task.val, task.schema)
        weight = self._weight(examples)

        def losses(positions: List[int]) -> Any:
            return self._losses([examples[position] for position in positions], weight)

        lengths = [len(window.offsets) for window, _ in examples]
        rate = task.params["learning_rate"] or RATE
        loop = Loop(task, self._network, lengths, losses, lambda: self._evaluate(val), rate, self._precision)
        loop.run()
        self._own = dict({"val_" + name: value for name, value in loop.figures.items()}, epoch=loop.best_epoch)

    def save(self, folder: str) -> None:
        self._network.save_pretrained(folder)
        self._tokenizer.save_pretrained(folder)
        more = base_model.provenance(self._task.params["base_model"], self._network)
        more.update(max_length=self._windows.longest)
        provenance.write(folder, self._task, HfTokenClassification.info, ("torch", "transformers"), **more)

    def predict(self, items: Iterable[BundleItem]) -> Iterator[Prediction]:
        self._network.eval()
        pieces = (
            (number, item, window)
            for number, item in enumerate(items)
            for window in self._windows.of_text(item.text or "")
        )
        seen = mapped(pieces, lambda some: [piece[2] for piece in some], _length, self._tagged, self._sizes)
        for _, of_item in itertools.groupby(seen, key=lambda one: one[0][0]):
            yield self._prediction(list(of_item))

    def metrics(self) -> Dict[str, float]:
        return self._own

    def _examples(self) -> List[Example]:
        schema, lost = self._task.schema, 0
        found: List[Example] = []
        for item in self._task.train:
            text, spans = item.text or "", item.targets[schema.name]
            chosen = tagging.apart(spans)
            lost += len(spans) - len(chosen)
            windows = self._windows.of_text(text)
            found += [(one, tagging.tags(text, one.offsets, chosen, schema.classes)) for one in windows]
        if lost:
            words = "%d spans overlap longer ones, and are not learned: a token has one label"
            self._task.log("warning", words % lost)
        return found

    def _weight(self, examples: Sequence[Example]) -> Any:
        import torch

        if self._task.params["class_weight"] == "none":
            return None
        counts = [0] * len(tagging.names(self._task.schema.classes))
        for _, tags in examples:
            for tag in tags:
                if tag != tagging.IGNORED:
                    counts[tag] += 1
        total, size = sum(counts), len(counts)
        weights = [total / (size * count) if count else 1.0 for count in counts]
        return torch.tensor(weights, device=self._task.device)

    def _losses(self, examples: Sequence[Example], weight: Any) -> Any:
        """Each window's loss: the mean over its tokens."""
        import torch
        from torch.nn import functional

        logits = self._logits([window for window, _ in examples])
        most = logits.shape[1]
        rows = [tags + [tagging.IGNORED] * (most - len(tags)) for _, tags in examples]
        wanted = torch.tensor(rows, device=self._task.device)
        losses = functional.cross_entropy(logits.transpose(1, 2), wanted, weight=weight, reduction="none")
        return losses.sum(-1) / (wanted != tagging.IGNORED).sum(-1).clamp(min=1)

    def _logits(self, windows: Sequence[Window]) -> Any:
        self._task.check_stop()
        batch = self._tokenizer.pad(
            [window.tokens for window in windows], padding_side="right", return_tensors="pt"
        ).to(self._task.device)
        return self._network(**batch).logits.float()

    def _tagged(self, windows: List[Window]) -> List[List[Tuple[int, float]]]:
        """The likeliest tag of each token, and its probability."""
        import torch

        with torch.inference_mode(), self._precision.autocast():
            shares, tags = self._logits(windows).softmax(-1).max(-1)
        rows = zip(windows, tags.tolist(), shares.tolist())
        return [list(zip(some, parts))[: len(window.offsets)] for window, some, parts in rows]

    def _prediction(self, pieces: Sequence[Tuple[Any, List[Tuple[int, float]]]]) -> Prediction:
        """The spans of an item's windows together."""
        item: BundleItem = pieces[0][0][1]
        offsets: List[Tuple[int, int]] = []
        tags: List[int] = []
        shares: List[float] = []
        for (_, _, window), tagged in pieces:
            for position in window.counts:
                tag, share = tagged[position]
                if share != share:
                    raise TrainerError("the model's output for item '%s' is not a number" % item.id, "not_finite")
                offsets.append(window.offsets[position])
                tags.append(tag)
                shares.append(share)
        found, sure = tagging.spans(item.text or "", offsets, tags, shares, self._task.schema.classes)
        return Prediction(item.id, self._task.schema.name, found, round(sure, DIGITS))

    def _evaluate(self, val: Sequence[BundleItem]) -> Evaluation:
        own = figures(list(self.predict(val)), val, self._task.schema)
        return Evaluation(own, merit(own, None))


def _length(window: Window) -> int:
    return len(window.offsets)
