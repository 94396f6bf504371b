"""`hf-pairwise-preference`: a reward model, learned from which of two texts people found better.

Each text gets a number, its reward. How probable it is that the first is preferred depends on the difference of both
rewards alone (Bradley and Terry 1952); where people may call a tie, Davidson's form of it (1970) is used.
"""

import math
from typing import Any, Callable, Dict, List, Sequence

from potato.training.contract.bundle import BundleItem
from potato.training.contract.predictions import Prediction
from potato.training.trainers.base import Model, Param, Requirement, Task, Trainer, TrainerError, TrainerInfo
from potato.training.trainers.hf import base_model, lora
from potato.training.trainers.hf.classification import METHOD, Classifier, named
from potato.training.trainers.hf.loop import params
from potato.training.trainers.hf.pairs import Pairs
from potato.training.trainers.hf.setting_up import set_up
from potato.training.trainers.hf.texts import Texts
from potato.training.trainers.targets import DIGITS, check_trainable

ANSWERS = ("a", "b", "tie")
SPEED = 50
"""How much faster the one number for ties is learned than the network's many."""

_PARAMS = (
    Param(
        "base_model",
        "text",
        "distilbert-base-uncased",
        "The model to start from: a name on the Hugging Face Hub, or a folder (then nothing is downloaded).",
        folder=True,
    ),
    METHOD,
    Param("field_a", "text", None, "The item's field that the answer `a` means; left out, the one of the scheme."),
    Param("field_b", "text", None, "The item's field that the answer `b` means; left out, the one of the scheme."),
    Param("max_length", "int", 256, "Tokens of each text that are read; the rest is cut off.", 8, 8192),
    *params("1e-4 for `full` and 1e-3 for `lora`", batch_size=8),
    *lora.PARAMS,
)


class HfPairwisePreference(Trainer):
    """A fine-tuned reward model; see `info`."""

    info = TrainerInfo(
        name="hf-pairwise-preference",
        summary="Learns a reward model from which of two texts is better (Bradley-Terry); wants a GPU",
        kinds=("pairwise",),
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
        one = dict(named(["reward"]), problem_type="regression")
        tokenizer, network = base_model.load(task, "AutoModelForSequenceClassification", **one)
        model = _RewardModel(task, self.info, Pairs(task, Texts(task, tokenizer, network)), network)
        model.fit()
        return model


class _RewardModel(Classifier):
    """Two rewards become the probabilities of `a`, `b` and, where training items have ties, `tie`.

    How readily it says `tie` is learned too. It begins where two equally good texts tie as often as training items do.
    """

    def __init__(self, task: Task, info: TrainerInfo, inputs: Pairs, network: Any) -> None:
        import torch

        super().__init__(task, info, inputs, network)
        share = sum(item.targets[task.schema.name] == "tie" for item in task.train) / len(task.train)
        self._usual = math.log(2 * share / (1 - share)) if share else None
        self._moved = torch.nn.Parameter(torch.zeros((), device=task.device))
        if share:
            self._network.register_parameter("ties", self._moved)  # so that it is trained with the others

    def fit(self) -> None:
        """Train; then the network is a plain one again."""
        trained = self._network
        super().fit()
        if self._usual is not None:
            del trained.ties
        self._network.config.tie_weight = self._tie_weight()

    def _tie_weight(self) -> float:
        """Davidson's nu: what a tie weighs against one side, between two texts that are equally good; 0: never."""
        return 0.0 if self._usual is None else math.exp(self._usual + SPEED * self._moved.item())

    def _facts(self) -> Dict[str, Any]:
        return {"tie_weight": self._tie_weight()}

    def _targets(self) -> Any:
        import torch

        positions = [ANSWERS.index(item.targets[self._task.schema.name]) for item in self._task.train]
        return torch.tensor(positions, device=self._task.device)

    def _loss(self) -> Callable[[Any, Any], Any]:
        from torch.nn import functional

        return lambda rewards, targets: functional.cross_entropy(self._scores(rewards), targets, reduction="none")

    def _scores(self, rewards: Any) -> Any:
        """A row a pair: what `a`, `b` and `tie` weigh, as logarithms."""
        import torch

        first, second = rewards.squeeze(-1).chunk(2)
        scores = [first, second]
        if self._usual is not None:
            scores.append(self._usual + SPEED * self._moved + (first + second) / 2)
        return torch.stack(scores, dim=-1)

    def _answers(self, examples: Sequence[Any]) -> List[List[float]]:
        import torch

        with torch.inference_mode(), self._precision.autocast():
            rewards = self._outputs(examples).float()
        return self._scores(rewards).softmax(-1).cpu().tolist()  # type: ignore[no-any-return]

    def _prediction(self, item: BundleItem, outputs: Sequence[float]) -> Prediction:
        if not all(map(math.isfinite, outputs)):
            raise TrainerError("the model's output for item '%s' is not a number" % item.id, "not_finite")
        shares = {answer: round(share, DIGITS) for answer, share in zip(ANSWERS, outputs)}
        best = max(shares, key=lambda answer: shares[answer])
        return Prediction(item.id, self._task.schema.name, best, shares[best], shares)
