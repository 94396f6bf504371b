"""Errors that take more than one key to see."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from itertools import chain

from potato.project.finding import KeyPath, Problem
from potato.project.models import ProjectFile
from potato.project.project import Project
from potato.project.retraining import broken_retraining
from potato.project.scheme_rules import broken_schemes
from potato.project.wording import near, one_of, quoted
from potato.schemes import METRICS
from potato.schemes.keys import AUDIO_KEYS, IMAGE_KEYS

_TRAINING = "model_training"
_DATABASES = ("postgresql://", "postgres://", "postgresql+psycopg://", "sqlite:///")


def broken_rules(config: ProjectFile) -> list[Problem]:
    """What does not fit together in `config`, which may be a draft with neutral values in it."""
    return list(
        chain(
            _database(config),
            _backends(config),
            _scheme_references(config),
            _metrics(config),
            broken_schemes(config.annotation_schemes, _media_keys(config)),
            broken_retraining(config),
            _webhooks(config),
        )
    )


def missing_files(project: Project, faulty: Collection[KeyPath]) -> Iterator[Problem]:
    """The files and folders that the project names and that are not there."""
    if not project.task_dir.is_dir():
        yield Problem(("task_dir",), f"there is no folder {project.task_dir}")
        return
    for place, (name, path) in enumerate(zip(project.config.data_files, project.data_files, strict=True)):
        if ("data_files", place) not in faulty and name and not path.is_file():
            what = "is a folder, not a data file" if path.is_dir() else "there is no such file"
            yield Problem(("data_files", place), f"{what}: {path}")
    guidelines = project.config.guidelines
    if guidelines and not (project.task_dir / guidelines).is_file():
        yield Problem(("guidelines",), f"there is no such file: {project.task_dir / guidelines}")
    if project.output_dir.exists() and not project.output_dir.is_dir():
        yield Problem(("output_annotation_dir",), f"is a file, not a folder: {project.output_dir}")


def _database(config: ProjectFile) -> Iterator[Problem]:
    url = config.database_url.get_secret_value() if config.database_url else None
    if url is not None and not url.startswith(_DATABASES):
        yield Problem(("database_url",), "is no address of a PostgreSQL database: postgresql://user:password@host/name")


def _backends(config: ProjectFile) -> Iterator[Problem]:
    training = config.model_training
    for path, name in (
        ((_TRAINING, "backend"), training.backend),
        ((_TRAINING, "auto_retrain", "backend"), training.auto_retrain.backend),
    ):
        known = ["local", *training.backends]
        if name and name not in known:
            yield Problem(path, f"there is no backend {quoted(name)} under `{_TRAINING}.backends`{near(name, known)}")


def _scheme_references(config: ProjectFile) -> Iterator[Problem]:
    names = [scheme.name for scheme in config.annotation_schemes]
    training = config.model_training
    yield from _unknown((_TRAINING, "writeback", "schemas"), training.writeback.schemas, names)
    yield from _unknown((_TRAINING, "auto_retrain", "schemas"), training.auto_retrain.schemas, names)


def _metrics(config: ProjectFile) -> Iterator[Problem]:
    schemes = {scheme.name: scheme for scheme in config.annotation_schemes}
    for name, figure in config.model_training.metrics.items():
        path: KeyPath = (_TRAINING, "metrics", name)
        if name not in schemes:
            yield Problem(path, f"there is no annotation scheme {quoted(name)}{near(name, schemes)}")
        elif figure and figure not in (known := [one.name for one in METRICS[schemes[name].kind]]):
            yield Problem(path, f"models of {quoted(name)} are judged by {one_of(known)}, not by {quoted(figure)}")


def _webhooks(config: ProjectFile) -> Iterator[Problem]:
    seen: set[str] = set()
    for place, hook in enumerate(config.model_training.webhooks):
        path: KeyPath = (_TRAINING, "webhooks", place)
        if hook.secret is not None and hook.secret_env is not None:
            yield Problem((*path, "secret_env"), "stands beside `secret`; leave one of them out")
        if hook.url and hook.url in seen:
            yield Problem((*path, "url"), "is listed above already; put its events together")
        seen.add(hook.url)


def _unknown(path: KeyPath, wanted: Iterable[str], names: Collection[str]) -> Iterator[Problem]:
    for place, name in enumerate(wanted):
        if name and name not in names:
            yield Problem((*path, place), f"there is no annotation scheme {quoted(name)}{near(name, names)}")


def _media_keys(config: ProjectFile) -> frozenset[str]:
    """The keys of the page that its items' images and recordings take."""
    held = config.item_properties
    return (IMAGE_KEYS if held.image_key else frozenset()) | (AUDIO_KEYS if held.audio_key else frozenset())
