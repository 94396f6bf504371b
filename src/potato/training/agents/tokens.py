"""Issuing an agent backend's token."""

from __future__ import annotations

import secrets

from potato.errors import PotatoError
from potato.project import Project
from potato.project.backends import AgentBackend
from potato.store import Database
from potato.store.clock import Clock, to_text, utc_now
from potato.store.training import agents


class NotAnAgentBackend(PotatoError):
    """Tokens are for backends with `type: agent`."""

    code = "not_an_agent_backend"
    status = 409

    def __init__(self, name: str, project: Project) -> None:
        backends = project.config.model_training.backends.items()
        there = ", ".join(name for name, backend in backends if isinstance(backend, AgentBackend)) or "none"
        super().__init__(
            f"The project has no agent backend {name!r:.100}; its agent backends: {there:.300}",
            hint="add one under model_training.backends with `type: agent`",
        )


def register(project: Project, name: str, clock: Clock = utc_now) -> str:
    """A new token for the backend, which ends an earlier one at once; the store keeps its hash alone.

    Raises `NotAnAgentBackend`.
    """
    if not isinstance(project.config.model_training.backends.get(name), AgentBackend):
        raise NotAnAgentBackend(name, project)
    token = secrets.token_urlsafe(32)
    database = Database(project.database_url)
    try:
        database.migrate()
        with database.write() as connection:
            agents.issue(connection, name, token, to_text(clock()))
    finally:
        database.close()
    return token
