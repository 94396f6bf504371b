"""A transformer with a classification (or regression) head, whatever it reads: fitted, saved, asked."""

import os
import shutil
from typing import Any, Callable, Dict, Iterable, Iterator, List, Sequence

from potato.training.contract.bundle import BundleItem, SchemaInfo
from potato.training.contract.predictions import Prediction
from potato.training.trainers import provenance
from potato.training.trainers.base import Model, Param, Task, TrainerInfo
from potato.training.trainers.hf import base_model, lora
from potato.training.trainers.hf.batches import Halving, mapped
from potato.training.trainers.hf.inputs import Inputs
from potato.training.trainers.hf.loop import Evaluation, Loop
from potato.training.trainers.hf.setting_up import Precision
from potato.training.trainers.targets import class_weights, decode, encode, figures, known, log_loss, merit

METHOD = Param(
    "method",
    "choice",
    "full",
    "`full` trains every weight; `lora` a small adapter: less memory, and larger base models.",
    choices=("full", "lora"),
)

RATES = {"full": 1e-4, "lora": 1e-3}
"""The learning rate where none is given."""

CLASS_WEIGHT = Param(
    "class_weight",
    "choice",
    "balanced",
    "`balanced` counts rare labels as much as common ones; `none` counts every item alike.",
    choices=("balanced", "none"),
)


class Classifier(Model):
    """What reads the inputs, the network, and how its outputs become answers. The param `method`, where the trainer has
    it, says whether all weights are trained or an adapter."""

    def __init__(self, task: Task, info: TrainerInfo, inputs: Inputs, network: Any) -> None:
        self._task = task
        self._info = info
        self._inputs = inputs
        self._kind = task.schema.kind
        self._method = task.params.get("method", "full")
        self._own: Dict[str, float] = {}
        self._center, self._scale = 0.0, 1.0
        task.check_stop()
        if self._method == "lora":
            network = lora.add(task, network)
        self._network = network.to(task.device)
        self._precision = Precision(task.device, task.params["precision"])
        self._sizes = Halving(task, 4 * task.params["batch_size"], "predicting")

    def fit(self) -> None:
        """Train, and end as a plain model, its adapter merged in."""
        task = self._task
        examples, targets = self._inputs.of_items(task.train), self._targets()
        val = known(task.val, task.schema)
        loss = self._loss()

        def losses(positions: List[int]) -> Any:
            outputs = self._outputs([examples[position] for position in positions])
            return loss(outputs.float(), targets[positions])

        rate = task.params["learning_rate"] or RATES[self._method]
        lengths = [self._inputs.length(example) for example in examples]
        loop = Loop(task, self._network, lengths, losses, lambda: self._evaluate(val), rate, self._precision)
        loop.run()
        self._own = dict({"val_" + name: value for name, value in loop.figures.items()}, epoch=loop.best_epoch)
        if self._method == "lora":
            self._network = lora.merge(self._network, os.path.join(task.artifact_dir, "adapter"))

    def save(self, folder: str) -> None:
        self._network.save_pretrained(folder)
        self._inputs.save(folder)
        if self._method == "lora":
            shutil.copytree(os.path.join(self._task.artifact_dir, "adapter"), os.path.join(folder, "adapter"))
        packages = ["torch", "transformers"] + (["peft"] if self._method == "lora" else [])
        more = base_model.provenance(self._task.params["base_model"], self._network)
        more.update(self._inputs.facts())
        more.update(self._facts())
        provenance.write(folder, self._task, self._info, packages, **more)

    def predict(self, items: Iterable[BundleItem]) -> Iterator[Prediction]:
        self._network.eval()
        inputs = self._inputs
        for item, outputs in mapped(items, inputs.of_items, inputs.length, self._answers, self._sizes):
            yield self._prediction(item, outputs)

    def metrics(self) -> Dict[str, float]:
        return self._own

    def _facts(self) -> Dict[str, Any]:
        """What else the model folder records."""
        return {"target_center": self._center, "target_scale": self._scale} if self._kind == "continuous" else {}

    def _prediction(self, item: BundleItem, outputs: Sequence[float]) -> Prediction:
        return decode(item.id, self._task.schema, outputs)

    def _loss(self) -> Callable[[Any, Any], Any]:
        """The loss of each example, from the network's outputs and the targets."""
        return _loss(self._task, encode(self._task.train, self._task.schema))

    def _targets(self) -> Any:
        """The training targets as a tensor; a continuous scheme's are centred and scaled to a spread of one."""
        import torch

        rows = torch.tensor(encode(self._task.train, self._task.schema), device="cpu")
        if self._kind == "continuous":
            self._center, self._scale = rows.double().mean().item(), rows.double().std(unbiased=False).item() or 1.0
            rows = (rows - self._center) / self._scale
        return (rows if self._kind in ("nominal", "ordinal") else rows.float()).to(self._task.device)

    def _outputs(self, examples: Sequence[Any]) -> Any:
        return self._network(**self._inputs.batch(examples)).logits

    def _answers(self, examples: Sequence[Any]) -> List[List[float]]:
        """What `decode` reads: probabilities in class order, or the number itself."""
        import torch

        with torch.inference_mode(), self._precision.autocast():
            outputs = self._outputs(examples).float()
        if self._kind == "continuous":
            return (outputs.double().cpu() * self._scale + self._center).tolist()  # type: ignore[no-any-return]
        shares = outputs.sigmoid() if self._kind == "multilabel" else outputs.softmax(-1)
        return shares.cpu().tolist()  # type: ignore[no-any-return]

    def _evaluate(self, val: Sequence[BundleItem]) -> Evaluation:
        predictions = list(self.predict(val))
        own, loss = figures(predictions, val, self._task.schema), log_loss(predictions, val, self._task.schema)
        chosen_by = merit(own, loss)
        return Evaluation(own if loss is None else dict(own, loss=loss), chosen_by)


def head(schema: SchemaInfo) -> Dict[str, Any]:
    """The configuration of the head: its size and the names of its outputs, so that the label order lives in the model
    folder."""
    if schema.kind == "continuous":
        return {"num_labels": 1, "problem_type": "regression"}
    problem = "multi_label_classification" if schema.kind == "multilabel" else "single_label_classification"
    return dict(named(schema.classes), problem_type=problem)


def named(outputs: Sequence[str]) -> Dict[str, Any]:
    """The configuration of outputs with these names."""
    names = dict(enumerate(outputs))
    return {"id2label": names, "label2id": {label: number for number, label in names.items()}}


def _loss(task: Task, encoded: Sequence[Any]) -> Callable[[Any, Any], Any]:
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
