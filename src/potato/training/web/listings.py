"""The project's schemes and the known trainers, as the API and the form list them."""

from __future__ import annotations

import importlib.util
from typing import Any

from potato.project import Project
from potato.schemes import Scheme
from potato.store import Connection
from potato.store.annotations import labelled_items
from potato.store.training import predictions
from potato.training.bundle.media import reads_project
from potato.training.trainers import registry
from potato.training.trainers.base import Param, TrainerInfo


def trainer_list(project: Project) -> list[dict[str, Any]]:
    """Every trainer in the API's shape; imports no training library."""
    return [_trainer(info, project) for info in registry.infos()]


def scheme_list(connection: Connection, project: Project) -> list[dict[str, Any]]:
    """Every scheme in the API's shape, in the project's order."""
    counts, live = labelled_items(connection), predictions.live(connection)
    infos = registry.infos()
    return [
        {
            "name": name,
            "kind": scheme.kind.value,
            "annotation_type": scheme.annotation_type,
            "description": scheme.description,
            "labels": scheme.label_names(),
            "labelled_items": counts.get(name, 0),
            "trainers": [info.name for info in infos if _fits(info, scheme, project)],
            "writeback": name in project.config.model_training.writeback.schemas,
            "live_run": live.get(name),
        }
        for name, scheme in project.schemes.items()
    ]


def is_installed(info: TrainerInfo) -> bool:
    """Whether this interpreter finds the trainer's packages; looks for them without importing them."""
    return all(importlib.util.find_spec(need.module.partition(".")[0]) is not None for need in info.requires)


def _trainer(info: TrainerInfo, project: Project) -> dict[str, Any]:
    return {
        "name": info.name,
        "summary": info.summary,
        "kinds": list(info.kinds),
        "modalities": list(info.modalities),
        "backends": list(info.backends),
        "packages": [need.pip for need in info.requires],
        "installed": is_installed(info),
        "install_command": info.install_command(),
        "licence": info.licence,
        "fine_tunes": info.fine_tunes,
        "min_train_items": info.min_train_items,
        "params": [_param(param) for param in info.params],
        "fits": [name for name, scheme in project.schemes.items() if _fits(info, scheme, project)],
    }


def _fits(info: TrainerInfo, scheme: Scheme, project: Project) -> bool:
    return scheme.kind.value in info.kinds and reads_project(info, project)


def _param(param: Param) -> dict[str, Any]:
    return {
        "name": param.name,
        "type": param.type,
        "default": param.default,
        "help": param.help,
        "minimum": param.minimum,
        "maximum": param.maximum,
        "choices": list(param.choices),
    }
