"""A model whose way home broke off stays on its host, and is copied when somebody asks for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from lab import use_fakes, wait_for
from machines import Machine
from potato.store.training.runs import Run, State
from potato.training.runs.copies import CopyIsGoing, NothingToCopy
from ssh_scene import IMPATIENT, Scene, arrives, broken_off, jobs_there, scene, settings, slowly, ssh_lab
from sshd import ALIAS, Host


@pytest.fixture
def lab(host: Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Scene]:
    """A lab whose host is reached by a slow way."""
    use_fakes(monkeypatch)
    with scene(ssh_lab(tmp_path / "lab", {ALIAS: settings(slowly(host))}), IMPATIENT) as made:
        yield made


def test_a_model_that_did_not_come_home_is_fetched_later(lab: Scene, host: Host) -> None:
    run = broken_off(lab, host)
    (warning,) = run.warnings
    assert warning.startswith("The copy from slow sent nothing for 2 s; the model's files are still there, in /")
    assert run.artifact_uri is not None and run.artifact_uri.startswith("slow:/home/ada/")
    assert run.writeback is not None, "the predictions were taken in all the same"
    assert jobs_there(host) == [run.run_id]

    lab.supervisor.copy_again(run.run_id)  # nobody answers yet
    failed = settled(lab, run.run_id)
    assert [told.startswith("The copy from slow sent nothing for 2 s") for told in failed.warnings] == [True]

    host.up()
    begun = lab.supervisor.copy_again(run.run_id)
    assert begun.step.startswith("copying the model")
    with pytest.raises(CopyIsGoing):
        lab.supervisor.copy_again(run.run_id)
    done = settled(lab, run.run_id)
    assert (done.state, done.warnings) == (State.SUCCESS, [])
    folder = lab.folder(run.run_id)
    assert done.artifact_uri == str(folder.artifacts)
    assert (folder.artifacts / "1-sentiment" / "weights-0.bin").stat().st_size == 3 << 20
    assert not (folder.path / "artifacts.part").exists()
    assert jobs_there(host) == []
    with pytest.raises(NothingToCopy):
        lab.supervisor.copy_again(run.run_id)


def test_a_network_that_stops_during_the_copy_costs_no_more_than_the_model(
    hosts: Callable[..., Host], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody is told, and nothing comes any more."""
    use_fakes(monkeypatch)
    host = hosts(machine=Machine(network=True))
    with scene(ssh_lab(tmp_path / "lab", {ALIAS: settings(slowly(host))}), IMPATIENT) as made:
        run_id = made.submit(weights=1, weights_mb=3)
        arrives(made, run_id)
        assert host.cable is not None
        host.cable.cut()
        run = made.success(run_id)
        assert run.warnings[0].startswith(
            "The copy from slow sent nothing for 2 s; the model's files are still there, in /"
        )
        assert run.writeback is not None


def settled(lab: Scene, run_id: str) -> Run:
    """The run, once no copy of its model is going."""
    run: Run = wait_for(lambda: (found := lab.supervisor.get(run_id)).step == "" and found, 60)
    return run


def test_a_cancel_during_the_copy_leaves_nothing_there(lab: Scene, host: Host) -> None:
    run_id = lab.submit(weights=1, weights_mb=20)
    wait_for(lambda: lab.supervisor.get(run_id).step.startswith("copying the model from slow: "), 60)
    lab.supervisor.cancel(run_id)
    assert lab.finished(run_id).state is State.CANCELLED
    wait_for(lambda: jobs_there(host) == [] and host.there.processes() == {}, 60)
