"""The backends of a project as the menu Runs on lists them."""

from __future__ import annotations

from dataclasses import dataclass

from potato.project import Project
from potato.project.backends import AgentBackend, Backend, SlurmBackend, SshBackend


@dataclass(frozen=True)
class BackendInfo:
    """One line of the menu."""

    name: str
    type: str
    host: str | None
    label: str
    description: str | None
    is_default: bool


def backend_type(project: Project, name: str) -> str | None:
    """The type of the backend of that name; None where the project has none."""
    if name == "local":
        return "local"
    backend = project.config.model_training.backends.get(name)
    return backend.type if backend is not None else None


def describe(project: Project) -> list[BackendInfo]:
    """Every backend of the project: the default first, then in the project's order, `local` last."""
    default = project.config.model_training.backend
    entries = [_info(name, backend, default) for name, backend in project.config.model_training.backends.items()]
    entries.append(BackendInfo("local", "local", None, "local (this machine)", None, default == "local"))
    return sorted(entries, key=lambda entry: not entry.is_default)


def _info(name: str, backend: Backend, default: str) -> BackendInfo:
    host = None if isinstance(backend, AgentBackend) else backend.host
    return BackendInfo(
        name,
        backend.type,
        host,
        f"{name} ({_way(backend)})",
        backend.description,
        default == name,
    )


def _way(backend: Backend) -> str:
    if isinstance(backend, SshBackend):
        return f"ssh to {backend.host}"
    if isinstance(backend, SlurmBackend):
        return f"slurm via {backend.host}"
    return "agent"
