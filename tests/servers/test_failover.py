"""The server that supervises is killed in the middle of runs that go elsewhere: each ends once, under the next one."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent_scene import BACKEND, agent
from lab import Lab, wait_for
from potato.store.training import predictions
from potato.training.agents.tokens import register
from potato.training.runs.folder import RunFolder
from several import Member, members
from slurm_house import CLUSTER, backend, behind, login_node
from ssh_scene import jobs_there, settings
from sshd import Host

HOST = "host"


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch) -> Iterator[Host]:
    """A GPU host, and the login node of a cluster."""
    with login_node(monkeypatch) as made:
        yield made


@pytest.fixture
def lab(tmp_path: Path, postgres_url: str, host: Host) -> Iterator[Lab]:
    """A labelled project in PostgreSQL, with a backend of each kind."""
    with behind(host) as cluster:
        backends = {
            BACKEND: {"type": "agent", "heartbeat_timeout_s": 30},
            HOST: settings(host),
            CLUSTER: backend(host, cluster),
        }
        training = {"backends": backends, "num_threads": 1, "writeback": {"schemas": ["sentiment"]}}
        made = Lab(tmp_path / "lab", database_url=postgres_url, model_training=training)
        made.label_alternately()
        yield made
        made.database.close()


def begun(member: Member, backend: str, until: str) -> str:
    """A run that trains until that file is there, as soon as it does; its id."""
    run_id = member.submit(backend, until=until)
    wait_for(lambda: member.in_state(run_id, "building", "running")["device"])
    return run_id


def ended_once(lab: Lab, member: Member, run_id: str) -> None:
    """What must hold of the run in the end."""
    run = member.in_state(run_id, "success")
    assert run["attempt"] == 1
    folder = RunFolder.of(lab.project, run_id)
    assert folder.events.read_bytes().count(b'"state":"starting"') == 1
    assert folder.log.read_text("utf-8").count("the run has finished") == 1
    with lab.database.read() as connection:
        assert predictions.count(connection, run_id) == run["writeback"]["read"] > 0


def test_runs_elsewhere_go_on_under_the_next_server(lab: Lab, host: Host, tmp_path: Path) -> None:
    file = lab.folder / "config.yaml"
    here, there = tmp_path / "go on", f"{host.there.account.home}/go-on"
    with contextlib.ExitStack() as others, members(file) as (first, second):
        with agent(second.url, register(lab.project, BACKEND), tmp_path / "agent", program="quick_agent"):
            run_id = begun(first, BACKEND, str(here))
            first.kill()
            wait_for(lambda: second.supervises)
            here.touch()
            ended_once(lab, second, run_id)
        for name in (HOST, CLUSTER):
            last = Member(file)
            others.callback(last.close)
            wait_for(lambda member=last: member.health().get("elected"))
            run_id = begun(last, name, there)
            second.kill()
            wait_for(lambda member=last: member.supervises)
            host.there.run("touch", there, user=True)
            ended_once(lab, last, run_id)
            host.there.run("rm", there, user=True)
            wait_for(lambda: jobs_there(host) == [])
            second = last
