"""Cancelling a run on a host, wherever it is; nothing of it stays."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import relay
from lab import use_fakes, wait_for
from potato.store.training.runs import State
from ssh_scene import QUICK, Scene, jobs_there, scene, settings, ssh_lab
from sshd import ALIAS, Client, Host


@pytest.fixture
def cancelled(host: Host, client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Cancels a run once `when` says so; its log."""
    use_fakes(monkeypatch)

    def cancel(when: Callable[[Scene, str], None], params: dict[str, Any], **more: Any) -> str:
        with scene(ssh_lab(tmp_path / "lab", {ALIAS: settings(host, **more)}), QUICK) as made:
            run_id = made.submit(**params)
            when(made, run_id)
            made.supervisor.cancel(run_id)
            run = made.finished(run_id)
            assert run.state is State.CANCELLED, run.error
            wait_for(lambda: host.there.processes() == {} and client.living() == [] and jobs_there(host) == [])
            assert made.run().state is State.SUCCESS
            return made.log(run_id)

    yield cancel


def test_during_the_fit(cancelled: Any) -> None:
    cancelled(lambda lab, run_id: lab.trains(run_id), {"seconds": 300})


def test_a_worker_that_does_not_listen_and_its_children(cancelled: Any) -> None:
    cancelled(lambda lab, run_id: lab.trains(run_id), {"seconds": 300, "does": "deaf"})


def test_while_it_connects(cancelled: Any, host: Host) -> None:
    host.also(ALIAS, relay.option(seconds=3))
    cancelled(lambda lab, run_id: wait_for(lambda: "connecting" in lab.supervisor.get(run_id).step), {})
