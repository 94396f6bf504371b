"""What `auto_retrain` asks for must be something that a run can do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from potato.project.finding import KeyPath, Problem
from potato.project.models import ProjectFile
from potato.project.training import AutoRetrain
from potato.project.wording import near, one_of, quoted
from potato.schemes import Scheme
from potato.training.trainers import registry
from potato.training.trainers.base import ParamError, TrainerInfo

_PATH: KeyPath = ("model_training", "auto_retrain")


def broken_retraining(config: ProjectFile) -> Iterator[Problem]:
    """Errors of the block; nothing when it is not switched on."""
    block = config.model_training.auto_retrain
    if not block.enabled or not block.trainer:
        return
    if block.trainer not in registry.names():
        told = near(block.trainer, registry.names()) or f"; there are {one_of(registry.names())}"
        yield Problem((*_PATH, "trainer"), f"there is no trainer {quoted(block.trainer)}{told}")
        return
    try:
        info = registry.get(block.trainer).info
    except registry.UnknownTrainer as error:  # a third party's, registered and broken
        yield Problem((*_PATH, "trainer"), str(error))
        return
    yield from _params(block, info)
    yield from _kinds(block, info, config.annotation_schemes)
    yield from _place(config, info)


def _params(block: AutoRetrain, info: TrainerInfo) -> Iterator[Problem]:
    for name, value in block.params.items():
        try:
            info.parse_params({name: value})
        except ParamError as error:
            yield Problem((*_PATH, "params", name), str(error))


def _kinds(block: AutoRetrain, info: TrainerInfo, schemes: Sequence[Scheme]) -> Iterator[Problem]:
    kinds = {scheme.name: scheme.kind.value for scheme in schemes if type(scheme) is not Scheme}
    for place, name in enumerate(block.schemas):
        if name in kinds and kinds[name] not in info.kinds:
            yield Problem(
                (*_PATH, "schemas", place),
                f"trainer {quoted(info.name)} takes {one_of(info.kinds)}, and {quoted(name)} is {kinds[name]}",
            )


def _place(config: ProjectFile, info: TrainerInfo) -> Iterator[Problem]:
    training = config.model_training
    name = training.auto_retrain.backend or training.backend
    backend = training.backends.get(name)
    kind = "local" if name == "local" else getattr(backend, "type", None)
    if kind and kind not in info.backends:
        path = (*_PATH, "backend") if training.auto_retrain.backend else ("model_training", "backend")
        yield Problem(path, f"trainer {quoted(info.name)} cannot run on {quoted(name)}, which is of type {kind}")
