"""The block `model_training`."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, SecretStr, model_validator

from potato.model import Model, Text
from potato.project.backends import Backend, BackendName
from potato.project.webhooks import EventName
from potato.project.wording import quoted


def _device(text: str) -> str:
    if not re.fullmatch(r"auto|cpu|cuda|cuda:[0-9]{1,4}|mps", text):
        raise ValueError(f"must be `auto`, `cpu`, `cuda`, `cuda:N` or `mps`, not {quoted(text)}")
    return text


def _web_address(text: str) -> str:
    if not re.fullmatch(r"https?://[^\s/]\S*", text):
        raise ValueError("must be an address that begins with http:// or https://")
    return text


class Splits(Model):
    """The shares of the items that are trained on, used to choose the model, and held out. They add up to 1."""

    train: float = Field(default=0.7, gt=0, le=1)
    """Share trained on."""
    val: float = Field(default=0.15, ge=0, lt=1)
    """Share that chooses the model."""
    test: float = Field(default=0.15, ge=0, lt=1)
    """Share that the shown score is measured on."""

    @model_validator(mode="after")
    def _whole(self) -> Splits:
        total = self.train + self.val + self.test
        if abs(total - 1) > 1e-6:
            raise ValueError(f"train, val and test must add up to 1, not to {total:g}")
        return self


class Writeback(Model):
    """Which predictions become pre-labels."""

    schemas: list[Text] = []
    """The schemes whose predictions are shown; none: training never changes what annotators see."""
    include_unlabeled: bool = False
    """Predict every unlabelled item too."""
    min_confidence: float = Field(default=0.0, ge=0, le=1)
    """Predictions below this are not shown."""
    min_score: float | None = None
    """Nothing of a run is shown whose held-out score does not reach this."""
    max_drop: float | None = Field(default=None, ge=0)
    """A new model may be this much worse than the live one on the held-out items that both share, and no more."""
    hide_share: float = Field(default=0.0, ge=0, le=1)
    """Share of the items whose suggestion is hidden, so that the suggestion's pull can be measured."""


class AutoRetrain(Model):
    """Start a run by itself when enough has changed."""

    enabled: bool = False
    """Whether runs start by themselves."""
    trainer: Text = "sklearn-text"
    """The trainer."""
    schemas: list[Text] = []
    """The schemes to train."""
    params: dict[str, Any] = {}
    """The trainer's params."""
    update_frequency: int = Field(default=25, ge=1)
    """New annotations since the last run."""
    min_interval_s: float = Field(default=600, ge=0)
    """Seconds since the last run ended."""
    backend: Text | None = None
    """Where; `model_training.backend` when left out."""


class Webhook(Model):
    """An address that is told of run and pre-label events."""

    url: Annotated[str, AfterValidator(_web_address)]
    """Where the event is sent by POST."""
    events: list[EventName] = []
    """The events to send; all when empty."""
    secret: SecretStr | None = None
    """The key of the signature header."""
    secret_env: Text | None = None
    """The environment variable that holds this key, so that it need not stand in the project file."""


class ModelTraining(Model):
    """Training models on the project's labels."""

    enabled: bool = False
    """The training page, its API and the run queue."""
    backend: Text = "local"
    """The default backend."""
    backends: dict[BackendName, Backend] = {}
    """Name → backend, each with `type: ssh`, `slurm` or `agent`."""
    max_wall_seconds: float | None = Field(default=None, gt=0)
    """A run not finished by then is stopped, on every backend."""
    grace_seconds: float = Field(default=20, ge=0)
    """Seconds from SIGTERM to SIGKILL."""
    device: Annotated[str, AfterValidator(_device)] = "auto"
    """Local runs: `auto`, `cpu`, `cuda`, `cuda:N` or `mps`."""
    num_threads: int | None = Field(default=None, ge=1)
    """OMP, MKL and OpenBLAS threads of local runs; all cores but one when left out."""
    max_ram_mb: int | None = Field(default=None, ge=1)
    """Memory cap of local runs."""
    max_predictions_mb: int = Field(default=512, ge=1)
    """A larger predictions file fails the run."""
    retain_runs: int = Field(default=5, ge=0)
    """Older finished runs lose their files; one whose predictions are live, or whose model was published, is kept."""
    splits: Splits = Splits()
    """How items are divided."""
    split_seed: int = 0
    """Another seed divides them otherwise."""
    aggregation: Literal["consensus", "majority"] = "consensus"
    """How several annotators' labels become one: Dawid-Skene `consensus`, or `majority`."""
    metrics: dict[Text, Text] = {}
    """Scheme → the figure that its models are judged by: shown first, and what `min_score` and `max_drop` go by."""
    writeback: Writeback = Writeback()
    """Which predictions become pre-labels."""
    auto_retrain: AutoRetrain = AutoRetrain()
    """Runs that start by themselves."""
    webhooks: list[Webhook] = []
    """Addresses that are told of run and pre-label events."""
