"""Hosts with a real sshd."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import sshd
from sshd import Client, Host


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> Iterator[Client]:
    """The ssh that this process, and those that it starts, find: the system's, with a configuration of the test's."""
    with sshd.client() as made:
        monkeypatch.setenv("PATH", made.path)
        yield made


@pytest.fixture
def hosts(client: Client) -> Iterator[Callable[..., Host]]:
    """Makes hosts, each with an alias, settings of sshd and a machine as wanted."""
    with contextlib.ExitStack() as stack:

        def make(**more: Any) -> Host:
            return stack.enter_context(sshd.host(client, **more))

        yield make


@pytest.fixture
def host(hosts: Callable[..., Host]) -> Host:
    """A usual host, known as `gpu-server`."""
    return hosts()
