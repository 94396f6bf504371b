"""`llm-finetune`: teaches a causal language model to answer, by a LoRA adapter over its frozen weights.

It learns the answer alone, not the question. A label is predicted by comparing the likelihoods of all labels, so an
answer is always one of them; free text is written.
"""

from typing import Any, Dict, Iterable, Iterator, List, Optional, Sequence, Tuple

from potato.training.contract.bundle import BundleItem
from potato.training.contract.predictions import Prediction
from potato.training.trainers import provenance
from potato.training.trainers.base import Model, Param, Requirement, Task, Trainer, TrainerInfo
from potato.training.trainers.hf import base_model, lora, quantization
from potato.training.trainers.hf.batches import Halving, batched, mapped
from potato.training.trainers.hf.causal import Causal
from potato.training.trainers.hf.classification import CLASS_WEIGHT
from potato.training.trainers.hf.forks import Tree
from potato.training.trainers.hf.loop import Evaluation, Loop, params
from potato.training.trainers.hf.prompts import Prompts
from potato.training.trainers.hf.setting_up import Precision, set_up
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

RATE = 5e-4
"""The learning rate where none is given."""
YES_OR_NO = ("yes", "no")
"""What a multilabel question is answered with, label by label."""

_PARAMS = (
    Param(
        "base_model",
        "text",
        "HuggingFaceTB/SmolLM2-135M-Instruct",
        "The language model: a name on the Hugging Face Hub, or a folder (then nothing is downloaded).",
        folder=True,
    ),
    quantization.PARAM,
    Param(
        "prompt",
        "text",
        None,
        "What is asked: `{description}`, `{labels}`, `{text}` and, for multilabel, `{label}` are filled in. "
        "Left out, one made of the scheme's description and labels.",
    ),
    Param("chat", "bool", True, "Ask in the base model's chat template, where it has one."),
    Param("max_length", "int", 512, "Tokens of prompt and answer together; a longer text is cut off.", 32, 32768),
    Param("max_new_tokens", "int", 128, "Free text: tokens of an answer, at most.", 1, 4096),
    CLASS_WEIGHT,
    *params("5e-4", batch_size=8),
    *lora.PARAMS,
    Param(
        "gradient_checkpointing",
        "bool",
        False,
        "Compute a part of each step twice, for a third more time and much less memory.",
    ),
    Param(
        "save",
        "choice",
        "adapter",
        "`adapter` saves what was learned: some megabytes, loaded with the base model. `merged` saves a whole model.",
        choices=("adapter", "merged"),
    ),
)


class LlmFinetune(Trainer):
    """A language model with a LoRA adapter; see `info`."""

    info = TrainerInfo(
        name="llm-finetune",
        summary="Teaches a language model to answer, by LoRA over full, 8-bit or 4-bit weights; free text too",
        kinds=("nominal", "multilabel", "text"),
        modalities=("text",),
        requires=(
            Requirement("torch", "torch"),
            Requirement("transformers", "transformers>=4.46.0"),
            Requirement("peft", "peft>=0.13.0"),
            Requirement("accelerate", "accelerate>=1.0"),
        ),
        licence="Apache-2.0 (transformers, peft, accelerate), BSD-3-Clause (torch), MIT (bitsandbytes); the base model "
        "has its own",
        params=_PARAMS,
        extra="train-llm",
        fine_tunes=True,
        min_train_items=2,
    )

    def fit(self, task: Task) -> Model:
        check_trainable(task, self.info.min_train_items)
        set_up(task)
        model = _AnsweringModel(task)
        model.fit()
        return model


Example = Tuple[List[int], List[int], float]
"""The tokens of a question, those of its answer, and what the example counts."""


class _AnsweringModel(Model):
    """The language model, how it is asked, and how its likelihoods become answers."""

    def __init__(self, task: Task) -> None:
        self._task = task
        self._kind = task.schema.kind
        self._own: Dict[str, float] = {}
        self._precision = Precision(task.device, task.params["precision"])
        self._llm = Causal(task, self._precision)
        self._prompts = Prompts(task, self._llm.tokenizer, self._llm.longest, not task.params["chat"])
        self._sizes = Halving(task, 2 * task.params["batch_size"], "predicting")
        words = {"nominal": task.schema.classes, "multilabel": YES_OR_NO}.get(self._kind, ())
        self._answers = self._prompts.answers(words)
        self._tree = Tree(self._answers)
        self._room = max((len(answer) for answer in self._answers), default=task.params["max_new_tokens"] + 1)

    def fit(self) -> None:
        """Train, and keep the epoch that val likes best."""
        task = self._task
        examples = self._examples(task.train, self._weights())
        val = known(task.val, task.schema)

        def losses(positions: List[int]) -> Any:
            task.check_stop()
            return self._losses([examples[position] for position in positions])

        lengths = [len(question) + len(answer) for question, answer, _ in examples]
        rate = task.params["learning_rate"] or RATE
        loop = Loop(task, self._llm.network, lengths, losses, lambda: self._evaluate(val), rate, self._precision)
        loop.run()
        self._own = dict({"val_" + name: value for name, value in loop.figures.items()}, epoch=loop.best_epoch)

    def save(self, folder: str) -> None:
        self._llm.save(folder)
        more = base_model.provenance(self._task.params["base_model"], self._llm.network)
        more.update(
            prompt=self._prompts.template,
            chat=self._prompts.chat,
            max_length=self._llm.longest,
            quantization=self._llm.quantization,
        )
        packages = ["torch", "transformers", "peft", "accelerate"]
        if self._llm.quantization != "none":
            packages.append("bitsandbytes")
        provenance.write(folder, self._task, LlmFinetune.info, packages, **more)

    def predict(self, items: Iterable[BundleItem]) -> Iterator[Prediction]:
        self._llm.network.eval()
        return self._written(items) if self._kind == "text" else self._chosen(items)

    def metrics(self) -> Dict[str, float]:
        return self._own

    def _asked(self, item: BundleItem) -> List[List[int]]:
        """The questions that an item is asked: one, or for multilabel one for each label."""
        labels: Sequence[Optional[str]] = self._task.schema.classes if self._kind == "multilabel" else (None,)
        return [self._prompts.question(item.text or "", self._room, label) for label in labels]

    def _examples(self, items: Sequence[BundleItem], weights: Sequence[float]) -> List[Example]:
        """A training example for each question; `weights` by class for nominal, for a label's yes for multilabel."""
        found: List[Example] = []
        if self._kind == "text":
            targets = [str(item.targets[self._task.schema.name]) for item in items]
            return [(self._asked(item)[0], self._wanted(target), 1.0) for item, target in zip(items, targets)]
        for item, target in zip(items, encode(items, self._task.schema)):
            if self._kind == "nominal":
                found.append((self._asked(item)[0], self._answers[target], weights[target]))
                continue
            for question, there, weight in zip(self._asked(item), target, weights):
                found.append((question, self._answers[0 if there else 1], weight if there else 1.0))
        return found

    def _wanted(self, text: str) -> List[int]:
        """The tokens of a free answer; one that is too long loses its end and its end token."""
        return self._prompts.answer(text)[: self._room]

    def _weights(self) -> List[float]:
        if self._kind == "text":
            return []
        if self._task.params["class_weight"] == "none":
            return [1.0] * len(self._task.schema.classes)
        return class_weights(encode(self._task.train, self._task.schema), self._task.schema)

    def _losses(self, examples: Sequence[Example]) -> Any:
        """Each example's loss: minus the log likelihood of its answer; of free text, the mean over the tokens."""
        sums = self._llm.surprise([(question, answer) for question, answer, _ in examples])
        shares = [weight / (len(answer) if self._kind == "text" else 1) for _, answer, weight in examples]
        return sums * sums.new_tensor(shares)

    def _chosen(self, items: Iterable[BundleItem]) -> Iterator[Prediction]:
        """The likelihoods of the answers compared, for each question that an item is asked."""
        forks, schema = self._tree.forks, self._task.schema
        looks = (
            (item, (question + list(fork.prefix), fork.choices))
            for item in items
            for question in self._asked(item)
            for fork in forks
        )
        seen = mapped(looks, lambda some: [look for _, look in some], _length, self._llm.following, self._sizes)
        questions = len(schema.classes) if self._kind == "multilabel" else 1
        for of_item in batched(seen, questions * len(forks)):
            logs = [log for _, log in of_item]
            shares = [self._tree.probabilities(some) for some in batched(logs, len(forks))]
            outputs = [share[0] for share in shares] if self._kind == "multilabel" else shares[0]
            yield decode(of_item[0][0][0].id, schema, outputs)

    def _written(self, items: Iterable[BundleItem]) -> Iterator[Prediction]:
        """What the model writes; there is no confidence."""
        most = self._task.params["max_new_tokens"]

        def encode(some: List[BundleItem]) -> List[List[int]]:
            return [self._asked(item)[0] for item in some]

        def write(questions: List[List[int]]) -> List[str]:
            return self._llm.write(questions, most)

        for item, answer in mapped(items, encode, len, write, self._sizes):
            yield Prediction(item.id, self._task.schema.name, answer)

    def _evaluate(self, val: Sequence[BundleItem]) -> Evaluation:
        """Labels are predicted; of free text the loss is taken, as writing all of it takes too long."""
        self._llm.network.eval()
        if self._kind != "text":
            predictions = list(self.predict(val))
            own, loss = figures(predictions, val, self._task.schema), log_loss(predictions, val, self._task.schema)
            return Evaluation(own if loss is None else dict(own, loss=loss), merit(own, loss))
        examples = self._examples(val, [])
        seen = mapped(examples, list, lambda example: len(example[0]) + len(example[1]), self._listed, self._sizes)
        losses = [loss for _, loss in seen]
        if not losses:
            return Evaluation({}, None)
        mean = sum(losses) / len(losses)
        return Evaluation({"loss": mean}, (-mean, 0.0))

    def _listed(self, examples: List[Example]) -> List[float]:
        import torch

        with torch.inference_mode(), self._precision.autocast():
            return self._losses(examples).tolist()  # type: ignore[no-any-return]


def _length(look: Tuple[List[int], Sequence[int]]) -> int:
    return len(look[0])
