"""The addresses that are told. An address may itself be a secret: what names it elsewhere is a digest, or its host."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from potato.errors import PotatoError
from potato.project import Project
from potato.project.training import Webhook
from potato.project.webhooks import EVENTS, TEST


class NoSecret(PotatoError):
    """The environment lacks the secret that a webhook signs with."""

    code = "no_webhook_secret"
    status = 409

    def __init__(self, variable: str) -> None:
        super().__init__(
            f"the environment variable {variable} (secret_env) is not set, and nothing is sent unsigned",
            hint=f"set {variable} where the server is started",
        )


class UnknownWebhook(PotatoError):
    """The project has no webhook of that number."""

    code = "unknown_webhook"
    status = 404

    def __init__(self, number: int, count: int) -> None:
        super().__init__(f"There is no webhook {number}; the project has {count}")


@dataclass(frozen=True)
class Hook:
    """One address. `number` is its place in the project file, from 1; `key` names it in the store."""

    number: int
    url: str = field(repr=False)
    events: frozenset[str]
    key: str
    address: str
    """What people are shown: where it leads, without what may be secret in it."""
    settings: Webhook = field(repr=False)

    def takes(self, event: str) -> bool:
        """Whether it wants to be told of that event."""
        return event == TEST or event in self.events

    @property
    def is_signed(self) -> bool:
        """Whether what it is told carries a signature."""
        return self.settings.secret is not None or self.settings.secret_env is not None

    def secret(self) -> bytes | None:
        """What it signs with; None where it does not. Raises `NoSecret`."""
        if self.settings.secret is not None:
            return self.settings.secret.get_secret_value().encode()
        variable = self.settings.secret_env
        if variable is None:
            return None
        value = os.environ.get(variable)
        if not value:
            raise NoSecret(variable)
        return value.encode()


def hooks_of(project: Project) -> list[Hook]:
    """The project's webhooks, in its order; none where training is off."""
    training = project.config.model_training
    return [_hook(number, entry) for number, entry in enumerate(training.webhooks, 1)] if training.enabled else []


def hook_of(project: Project, number: int) -> Hook:
    """The webhook of that number. Raises `UnknownWebhook`."""
    hooks = hooks_of(project)
    if not 1 <= number <= len(hooks):
        raise UnknownWebhook(number, len(hooks))
    return hooks[number - 1]


def _hook(number: int, entry: Webhook) -> Hook:
    parts = urlsplit(entry.url)
    rest = "/…" if parts.path.strip("/") or parts.query else ""
    shown = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{rest}"
    key = hashlib.sha256(entry.url.encode()).hexdigest()[:32]
    return Hook(number, entry.url, frozenset(entry.events or EVENTS), key, shown, entry)
