"""What works, and is likely not what was meant. Nothing here stops the server."""

from __future__ import annotations

import os
from collections.abc import Iterator
from ipaddress import ip_network
from itertools import chain

from potato.project import slurm_time
from potato.project.backends import SlurmBackend, SshBackend
from potato.project.finding import Finding, KeyPath, Problem, Severity, dotted
from potato.project.models import ProjectFile
from potato.project.places import line_of
from potato.project.predictions_size import megabytes
from potato.project.project import Project

_LOOPBACK = ("127.", "::1", "localhost")
_LONG_SECONDS = 6 * 3_600
_TRAINING = "model_training"


def warnings(project: Project, host: str | None = None, *, items: int | None = None) -> list[Finding]:
    """Everything worth a warning, in the order of the file.

    `host` is the address that the server will listen on, where one starts; `items` the number of items, where
    somebody has counted them. What depends on either is only told when it is known.
    """
    config = project.config
    problems = chain(
        _open_to_others(config, host),
        _debug(config),
        _long_jobs(config),
        _literal_variables(config),
        _writeback(config),
        _many_predictions(config, items),
        _retraining(config),
        _assignment(config),
        _proxies(config),
        _twice(project),
    )
    found = [_finding(project, problem) for problem in problems]
    return sorted(found, key=lambda finding: finding.line)


def _finding(project: Project, problem: Problem) -> Finding:
    path = dotted(problem.path)
    line = line_of(project.lines, problem.path)
    return Finding(Severity.WARNING, project.name, line, path, f"{path} {problem.message}")


def _open_to_others(config: ProjectFile, host: str | None) -> Iterator[Problem]:
    key = config.admin_api_key
    if host is None or host.startswith(_LOOPBACK):
        return
    if key is not None and key.get_secret_value() == "change-me":
        yield Problem(
            ("admin_api_key",), f"is still change-me while the server listens on {host}, where others reach it"
        )


def _debug(config: ProjectFile) -> Iterator[Problem]:
    reached = [name for name, b in config.model_training.backends.items() if isinstance(b, (SshBackend, SlurmBackend))]
    if config.debug and reached:
        yield Problem(
            ("debug",),
            f"is true beside the backend {', '.join(reached)}. Requests from this machine then have admin rights;"
            " leave it off where runs go to machines that others use",
        )


def _long_jobs(config: ProjectFile) -> Iterator[Problem]:
    for name, backend in config.model_training.backends.items():
        if isinstance(backend, SlurmBackend) and backend.time is not None:
            seconds = slurm_time.seconds(backend.time)
            if seconds is not None and (seconds > _LONG_SECONDS or seconds == 0):
                yield Problem(
                    (_TRAINING, "backends", name, "time"),
                    f"is {backend.time}. A job that holds a GPU for more than 6 hours is long on a shared cluster;"
                    " check its policy",
                )


def _literal_variables(config: ProjectFile) -> Iterator[Problem]:
    for name, backend in config.model_training.backends.items():
        if isinstance(backend, (SshBackend, SlurmBackend)) and "$" in backend.remote_dir:
            path: KeyPath = (_TRAINING, "backends", name, "remote_dir")
            yield Problem(
                path, f"is {backend.remote_dir}. No shell reads it, so `$` stays as it is; write the folder out"
            )


def _writeback(config: ProjectFile) -> Iterator[Problem]:
    block = config.model_training.writeback
    path: KeyPath = (_TRAINING, "writeback")
    if not block.schemas and "min_confidence" in block.model_fields_set:
        yield Problem((*path, "min_confidence"), "has no effect without writeback.schemas: no prediction is shown")
    if block.schemas and not block.include_unlabeled:
        yield Problem(
            (*path, "schemas"),
            "has no effect without include_unlabeled: true. Suggestions go to unlabelled items, and none is predicted",
        )
    if block.schemas and block.min_score is not None and config.model_training.splits.test == 0:
        yield Problem((*path, "min_score"), "can never be reached: splits.test is 0, so there is no held-out score")
    if block.schemas and block.hide_share == 1:
        yield Problem((*path, "hide_share"), "is 1, so every suggestion is hidden")


def _many_predictions(config: ProjectFile, items: int | None) -> Iterator[Problem]:
    training = config.model_training
    if items is None or not training.enabled or not training.writeback.include_unlabeled:
        return
    size = megabytes(config, items)
    if size > training.max_predictions_mb:
        yield Problem(
            (_TRAINING, "writeback", "include_unlabeled"),
            f"is true over {items:,} items, whose predictions take about {size:,.0f} MB. More than max_predictions_mb"
            f" ({training.max_predictions_mb}) fails the run; raise it",
        )


def _retraining(config: ProjectFile) -> Iterator[Problem]:
    training = config.model_training
    path: KeyPath = (_TRAINING, "auto_retrain")
    if training.auto_retrain.enabled and not training.enabled:
        yield Problem((*path, "enabled"), "has no effect while model_training.enabled is false")
    if training.auto_retrain.enabled and not training.auto_retrain.schemas:
        yield Problem((*path, "schemas"), "is empty, so no run is ever started")


def _assignment(config: ProjectFile) -> Iterator[Problem]:
    if config.assignment_strategy != "uncertainty":
        return
    writeback = config.model_training.writeback
    lacks = [
        name
        for name, there in (
            ("model_training.enabled: true", config.model_training.enabled),
            ("writeback.schemas", bool(writeback.schemas)),
            ("writeback.include_unlabeled: true", writeback.include_unlabeled),
        )
        if not there
    ]
    if lacks:
        yield Problem(
            ("assignment_strategy",),
            f"is uncertainty, and without {' and '.join(lacks)} no model says what it is unsure of: items come at"
            " random",
        )


def _proxies(config: ProjectFile) -> Iterator[Problem]:
    for place, network in enumerate(config.login.trusted_proxies):
        if config.login.type == "header" and ip_network(network, strict=False).prefixlen == 0:
            yield Problem(
                ("login", "trusted_proxies", place),
                f"is {network}, which is every address there is: anyone can sign in as anyone",
            )


def _twice(project: Project) -> Iterator[Problem]:
    seen: set[str] = set()
    for place, (name, path) in enumerate(zip(project.config.data_files, project.data_files, strict=True)):
        where = os.path.normpath(path)
        if name and where in seen:
            yield Problem(("data_files", place), f"is {name}, which is listed above already")
        seen.add(where)
