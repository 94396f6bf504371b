"""What a trainer is: metadata that costs nothing to read, and methods that import its library when they are called."""

import math
import os
import sys
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Callable, Dict, Iterable, Iterator, Optional, Sequence, Tuple

from potato.training.contract.bundle import BundleItem, SchemaInfo
from potato.training.contract.predictions import Prediction


class TrainerError(Exception):
    """The trainer cannot go on; `code` is stable, the sentence says what to do."""

    def __init__(self, message: str, code: str = "trainer_failed") -> None:
        super().__init__(message)
        self.code = code


class Cancelled(BaseException):
    """The run was cancelled. Not an `Exception`, so that no library takes it for a failure of its own."""


class ParamError(ValueError):
    """A param that the trainer does not take, or a value that the param does not."""


class PackageNeeded(ImportError):
    """A package that not every run of the trainer needs, and that this one does; `pip` is what pip installs."""

    def __init__(self, message: str, pip: str) -> None:
        super().__init__(message)
        self.pip = pip


@dataclass(frozen=True)
class Param:
    """One setting of a trainer. `type` is `int`, `float`, `bool`, `text` or `choice`; limits are inclusive."""

    name: str
    type: str
    default: Any
    help: str
    minimum: Optional[float] = None
    maximum: Optional[float] = None
    choices: Tuple[str, ...] = ()
    folder: bool = False
    """Whether the text may name a folder; a relative one is meant from the project's folder."""

    def parse(self, value: Any) -> Any:
        """`value` in the param's type. Raises `ParamError` with a sentence."""
        if value is None and self.default is None:
            return None
        parsed = self._typed(value)
        if self.choices and parsed not in self.choices:
            raise ParamError("param '%s' is one of %s, not %.80r" % (self.name, ", ".join(self.choices), value))
        if self.minimum is not None and parsed < self.minimum:
            raise ParamError("param '%s' is at least %s, not %.80r" % (self.name, _plain(self.minimum), value))
        if self.maximum is not None and parsed > self.maximum:
            raise ParamError("param '%s' is at most %s, not %.80r" % (self.name, _plain(self.maximum), value))
        return parsed

    def _typed(self, value: Any) -> Any:
        if self.type == "bool" and isinstance(value, bool):
            return value
        if self.type == "int" and isinstance(value, int) and not isinstance(value, bool):
            return value
        if self.type == "float" and isinstance(value, (int, float)) and not isinstance(value, bool):
            number = _as_float(value)
            if not math.isfinite(number):
                raise ParamError("param '%s' is a number, not %.80r" % (self.name, value))
            return number
        if self.type in ("text", "choice") and isinstance(value, str):
            return value
        names = {
            "int": "a whole number",
            "float": "a number",
            "bool": "true or false",
            "text": "text",
            "choice": "text",
        }
        raise ParamError("param '%s' is %s, not %.80r" % (self.name, names[self.type], value))


def _as_float(number: float) -> float:
    try:
        return float(number)
    except OverflowError:  # a whole number of more than 308 digits
        return math.inf


def _plain(number: float) -> str:
    return "%g" % number


@dataclass(frozen=True)
class Requirement:
    """A package: the module that is imported, and what pip installs."""

    module: str
    pip: str


@dataclass(frozen=True)
class TrainerInfo:
    """What is known of a trainer before any of its libraries is imported."""

    name: str
    summary: str
    kinds: Tuple[str, ...]
    modalities: Tuple[str, ...]
    requires: Tuple[Requirement, ...]
    licence: str
    params: Tuple[Param, ...]
    extra: str = ""
    """The extra of `potato-annotation` that installs the packages; empty: always there."""
    fine_tunes: bool = False
    """Whether it fine-tunes a transformer, which is slow on a CPU."""
    min_train_items: int = 2
    backends: Tuple[str, ...] = ("local", "ssh", "slurm", "agent")
    """The backend types that it can run on."""
    calibrates_live: bool = False
    """Whether it learns nothing of its own, but from what the live model said and what became of it."""

    def parse_params(self, raw: Dict[str, Any]) -> Dict[str, Any]:
        """Every param with its value or default. Raises `ParamError` for an unknown name or a bad value."""
        known = {param.name: param for param in self.params}
        for name in raw:
            if name not in known:
                raise ParamError("trainer '%s' has no param '%s'; it takes %s" % (self.name, name, ", ".join(known)))
        return {name: param.parse(raw[name]) if name in raw else param.default for name, param in known.items()}

    def resolve_folders(self, params: Dict[str, Any], project_folder: str) -> Dict[str, Any]:
        """`params` with relative folders that exist under `project_folder` made absolute."""
        resolved = dict(params)
        for param in self.params:
            value = resolved.get(param.name)
            if param.folder and isinstance(value, str) and value:
                path = os.path.join(project_folder, os.path.expanduser(value))
                resolved[param.name] = os.path.abspath(path) if os.path.isdir(path) else value
        return resolved

    def install_command(self, python: str = "") -> str:
        """What to run so that `python` (default: this interpreter) has the packages."""
        return install_command([requirement.pip for requirement in self.requires], python)


def install_command(packages: Sequence[str], python: str = "") -> str:
    """What to run so that `python` (default: this interpreter) has these packages."""
    return "%s -m pip install %s" % (python or sys.executable, " ".join(_quoted(name) for name in packages))


def _quoted(requirement: str) -> str:
    return "'%s'" % requirement if any(char in requirement for char in "<>[];") else requirement


@dataclass
class Task:
    """One scheme to train, with what the worker provides.

    `train` and `val` hold items that have a target for the scheme. `params` are parsed: every one is there.
    `progress(phase, current, total)`, `metric(split, name, value, step, ...)` and `log(level, msg)` append events;
    `should_stop` is looked at every few steps. `device` is resolved: `cpu`, `cuda:N` or `mps`. `artifact_dir` is a
    folder for the trainer's own use while it fits, deleted afterwards; `media_dir` is where the files are that items'
    `media` name.
    """

    schema: SchemaInfo
    train: Sequence[BundleItem]
    val: Sequence[BundleItem]
    params: Dict[str, Any]
    seed: int
    device: str
    artifact_dir: str
    run_id: str
    project: str
    bundle_digest: str
    num_threads: Optional[int]
    should_stop: Callable[[], bool]
    progress: Callable[[str, int, int], None]
    metric: Callable[..., None]
    log: Callable[[str, str], None]
    media_dir: str = ""
    judged: Sequence[BundleItem] = ()
    """For a trainer that calibrates the live model: items without a label whose answer a reviewer has judged."""

    def check_stop(self) -> None:
        """Raise `Cancelled` when the run is to stop."""
        if self.should_stop():
            raise Cancelled


class Model(ABC):
    """A fitted model of one scheme."""

    @abstractmethod
    def save(self, folder: str) -> None:
        """Write it into the empty `folder`, so that its own library loads it."""

    @abstractmethod
    def predict(self, items: Iterable[BundleItem]) -> Iterator[Prediction]:
        """A prediction for each item, in order, in batches of a size that fits into memory."""

    def metrics(self) -> Dict[str, float]:
        """The trainer's own figures, kept beside the server's."""
        return {}

    def notes(self) -> Sequence[str]:
        """What people should know of the model, a sentence each."""
        return ()


class Trainer(ABC):
    """One way to make a model of labels. `info` is read without any library; `fit` imports what it needs."""

    info: TrainerInfo

    @abstractmethod
    def fit(self, task: Task) -> Model:
        """Train on `task.train`, choose by `task.val`. Raises `TrainerError`, `Cancelled`, or `ImportError`."""


__all__ = [
    "Cancelled",
    "Model",
    "PackageNeeded",
    "Param",
    "ParamError",
    "Requirement",
    "Task",
    "Trainer",
    "TrainerError",
    "TrainerInfo",
    "install_command",
]
