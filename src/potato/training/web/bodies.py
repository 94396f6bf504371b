"""What the training API takes and answers, as typed models: one source for parsing, for the pages and for OpenAPI."""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

Name = Annotated[str, StringConstraints(min_length=1, max_length=200)]

State = Literal["queued", "building", "running", "evaluating", "success", "error", "cancelled"]


class Request(BaseModel):
    """What a client sends: closed, and without conversion of types."""

    model_config = ConfigDict(extra="forbid", strict=True, use_attribute_docstrings=True)

    @model_validator(mode="before")
    @classmethod
    def _plain_json(cls, value: Any) -> Any:
        """Python's JSON reader lets through what JSON has not, and what could never be answered or stored."""
        _refuse_oddities(value)
        return value


def _refuse_oddities(value: Any) -> None:
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError("NaN and infinities are no JSON numbers")
    if isinstance(value, str) and not _is_text(value):
        raise ValueError("a text holds half a character (a lone surrogate)")
    if isinstance(value, dict):
        for key, entry in value.items():
            _refuse_oddities(key)
            _refuse_oddities(entry)
    elif isinstance(value, list):
        for entry in value:
            _refuse_oddities(entry)


def _is_text(value: str) -> bool:
    return not any("\ud800" <= char <= "\udfff" for char in value)


class Body(BaseModel):
    """What the server answers. Clients must bear further fields."""

    model_config = ConfigDict(extra="allow", use_attribute_docstrings=True)


class NewRun(Request):
    """A run to start."""

    trainer: Name
    """The trainer's name, of `GET trainers`."""
    schemas: list[Name] = Field(min_length=1, max_length=100)
    """The schemes to train, each of a kind that the trainer takes."""
    backend: Name | None = None
    """Where; the project's default backend when left out."""
    params: dict[Name, Any] = Field(default={}, max_length=100)
    """The trainer's params; its defaults stand for what is left out."""


class CheckRequest(Request):
    """What to ask a backend."""

    trainer: Name | None = None
    """Whether this trainer could run there; any trainer when left out."""


class ErrorBody(BaseModel):
    """The one shape of every error."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    error: str
    """What is wrong, in a sentence."""
    code: str
    """Stable, for programs."""
    hint: str | None = None
    """What to do about it, where there is something."""


class RunError(Body):
    """Why a run failed."""

    code: str
    message: str
    hint: str | None = None


class Progress(Body):
    """How far the present phase is."""

    phase: str
    current: int
    total: int
    eta_s: float | None = None
    """Seconds left in the phase, estimated."""


class RunBody(Body):
    """One run, as far as it has come. Times are UTC, ISO 8601."""

    run_id: str
    state: State
    step: str
    """What it is doing, in one short sentence."""
    trainer: str
    schemas: list[str]
    params: dict[str, Any]
    trigger: str
    """`manual`, `api` or `auto`."""
    started_by: str | None = None
    backend: str
    backend_type: str
    host: str | None = None
    device: str | None = None
    created_at: str
    started_at: str | None = None
    finished_at: str | None = None
    counts: dict[str, int]
    """Items a split, and to predict."""
    progress: Progress | None = None
    scores: dict[str, Any]
    """By scheme: the server's own figures on `test` and `val`, the baseline, the annotators' agreement."""
    writeback: dict[str, Any] | None = None
    """What became of the predictions: read, written, and skipped by each gate."""
    model_version: str | None = None
    artifact_uri: str | None = None
    error: RunError | None = None
    warnings: list[str] = []
    live_schemas: list[str] = []
    """The schemes whose pre-labels are this run's at present."""
    train_share: float = 1.0
    """Below 1 for a point of a learning curve."""
    curve_of: str | None = None
    """The run whose learning curve this is a point of."""
    live_prelabels: int = 0
    """How many of its pre-labels annotators may see."""


class Accepted(Body):
    """The run is in the queue."""

    run_id: str
    state: State


class CurveAccepted(Body):
    """The missing points of a learning curve are in the queue."""

    curve_of: str
    runs: list[str]
    """Their run ids, by growing share of the training split."""


class HeldOutItem(Body):
    """A test item with people's answer and the run's."""

    item: int
    """Its place in the project: the item's page is `/admin/items/<item>`."""
    id: str
    text: str
    """The beginning of it."""
    target: Any
    """People's answer."""
    said: Any
    """The run's."""
    off: float
    """How far apart they are; 0 is right."""
    confidence: float | None = None


class HeldOutItems(Body):
    """Some test items of a run."""

    run_id: str
    scheme: str
    count: int
    """How many there are in all."""
    items: list[HeldOutItem]
    next: int | None = None
    """Pass it as `offset` for the next page; null on the last."""


class ComparedScheme(Body):
    """Two runs on the test items of one scheme that were held out from both."""

    items: int
    differing: int
    """Items that the two answer differently."""
    name: str
    """The figure."""
    better: Literal["higher", "lower"]
    one: float | None = None
    other: float | None = None
    difference: float | None = None
    """The one's figure less the other's."""
    interval: list[float] | None = None
    """Of the difference, 95 %."""
    reason: str | None = None
    """Why there is no interval."""
    differ: list[dict[str, Any]]
    """Up to 50 items that they answer differently: those first where one is right, or nearer."""


class Compared(Body):
    """Two runs compared."""

    one: str
    other: str
    schemas: dict[str, ComparedScheme]


class Runs(Body):
    """One page of runs, newest first."""

    runs: list[RunBody]
    next: str | None = None
    """Pass it as `before` for the next page; null on the last."""


class Event(Body):
    """One line of the run's journal with the event's own fields beside these."""

    offset: int
    """Bytes of the journal up to the end of this line: pass it as `after` to go on from here."""
    event: Literal["status", "progress", "metric", "log", "artifact", "result", "error"]
    t: float
    """Seconds since the epoch, by the worker's clock."""


class Events(Body):
    """Some of a run's events, oldest first."""

    events: list[Event]
    next: int
    """Pass it as `after` to go on."""
    more: bool
    """Whether more lies ready now."""


class Curve(Body):
    """One metric over the steps of training."""

    scheme: str | None = None
    split: str
    name: str
    points: list[tuple[float, float | None]]
    """`[step, value]`, thinned out evenly where there are very many."""


class Curves(Body):
    """Every curve of a run so far."""

    curves: list[Curve]
    next: int
    """The journal's offset that they reflect: stream on from there."""


class Withdrawn(Body):
    """The pre-labels of the run are no longer shown."""

    run_id: str
    withdrawn: int
    """How many were shown until now."""


class BackendBody(Body):
    """A place where runs execute."""

    name: str
    type: Literal["local", "ssh", "slurm", "agent"]
    host: str | None = None
    label: str
    """As the menu Runs on shows it."""
    default: bool
    """Whether runs go there unless they say otherwise."""


class Backends(Body):
    """Every backend of the project."""

    backends: list[BackendBody]


class CheckBody(Body):
    """Whether a run could start there now."""

    backend: str
    ok: bool
    lines: list[str]
    """The report, as `potato training check` prints it."""


class ParamBody(Body):
    """One setting of a trainer."""

    name: str
    type: Literal["int", "float", "bool", "text", "choice"]
    default: Any
    help: str
    minimum: float | None = None
    maximum: float | None = None
    choices: list[str] = []


class TrainerBody(Body):
    """A trainer, from its metadata alone."""

    name: str
    summary: str
    kinds: list[str]
    modalities: list[str]
    backends: list[str]
    """The backend types that it can run on."""
    packages: list[str]
    installed: bool
    """Whether this server's interpreter finds its packages."""
    install_command: str
    licence: str
    min_train_items: int
    params: list[ParamBody]
    fits: list[str]
    """The project's schemes that it can train."""


class Trainers(Body):
    """Every trainer that this server knows."""

    trainers: list[TrainerBody]


class SchemeBody(Body):
    """An annotation scheme and what there is to train on."""

    name: str
    kind: str
    annotation_type: str
    description: str
    labels: list[str]
    labelled_items: int
    trainers: list[str]
    """The trainers that take it."""
    writeback: bool
    """Whether its predictions may become pre-labels."""
    live_run: str | None = None
    """The run whose pre-labels are shown."""


class Schemes(Body):
    """The project's annotation schemes."""

    schemas: list[SchemeBody]


class Status(Body):
    """What is going on now."""

    current: RunBody | None = None
    """The run that executes."""
    queue: list[RunBody]
    """Those that wait, first first."""
    last_ended: str | None = None
    """The id of the run that ended last."""
