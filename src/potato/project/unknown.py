"""Keys that the project file does not take, and which key was meant."""

from __future__ import annotations

from functools import cache
from typing import get_args

from potato.model import Model
from potato.project.backends import AgentBackend, SlurmBackend, SshBackend
from potato.project.kinds import is_model, kind_of
from potato.project.models import ProjectFile
from potato.project.wording import near, nearest, one_of
from potato.schemes import SCHEME_TYPES

_WHY_NOT: dict[tuple[type[Model], str], str] = {
    (SlurmBackend, "gpus"): "the scheduler chooses the GPU; ask for one with `gres`",
    (SlurmBackend, "packages"): "install them into the environment of `job_python`",
}
_BACKENDS: dict[type[Model], str] = {
    SshBackend: "an ssh backend",
    SlurmBackend: "a slurm backend",
    AgentBackend: "an agent backend",
}
_SCHEMES: dict[type[Model], str] = {
    scheme: f"a {get_args(scheme.model_fields['annotation_type'].annotation)[0]} scheme" for scheme in SCHEME_TYPES
}


def about_unknown_key(model: type[Model], key: str, *, bare: bool = False) -> str:
    """The sentence about a key that `model` does not take, with the nearest key that exists.

    `bare` says that the key has no value, as `1` in `{gpus: 0,1}`.
    """
    start = f"unknown key `{' '.join(key.split())[:80]}`"
    if bare and key.isdigit():
        return f"{start}; between braces a comma ends a value, so put what holds a comma into quotes"
    for siblings in (_BACKENDS, _SCHEMES):
        if model in siblings and any(key in other.model_fields for other in siblings):
            return f"{start}; {siblings[model]} does not take it{_instead(model, key)}"
    if nearest(key, model.model_fields):
        return start + near(key, model.model_fields)
    if key in _elsewhere():
        return f"{start}; did you mean `{_elsewhere()[key]}`?"
    return start


def _instead(model: type[Model], key: str) -> str:
    if model is AgentBackend:
        return f": it takes {one_of(AgentBackend.model_fields)}"
    return f": {_WHY_NOT[model, key]}" if (model, key) in _WHY_NOT else ""


@cache
def _elsewhere() -> dict[str, str]:
    """Key → its full dotted path, of the blocks that stand once in a file."""
    found: dict[str, str] = {}
    _collect(ProjectFile, "", found)
    return found


def _collect(model: type[Model], prefix: str, found: dict[str, str]) -> None:
    for name, field in model.model_fields.items():
        found.setdefault(name, prefix + name)
        kind = kind_of(field.annotation).one
        if is_model(kind):
            _collect(kind, f"{prefix}{name}.", found)
