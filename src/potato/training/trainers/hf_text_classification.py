"""`hf-text-classification`: fine-tunes a transformer on texts, its weights in full or a LoRA adapter."""

import os
from typing import Any, Dict, Iterable, Iterator, List, Sequence

from potato.training.contract.bundle import BundleItem
from potato.training.contract.predictions import Prediction
from potato.training.trainers import provenance
from potato.training.trainers.base import Model, Param, Requirement, Task, Trainer, TrainerInfo
from potato.training.trainers.hf import base_model, lora
from potato.training.trainers.hf.batches import Halving, mapped
from potato.training.trainers.hf.loop import Evaluation, Loop, params
from potato.training.trainers.hf.setting_up import Precision, set_up
from potato.training.trainers.hf.texts import Texts, Tokens, length
from potato.training.trainers.targets import (
    check_trainable,
    class_weights,
    decode,
    encode,
    figures,
    known,
    log_loss,
    merit,
)

RATES = {"full": 1e-4, "lora": 1e-3}
"""The learning rate where none is given."""

_PARAMS = (
    Param(
        "base_model",
        "text",
        "distilbert-base-uncased",
        "The model to start from: a name on the Hugging Face Hub, or a folder (then nothing is downloaded).",
        folder=True,
    ),
    Param(
        "method",
        "choice",
        "full",
        "`full` trains every weight; `lora` a small adapter: less memory, and larger base models.",
        choices=("full", "lora"),
    ),
    Param("max_length", "int", 256, "Tokens of a text that are read; the rest is cut off.", 8, 8192),
    Param(
        "class_weight",
        "choice",
        "balanced",
        "`balanced` counts rare labels as much as common ones; `none` counts every item alike.",
        choices=("balanced", "none"),
    ),
    *params("1e-4 for `full` and 1e-3 for `lora`"),
    Param("lora_rank", "int", 16, "Width of the adapter's matrices.", 1, 512),
    Param("lora_dropout", "float", 0.05, "Share of the adapter's inputs left out at random while training.", 0, 0.9),
)


class HfTextClassification(Trainer):
    """A fine-tuned transformer with a classification (or regression) head; see `info`."""

    info = TrainerInfo(
        name="hf-text-classification",
        summary="Fine-tunes a transformer, in full or by LoRA: best scores from some hundred labels on; wants a GPU",
        kinds=("nominal", "multilabel", "ordinal", "continuous"),
        modalities=("text",),
        requires=(
            Requirement("torch", "torch"),
            Requirement("transformers", "transformers>=4.46.0"),
            Requirement("peft", "peft>=0.13.0"),
        ),
        licence="Apache-2.0 (transformers, peft), BSD-3-Clause (torch); the base model has its own",
        params=_PARAMS,
        extra="train-text",
        fine_tunes=True,
        min_train_items=2,
    )

    def fit(self, task: Task) -> Model:
        check_trainable(task, self.info.min_train_items)
        set_up(task)
        model = _TextModel(task)
        model.fit()
        return model


class _TextModel(Model):
    """The tokenizer, the network, and how its outputs become answers."""

    def __init__(self, task: Task) -> None:
        self._task = task
        self._kind = task.schema.kind
        self._own: Dict[str, float] = {}
        self._center, self._scale = 0.0, 1.0
        tokenizer, network = base_model.load(task, "AutoModelForSequenceClassification", **_config(task))
        self._texts = Texts(task, tokenizer, network)
        task.check_stop()
        if task.params["method"] == "lora":
            network = lora.add(task, network)
        self._network = network.to(task.device)
        self._precision = Precision(task.device, task.params["precision"])
        self._sizes = Halving(task, 4 * task.params["batch_size"], "predicting")

    def fit(self) -> None:
        """Train, and end as a plain model, its adapter merged in."""
        task = self._task
        inputs, targets = self._texts.of_items(task.train), self._targets()
        self._texts.say_what_is_cut(inputs)
        val = known(task.val, task.schema)
        loss = _loss(task, encode(task.train, task.schema))

        def losses(positions: List[int]) -> Any:
            outputs = self._outputs([inputs[position] for position in positions])
            return loss(outputs.float(), targets[positions])

        rate = task.params["learning_rate"] or RATES[task.params["method"]]
        lengths = [length(tokens) for tokens in inputs]
        loop = Loop(task, self._network, lengths, losses, lambda: self._evaluate(val), rate, self._precision)
        loop.run()
        self._own = dict({"val_" + name: value for name, value in loop.figures.items()}, epoch=loop.best_epoch)
        if task.params["method"] == "lora":
            self._network = lora.merge(self._network, os.path.join(task.artifact_dir, "adapter"))

    def save(self, folder: str) -> None:
        import shutil

        params = self._task.params
        self._network.save_pretrained(folder)
        self._texts.tokenizer.save_pretrained(folder)
        if params["method"] == "lora":
            shutil.copytree(os.path.join(self._task.artifact_dir, "adapter"), os.path.join(folder, "adapter"))
        packages = ("torch", "transformers") + (("peft",) if params["method"] == "lora" else ())
        more = base_model.provenance(params["base_model"], self._network)
        more.update(max_length=self._texts.longest, target_center=self._center, target_scale=self._scale)
        provenance.write(folder, self._task, HfTextClassification.info, packages, **more)

    def predict(self, items: Iterable[BundleItem]) -> Iterator[Prediction]:
        self._network.eval()
        for item, outputs in mapped(items, self._texts.of_items, length, self._answers, self._sizes):
            yield decode(item.id, self._task.schema, outputs)

    def metrics(self) -> Dict[str, float]:
        return self._own

    def _targets(self) -> Any:
        """The training targets as a tensor; a continuous scheme's are centred and scaled to a spread of one."""
        import torch

        rows = torch.tensor(encode(self._task.train, self._task.schema), device="cpu")
        if self._kind == "continuous":
            self._center, self._scale = rows.double().mean().item(), rows.double().std(unbiased=False).item() or 1.0
            rows = (rows - self._center) / self._scale
        return (rows if self._kind in ("nominal", "ordinal") else rows.float()).to(self._task.device)

    def _outputs(self, tokens: List[Tokens]) -> Any:
        return self._network(**self._texts.batch(tokens)).logits

    def _answers(self, tokens: List[Tokens]) -> List[List[float]]:
        """What `decode` reads: probabilities in class order, or the number itself."""
        import torch

        with torch.inference_mode(), self._precision.autocast():
            outputs = self._outputs(tokens).float()
        if self._kind == "continuous":
            return (outputs.double().cpu() * self._scale + self._center).tolist()  # type: ignore[no-any-return]
        shares = outputs.sigmoid() if self._kind == "multilabel" else outputs.softmax(-1)
        return shares.cpu().tolist()  # type: ignore[no-any-return]

    def _evaluate(self, val: Sequence[BundleItem]) -> Evaluation:
        predictions = list(self.predict(val))
        own, loss = figures(predictions, val, self._task.schema), log_loss(predictions, val, self._task.schema)
        chosen_by = merit(own, loss)
        return Evaluation(own if loss is None else dict(own, loss=loss), chosen_by)


def _config(task: Task) -> Dict[str, Any]:
    """The head's size and the names of its outputs: the label order lives in the model folder."""
    if task.schema.kind == "continuous":
        return {"num_labels": 1, "problem_type": "regression"}
    problem = "multi_label_classification" if task.schema.kind == "multilabel" else "single_label_classification"
    names = dict(enumerate(task.schema.classes))
    positions = {label: number for number, label in names.items()}
    return {"id2label": names, "label2id": positions, "problem_type": problem}


def _loss(task: Task, encoded: Sequence[Any]) -> Any:
    """The loss of each example, from the network's outputs and the targets."""
    import torch
    from torch.nn import functional

    if task.schema.kind == "continuous":
        return lambda outputs, targets: functional.mse_loss(outputs.squeeze(-1), targets, reduction="none")
    weight = None
    if task.params["class_weight"] == "balanced":
        weight = torch.tensor(class_weights(encoded, task.schema), device=task.device)
    if task.schema.kind == "multilabel":
        return lambda outputs, targets: functional.binary_cross_entropy_with_logits(
            outputs, targets, pos_weight=weight, reduction="none"
        ).mean(-1)
    return lambda outputs, targets: functional.cross_entropy(outputs, targets, weight=weight, reduction="none")
