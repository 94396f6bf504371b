"""The connection breaks, and the run goes on; nobody comes back, and nothing of it goes on."""

from __future__ import annotations

import base64
import os
import random
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import relay
from lab import Lab, Server, use_fakes, wait_for
from machines import Machine
from potato.store.training.runs import Run, State
from ssh_scene import QUICK, REMOTE_DIR, Scene, arrives, error, jobs_there, scene, settings, ssh_lab
from sshd import ALIAS, Client, Host

Make = Callable[..., Host]
FAULTS = int(os.environ.get("POTATO_FAULTS", "2"))
RATE = 300_000
"""Bytes a second: slow enough that a bundle and a model are on their way for seconds."""


def long_texts() -> list[dict[str, Any]]:
    """Items that a bundle cannot press together much."""
    made = random.Random(4)
    return [{"id": f"i{n}", "text": base64.b64encode(made.randbytes(15_000)).decode()} for n in range(60)]


class Break:
    """A way to break a connection, and to mend it."""

    def __init__(self, host: Host, client: Client) -> None:
        self.host = host
        self.client = client

    def begin(self, lab: Scene, run_id: str) -> None:
        """Break it."""

    def end(self, lab: Scene, run_id: str) -> None:
        """Mend it, once the break was noticed."""
        lab.says(run_id, "lost")


class SessionKilled(Break):
    """remote 28: sshd's part of the connection is killed."""

    def begin(self, lab: Scene, run_id: str) -> None:
        assert self.host.send(signal.SIGKILL)


class ClientKilled(Break):
    """remote 28: the ssh here is killed."""

    def begin(self, lab: Scene, run_id: str) -> None:
        assert self.client.send(signal.SIGKILL)


class ClientStopped(Break):
    """remote 26: the ssh here sleeps, as on a laptop whose lid is closed."""

    def begin(self, lab: Scene, run_id: str) -> None:
        assert self.client.send(signal.SIGSTOP)

    def end(self, lab: Scene, run_id: str) -> None:
        """Whoever still sleeps then awakes."""
        super().end(lab, run_id)
        self.client.send(signal.SIGCONT)


class PacketsLost(Break):
    """remote 26: nothing comes through any more, and nobody is told."""

    def begin(self, lab: Scene, run_id: str) -> None:
        assert self.host.cable is not None
        self.host.cable.cut()

    def end(self, lab: Scene, run_id: str) -> None:
        super().end(lab, run_id)
        assert self.host.cable is not None
        self.host.cable.mend()


class HostAway(Break):
    """Nobody can log in for a while, either."""

    def begin(self, lab: Scene, run_id: str) -> None:
        self.host.down()
        assert self.host.send(signal.SIGKILL)

    def end(self, lab: Scene, run_id: str) -> None:
        super().end(lab, run_id)
        self.host.up()


ANYWHERE = [SessionKilled, ClientStopped, PacketsLost]
OTHERWISE = [ClientKilled, HostAway]


def during_the_bundle(lab: Scene, run_id: str) -> None:
    wait_for(lambda: "bundle" in lab.supervisor.get(run_id).step and lab.supervisor.get(run_id).host, 60)


def during_the_fit(lab: Scene, run_id: str) -> None:
    lab.trains(run_id)


def during_the_copy(lab: Scene, run_id: str) -> None:
    arrives(lab, run_id)


PHASES = [during_the_bundle, during_the_fit, during_the_copy]


@pytest.mark.parametrize(
    ("kind", "phase"),
    [*((kind, phase) for kind in ANYWHERE for phase in PHASES), *((kind, during_the_fit) for kind in OTHERWISE)],
    ids=lambda one: one.__name__,
)
def test_a_run_outlives_a_break(
    kind: type[Break], phase: Any, hosts: Make, client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_fakes(monkeypatch)
    host = hosts(alias="far", machine=Machine(network=kind is PacketsLost))
    host.also(ALIAS, relay.option(rate=RATE))
    lab = ssh_lab(tmp_path / "lab", {ALIAS: settings(keep_remote=True)}, long_texts())
    with scene(lab, QUICK) as made:
        run_id = made.submit(seconds=2, weights=1)
        broken = kind(host, client)
        phase(made, run_id)
        broken.begin(made, run_id)
        broken.end(made, run_id)
        run = made.success(run_id)
        assert run.attempt == 1
        assert whole(made, host, run_id)
        assert host.log_ins() >= 2
    wait_for(lambda: host.there.processes() == {} and client.living() == [])


def whole(lab: Scene, host: Host, run_id: str) -> bool:
    """Whether the model here is byte for byte the one there."""
    names = ["model.txt", "weights-0.bin"]
    here = [(lab.folder(run_id).artifacts / "1-sentiment" / name).read_bytes() for name in names]
    (there,) = (host.home / REMOTE_DIR / "jobs" / run_id).glob("attempt-*/artifacts/1-sentiment")
    return here == [(there / name).read_bytes() for name in names]


# The server dies, and comes back or does not


@pytest.fixture
def servers() -> Iterator[Callable[[Lab], Server]]:
    """Starts servers in processes of their own."""
    started: list[Server] = []

    def start(lab: Lab) -> Server:
        started.append(Server(lab))
        return started[-1]

    yield start
    for server in started:
        server.kill()


def ended(lab: Lab, run_id: str, limit: float = 120) -> Run:
    """The run, once it has ended."""
    run: Run = wait_for(lambda: (found := lab.run(run_id)).is_finished and found, limit)
    return run


@pytest.fixture
def simple(host: Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Lab]:
    """Makes a lab with the usual host."""
    use_fakes(monkeypatch)

    def make(**more: Any) -> Lab:
        return ssh_lab(tmp_path / "lab", {ALIAS: settings(host, **more)})

    return make


def queue(lab: Lab, **params: Any) -> str:
    """A run in the queue of a server that is not there."""
    with lab.supervisor(start=False, tasks=False) as supervisor:
        return Scene(lab, supervisor).submit(**params)


def test_a_server_that_was_killed_takes_the_run_up_again(
    simple: Callable[..., Lab], host: Host, servers: Callable[[Lab], Server]
) -> None:
    """remote 50"""
    lab = simple()
    run_id = queue(lab, seconds=4)
    first = servers(lab)
    wait_for(lambda: lab.run(run_id).progress, 60)
    first.kill()
    assert any("worker" in line for line in host.there.processes().values())
    servers(lab)
    run = ended(lab, run_id)
    assert run.state is State.SUCCESS and run.attempt == 1, run.error
    assert (lab.project.runs_dir / run_id / "artifacts/1-sentiment/model.txt").exists()
    wait_for(lambda: jobs_there(host) == [] and host.there.processes() == {})


def test_what_ended_while_the_server_was_down_is_collected(
    simple: Callable[..., Lab], host: Host, servers: Callable[[Lab], Server]
) -> None:
    """remote 50"""
    lab = simple()
    run_id = queue(lab, seconds=1)
    first = servers(lab)
    wait_for(lambda: lab.run(run_id).progress, 60)
    first.kill()
    wait_for(lambda: host.there.processes() == {})
    servers(lab)
    assert ended(lab, run_id).state is State.SUCCESS, lab.run(run_id).error
    wait_for(lambda: jobs_there(host) == [])


def test_when_the_server_stays_away_nothing_of_the_run_goes_on(
    simple: Callable[..., Lab], host: Host, servers: Callable[[Lab], Server]
) -> None:
    """remote 28: an agent without a server ends itself."""
    lab = simple(reconnect_s=3)
    run_id = queue(lab, seconds=300, does="deaf")
    first = servers(lab)
    wait_for(lambda: lab.run(run_id).progress, 60)
    first.kill()
    left = time.monotonic()
    wait_for(lambda: host.there.processes() == {}, 60)
    assert 3 <= time.monotonic() - left < 3 + lab.project.config.model_training.grace_seconds + 40
    servers(lab)
    assert ended(lab, run_id).state is State.ERROR
    wait_for(lambda: jobs_there(host) == [] and host.there.processes() == {})


def test_a_server_that_sleeps_for_longer_than_a_silence_may_last_goes_on(
    simple: Callable[..., Lab], servers: Callable[[Lab], Server]
) -> None:
    """remote 26: its machine's lid is closed; it was not the host that was silent."""
    lab = simple(heartbeat_timeout_s=2)
    run_id = queue(lab, seconds=2)
    server = servers(lab)
    wait_for(lambda: lab.run(run_id).progress, 60)
    server.process.send_signal(signal.SIGSTOP)
    time.sleep(4)  # the very thing that is tried: nobody answers for this long
    server.process.send_signal(signal.SIGCONT)
    assert ended(lab, run_id).state is State.SUCCESS, lab.run(run_id).error


@pytest.mark.parametrize("number", range(FAULTS))
def test_a_server_that_is_killed_at_any_instant_loses_nothing(
    number: int, simple: Callable[..., Lab], host: Host, servers: Callable[[Lab], Server]
) -> None:
    """remote 50: while it connects, prepares, trains, brings home, cleans up."""
    lab = simple()
    run_id = queue(lab, seconds=0.5, weights=1)
    random.seed(number)
    for _ in range(2):
        server = servers(lab)
        time.sleep(random.uniform(0.5, 6))
        server.kill()
    servers(lab)
    run = ended(lab, run_id)
    assert run.state is State.SUCCESS, run.error
    assert (lab.project.runs_dir / run_id / "artifacts/1-sentiment/weights-0.bin").stat().st_size == 1 << 20
    wait_for(lambda: jobs_there(host) == [] and host.there.processes() == {}, 60)


def test_a_server_that_is_stopped_in_order_leaves_the_run_going(
    simple: Callable[..., Lab], host: Host, client: Client
) -> None:
    lab = simple()
    with scene(lab, QUICK) as made:
        run_id = made.submit(seconds=3)
        made.trains(run_id)
    assert client.living() == []
    assert any("worker" in line for line in host.there.processes().values())
    with scene(lab, QUICK) as made:
        made.success(run_id)


# The connection stays away, or the host falls silent


def test_a_host_that_stays_away_ends_the_run(simple: Callable[..., Lab], host: Host) -> None:
    with scene(simple(reconnect_s=2), QUICK) as made:
        run_id = made.submit(seconds=300)
        made.trains(run_id)
        host.down()
        assert host.send(signal.SIGKILL)
        failure = error(made.finished(run_id))
        assert failure["message"].startswith(f"The connection to {ALIAS} was lost for 2 seconds"), failure
        wait_for(lambda: host.there.processes() == {}, 60)


def test_without_reconnecting_a_break_is_the_end(simple: Callable[..., Lab], host: Host) -> None:
    with scene(simple(reconnect_s=0), QUICK) as made:
        run_id = made.submit(seconds=300)
        made.trains(run_id)
        assert host.send(signal.SIGKILL)
        assert "reconnect_s" in error(made.finished(run_id))["message"]
        wait_for(lambda: host.there.processes() == {}, 60)


def test_silence_of_a_program_that_is_connected_ends_the_run(simple: Callable[..., Lab], host: Host) -> None:
    with scene(simple(heartbeat_timeout_s=2, reconnect_s=1), QUICK) as made:
        run_id = made.submit(seconds=300)
        made.trains(run_id)
        for pid in host.there.processes():
            os.kill(pid, signal.SIGSTOP)
        failure = error(made.finished(run_id))
        assert failure["message"] == f"No word from the agent on {ALIAS} for 2 seconds", failure


def test_the_host_s_agent_may_be_killed(simple: Callable[..., Lab], host: Host) -> None:
    """remote 28: kill -9 of what the connection started there; the run is found again."""
    with scene(simple(), QUICK) as made:
        run_id = made.submit(seconds=3)
        made.trains(run_id)
        (courier,) = [pid for pid, line in host.there.processes().items() if "-u -c" in line]
        os.kill(courier, signal.SIGKILL)
        run = made.success(run_id)
        assert run.attempt == 1
