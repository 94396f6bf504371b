"""Which class serves which type of backend. A new type is a file and a line here."""

from __future__ import annotations

from potato.project import Project
from potato.training.backends.base import Backend, BackendNotAvailable, UnknownBackend
from potato.training.backends.menu import AVAILABLE, backend_type


def open_backend(project: Project, name: str) -> Backend:
    """The project's backend of that name. Raises `UnknownBackend` and `BackendNotAvailable`."""
    type_ = backend_type(project, name)
    if type_ is None:
        raise UnknownBackend(name, project)
    if type_ not in AVAILABLE:
        raise BackendNotAvailable(name, type_)
    from potato.training.backends.local import LocalBackend

    return LocalBackend(project)
