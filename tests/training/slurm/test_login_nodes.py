"""Several login nodes behind one name: the next connection lands on another one than the last."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab import wait_for
from potato.store.training.runs import State
from potato.training.worker import processes
from slurm_cluster import Cluster
from slurm_house import CLUSTER, LIMIT, another, backend, behind, login_node
from ssh_scene import REMOTE_DIR, jobs_there, scene, ssh_lab
from sshd import Host


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch) -> Iterator[Host]:
    """The login node that the first connection lands on."""
    with login_node(monkeypatch) as made:
        yield made


@pytest.fixture
def cluster(host: Host) -> Iterator[Cluster]:
    """The cluster behind both."""
    with behind(host) as made:
        yield made


@pytest.mark.parametrize("cancelled", [False, True], ids=["finishes", "is cancelled"])
def test_a_run_goes_on_by_way_of_another_login_node(
    host: Host, cluster: Cluster, tmp_path: Path, cancelled: bool
) -> None:
    """remote 20: the job's keeper lives on the first, and is heard on the second through the home that they share"""
    lab = ssh_lab(tmp_path, {CLUSTER: backend(host, cluster)})
    go = f"{host.there.account.home}/go"
    with another(host, "login2") as other, scene(lab) as made:
        run_id = made.submit(CLUSTER, until=go)
        made.says(run_id, "the fake begins", LIMIT)
        note = host.home / REMOTE_DIR / "jobs" / run_id / "attempt-1" / "keeper.json"
        first = json.loads(note.read_text("utf-8"))
        assert first["boot_id"] == processes.boot_id()
        other.also(host.alias)
        seen = host.client.ssh(host.alias, "uname -n; cat /proc/sys/kernel/random/boot_id").stdout.split()
        assert seen[0] == "login2" and seen[1] != first["boot_id"]
        assert host.send(signal.SIGKILL)
        made.says(run_id, "is back after", LIMIT)
        assert other.sessions()
        assert json.loads(note.read_text("utf-8")) == first, "the keeper of before is the job's only one"
        if cancelled:
            made.supervisor.cancel(run_id)
            assert made.finished(run_id).state is State.CANCELLED
        else:
            host.there.run("touch", go, user=True)
            run = made.success(run_id)
            assert run.attempt == 1 and made.log(run_id).count("Submitted SLURM job") == 1
        wait_for(lambda: not cluster.jobs() and jobs_there(host) == [] and host.there.processes() == {}, LIMIT)
    assert len([name for _, name, *_ in cluster.jobs("all") if run_id in name]) == 1
