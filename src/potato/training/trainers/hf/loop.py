"""The training loop of every trainer that fine-tunes: written out, not taken from a library, because a run must stop
within a step, halve its batches, notice a loss that is no number, and report as it goes."""

import math
from dataclasses import dataclass, replace
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence, Tuple

from potato.training.trainers.base import Param, Task, TrainerError
from potato.training.trainers.hf.batches import Halving, shuffled
from potato.training.trainers.hf.setting_up import Precision

DIVERGED = 1e3
"""A loss this many times the first one never comes back."""

_PARAMS = (
    Param("epochs", "int", 3, "Times through the training items, at most: val may end it earlier.", 1, 1000),
    Param("batch_size", "int", 16, "Items a step; halves itself when memory runs out, with the same result.", 1, 4096),
    Param("learning_rate", "float", None, "Step size.", 0),
    Param("warmup_share", "float", 0.1, "Share of the steps in which the step size rises to its full value.", 0, 1),
    Param("weight_decay", "float", 0.01, "How strongly weights are drawn to zero.", 0, 1),
    Param("patience", "int", 2, "Epochs without a better figure on val after which training ends.", 1),
    Param(
        "precision", "choice", "auto", "`auto`: half precision where the device has it.", choices=("auto", "float32")
    ),
)


def params(left_out: str, **defaults: Any) -> Tuple[Param, ...]:
    """The loop's params for one trainer. `left_out` says which step size is taken where none is given; `defaults` are
    those that differ from the usual."""
    made = [replace(param, default=defaults.get(param.name, param.default)) for param in _PARAMS]
    help_text = "Step size. Left out, %s." % left_out
    return tuple(replace(param, help=help_text) if param.name == "learning_rate" else param for param in made)


@dataclass(frozen=True)
class Evaluation:
    """How the model does on val. `merit` chooses between epochs, more is better; None where val is empty."""

    figures: Dict[str, float]
    merit: Optional[Tuple[float, float]]


class Loop:
    """Trains `model` in place, and leaves it as it was after the epoch that val liked best.

    `lengths` are the training examples' lengths; `losses(positions)` is the loss of each example at these positions;
    `evaluate()` is asked after every epoch.
    """

    def __init__(
        self,
        task: Task,
        model: Any,
        lengths: Sequence[int],
        losses: Callable[[List[int]], Any],
        evaluate: Callable[[], Evaluation],
        learning_rate: float,
        precision: Precision,
    ) -> None:
        self._task = task
        self._model = model
        self._lengths = lengths
        self._losses = losses
        self._evaluate = evaluate
        self._rate = learning_rate
        self._precision = precision
        self._sizes = Halving(task, task.params["batch_size"], "training")
        self._optimizer = _optimizer(model, task.params["weight_decay"])
        self._step = 0
        self._first_loss: Optional[float] = None
        self.figures: Dict[str, float] = {}
        self.best_epoch = 0

    def run(self) -> None:
        """Train. Raises `TrainerError` where the loss is no number any more, `Cancelled`, `MemoryError`."""
        best: Optional[Dict[str, Any]] = None
        merit = (-math.inf, -math.inf)
        for epoch in range(1, self._task.params["epochs"] + 1):
            self._epoch(epoch)
            evaluation = self._evaluate()
            self._report(epoch, evaluation)
            if evaluation.merit is None or evaluation.merit > merit:
                merit = merit if evaluation.merit is None else evaluation.merit
                best, self.figures, self.best_epoch = self._state(), evaluation.figures, epoch
            elif epoch - self.best_epoch >= self._task.params["patience"]:
                self._task.log(
                    "info", "val has not been better for %d epochs: training ends" % (epoch - self.best_epoch)
                )
                break
        if best is not None:
            self._model.load_state_dict(best, strict=False)
        self._model.eval()

    @property
    def _total(self) -> int:
        epochs: int = self._task.params["epochs"]
        size: int = self._task.params["batch_size"]
        return epochs * math.ceil(len(self._lengths) / size)

    def _epoch(self, epoch: int) -> None:
        self._model.train()
        batches = shuffled(self._lengths, self._task.params["batch_size"], self._task.seed * 1009 + epoch)
        often = max(1, self._total // 200)
        recent: List[float] = []
        for batch in batches:
            self._task.check_stop()
            recent.append(self._learn(batch))
            self._task.progress("training", self._step, self._total)
            if self._step % often == 0:
                self._task.metric("train", "loss", sum(recent) / len(recent), self._step, epoch=epoch)
                recent = []

    def _learn(self, batch: List[int]) -> float:
        """One step; the batch's mean loss."""
        loss: Optional[float] = None
        while loss is None:
            self._optimizer.zero_grad(set_to_none=True)
            loss = self._sizes.attempt(self._gradients, batch)
        self._check(loss)
        self._apply()
        self._step += 1
        return loss

    def _gradients(self, batch: List[int]) -> float:
        """The gradients of the batch's mean loss, in as many pieces as memory asks for; returns that loss."""
        total = 0.0
        for piece in _pieces(batch, self._sizes.size):
            with self._precision.autocast():
                loss = self._losses(piece).sum() / len(batch)
            scaler = self._precision.scaler
            (scaler.scale(loss) if scaler is not None else loss).backward()
            total += loss.item()
        return total

    def _apply(self) -> None:
        import torch

        for group in self._optimizer.param_groups:
            group["lr"] = self._rate * _share(self._step, self._total, self._task.params["warmup_share"])
        trained = [weight for group in self._optimizer.param_groups for weight in group["params"]]
        scaler = self._precision.scaler
        if scaler is None:
            torch.nn.utils.clip_grad_norm_(trained, 1.0)
            self._optimizer.step()
        else:
            scaler.unscale_(self._optimizer)
            torch.nn.utils.clip_grad_norm_(trained, 1.0)
            scaler.step(self._optimizer)
            scaler.update()

    def _check(self, loss: float) -> None:
        if self._first_loss is None and math.isfinite(loss):
            self._first_loss = loss
        diverged = self._first_loss is not None and loss > DIVERGED * max(self._first_loss, 0.1)
        if math.isfinite(loss) and not diverged:
            return
        what = "rose to %.3g" % loss if math.isfinite(loss) else "became %s" % ("NaN" if loss != loss else "infinite")
        raise TrainerError(
            "the loss %s at step %d of %d; the last good step was %d. Lower learning_rate (it was %g)"
            % (what, self._step + 1, self._total, self._step, self._rate),
            "not_finite",
        )

    def _report(self, epoch: int, evaluation: Evaluation) -> None:
        for name, value in evaluation.figures.items():
            if not math.isfinite(value):
                raise TrainerError("%s on val is not a number after epoch %d" % (name, epoch), "not_finite")
            self._task.metric("val", name, value, self._step, epoch=epoch)

    def _state(self) -> Dict[str, Any]:
        """The trained weights, copied to the CPU."""
        return {
            name: weight.detach().to("cpu", copy=True)
            for name, weight in self._model.named_parameters()
            if weight.requires_grad
        }


def _optimizer(model: Any, decay: float) -> Any:
    """AdamW over what is trained; biases and norms are not drawn to zero."""
    import torch

    trained = [weight for weight in model.parameters() if weight.requires_grad]
    groups = [
        {"params": [weight for weight in trained if weight.ndim >= 2], "weight_decay": decay},
        {"params": [weight for weight in trained if weight.ndim < 2], "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups)


def _share(step: int, total: int, warmup: float) -> float:
    """Of the full step size at `step`: rising over the warm-up, then falling to zero in a line."""
    rising = max(1, round(total * warmup))
    if step < rising:
        return (step + 1) / rising
    return max(0.0, (total - step) / max(1, total - rising))


def _pieces(batch: List[int], size: int) -> Iterator[List[int]]:
    for start in range(0, len(batch), size):
        yield batch[start : start + size]


__all__ = ["Evaluation", "Loop", "params"]
