"""A request for a run, and everything that can be wrong with it before anything is started."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from potato.errors import PotatoError
from potato.project import Project
from potato.training.backends import UnknownBackend, backend_type
from potato.training.bundle.media import reads_project
from potato.training.trainers import registry
from potato.training.trainers.base import ParamError, TrainerInfo


@dataclass(frozen=True)
class RunRequest:
    """What is to be trained. `schemas` None or empty is refused; `backend` None takes the project's default;
    `trigger` is `manual`, `api` or `auto`; `started_by` names the person. `train_share` below 1 asks for a point of the
    learning curve of the run `curve_of`: the same labels, of which only that share is trained on."""

    trainer: str
    schemas: Sequence[str]
    backend: str | None = None
    params: dict[str, Any] = field(default_factory=dict)
    trigger: str = "api"
    started_by: str | None = None
    train_share: float = 1.0
    curve_of: str | None = None


@dataclass(frozen=True)
class Order:
    """A request that holds: every name known, every param with its value, the schemes in the project's order."""

    info: TrainerInfo
    schemas: Sequence[str]
    params: dict[str, Any]
    backend: str
    backend_type: str


class UnknownTrainer(PotatoError):
    """No trainer of that name is installed."""

    code = "unknown_trainer"
    status = 400


class UnknownScheme(PotatoError):
    """The project has no scheme of that name, or none was named."""

    code = "unknown_scheme"
    status = 400


class BadParam(PotatoError):
    """A param that the trainer does not take, or a value out of its range."""

    code = "bad_param"
    status = 400


class TrainerDoesNotFit(PotatoError):
    """The trainer cannot learn this kind of scheme, or cannot run on that backend."""

    code = "trainer_does_not_fit"
    status = 400


def resolve(project: Project, request: RunRequest) -> Order:
    """The request as an order. Raises the errors above, or `UnknownBackend`."""
    info = trainer_info(request.trainer)
    schemas = _schemas(project, request.schemas)
    _fits_schemas(project, info, schemas)
    try:
        params = info.parse_params(request.params)
    except ParamError as error:
        raise BadParam(str(error)) from error
    name = request.backend if request.backend is not None else project.config.model_training.backend
    return Order(info, schemas, params, name, _fits_backend(project, info, name))


def trainer_info(name: str) -> TrainerInfo:
    """The metadata of the trainer of that name. Raises `UnknownTrainer`."""
    try:
        return registry.get(name).info
    except registry.UnknownTrainer as error:
        raise UnknownTrainer(str(error)) from error


def _schemas(project: Project, names: Sequence[str]) -> Sequence[str]:
    known = ", ".join(project.schemes)
    if not names:
        raise UnknownScheme(f"a run needs at least one scheme; the project has {known:.300}")
    for name in names:
        if name not in project.schemes:
            raise UnknownScheme(f"there is no scheme {name!r:.100}; the project has {known:.300}")
    return [name for name in project.schemes if name in names]


def _fits_schemas(project: Project, info: TrainerInfo, schemas: Sequence[str]) -> None:
    for name in schemas:
        kind = project.schemes[name].kind.value
        if kind not in info.kinds:
            raise TrainerDoesNotFit(
                f"trainer '{info.name}' does not fit scheme '{name}': it learns {', '.join(info.kinds)} schemes, "
                f"and this one is {kind}"
            )
    if not reads_project(info, project):
        raise TrainerDoesNotFit(
            f"trainer '{info.name}' learns from {' and '.join(f'{name}s' for name in info.modalities)}, "
            "which the project's items do not have"
        )


def _fits_backend(project: Project, info: TrainerInfo, name: str) -> str:
    type_ = backend_type(project, name)
    if type_ is None:
        raise UnknownBackend(name, project)
    if type_ not in info.backends:
        own = ", as it needs the server's own records" if info.calibrates_live else ""
        raise TrainerDoesNotFit(
            f"trainer '{info.name}' cannot run on '{name}' ({type_}); it runs on {', '.join(info.backends)}{own}"
        )
    return type_
