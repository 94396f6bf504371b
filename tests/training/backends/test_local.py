"""The backend `local`."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lab import Lab, use_fakes, wait_for
from potato.training.backends import Ended, Job, describe, memory, open_backend
from potato.training.backends.local import LocalBackend
from potato.training.backends.report import ON_A_CPU, local_report
from potato.training.bundle.build import build
from potato.training.contract.spec import read_spec
from potato.training.trainers import registry
from potato.training.worker import launch, pressure

BACKENDS = {
    "gpu-server": {"type": "ssh", "host": "gpu.example.org", "description": "The big one"},
    "cluster": {"type": "slurm", "host": "login.cluster.example.org", "remote_dir": "/shared/me"},
    "lab-workstation": {"type": "agent"},
}


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lab:
    use_fakes(monkeypatch)
    lab = Lab(tmp_path / "lab", 40, model_training={"backends": BACKENDS, "backend": "cluster", "device": "cpu"})
    lab.label_alternately()
    return lab


@pytest.fixture
def make_job(lab: Lab) -> Callable[..., Job]:
    def make(**params: Any) -> Job:
        folder = lab.project.runs_dir / "r1"
        folder.mkdir(parents=True)
        info = registry.get("fake").info
        build(lab.database, lab.project, info, ["sentiment"], folder / "bundle")
        whole = info.parse_params(params)
        return Job("r1", 1, "fake", ["sentiment"], whole, 0, folder, 1.0, lambda _: None, lambda _: None)

    return make


def probe(**changes: Any) -> dict[str, Any]:
    device = {"name": "cpu", "text": "CPU", "warnings": [], "error": None, **changes}
    trainers = [
        {"name": "sklearn-text", "ok": True, "missing": [], "install": "", "fine_tunes": False},
        {"name": "hf", "ok": False, "missing": ["No module named 'peft'"], "install": "py -m pip install peft"},
    ]
    return {"python": "3.11.7", "executable": "/usr/bin/python3", "device": device, "trainers": trainers}


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("CPU", "local: this machine, CPU"),
        ("Apple Metal (mps)", "local: this machine, Apple Metal (mps)"),
        ("CUDA (cuda:0 NVIDIA A40)", "local: this machine, CUDA (cuda:0 NVIDIA A40)"),
    ],
)
def test_the_check_says_which_device_a_run_would_get(text: str, first: str) -> None:
    report = local_report(probe(text=text), None)
    assert report.lines[0] == first
    assert (ON_A_CPU in report.lines) is (text == "CPU")
    assert "sklearn-text: ready" in report.lines
    assert report.lines[-2:] == ["hf: No module named 'peft'", "  Install: py -m pip install peft"]
    assert report.ok


def test_the_check_is_no_only_when_nothing_asked_for_could_run() -> None:
    assert local_report(probe(), "sklearn-text").ok
    assert not local_report(probe(), "hf").ok
    unknown = local_report(probe(), "magic")
    assert not unknown.ok
    assert unknown.lines[-1] == "there is no trainer 'magic'; there are sklearn-text, hf"
    broken = local_report(probe(error="This host's torch has no kernels for any of its GPUs"), None)
    assert not broken.ok
    assert broken.lines[0].startswith("local: This host's torch has no kernels")


def test_the_check_asks_a_child_and_imports_no_training_library(lab: Lab) -> None:
    program = (
        "import sys; from pathlib import Path; from lab import Lab; from potato.training.backends import open_backend\n"
        "report = open_backend(Lab.again(Path(sys.argv[1])).project, 'local').check(None)\n"
        "print(report.ok, *report.lines, sep='\\n')\n"
        "bad = {'torch', 'sklearn', 'transformers'} & set(sys.modules); assert not bad, bad\n"
    )
    path = os.pathsep.join([str(Path(__file__).parents[2]), os.environ["PYTHONPATH"]])
    command = [sys.executable, "-c", program, str(lab.folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env={**os.environ, "PYTHONPATH": path})
    assert done.stdout.startswith("True\nlocal: this machine, CPU\n")
    assert "\nfake: ready\n" in done.stdout


def test_the_menu_lists_every_backend_the_default_first(lab: Lab) -> None:
    labels = [(entry.name, entry.label, entry.is_default) for entry in describe(lab.project)]
    assert labels == [
        ("cluster", "cluster (slurm via login.cluster.example.org)", True),
        ("gpu-server", "gpu-server (ssh to gpu.example.org)", False),
        ("lab-workstation", "lab-workstation (agent)", False),
        ("local", "local (this machine)", False),
    ]


def test_a_worker_runs_in_a_group_of_its_own_at_low_priority(lab: Lab, make_job: Callable[..., Job]) -> None:
    job = make_job(seconds=60.0)
    execution = LocalBackend(lab.project).start(job)
    try:
        worker = launch.read(str(job.folder))
        assert worker is not None
        assert os.getpgid(worker.pid) == worker.pid != os.getpgid(0)
        assert os.getpriority(os.PRIO_PROCESS, worker.pid) >= min(19, os.getpriority(os.PRIO_PROCESS, 0) + 10)
        assert execution.poll() is None
        assert execution.memory_mb() is None  # nobody asked for a cap
        wait_for(lambda: memory.used_mb([worker.pid]) > 1)  # it has only just begun
        spec = read_spec(str(job.folder / "spec.json"))
        assert (spec.device, spec.run_id, spec.schemas) == ("cpu", "r1", ["sentiment"])
        assert spec.num_threads == max(1, (os.cpu_count() or 2) - 1)
        wait_for(lambda: (job.folder / "events.jsonl").exists())
        execution.stop()
        execution.stop()
        assert wait_for(execution.poll) == Ended(4, False)
    finally:
        execution.kill()
    assert launch.find_marked("r1") == []


def test_a_killed_worker_tells_its_signal_and_leaves_nothing(lab: Lab, make_job: Callable[..., Job]) -> None:
    execution = LocalBackend(lab.project).start(make_job(does="child", seconds=60.0))
    wait_for(lambda: len(launch.find_marked("r1")) == 2)
    worker = launch.read(str(lab.project.runs_dir / "r1"))
    assert worker is not None
    os.kill(worker.pid, signal.SIGKILL)
    assert wait_for(execution.poll).code == -9
    assert launch.find_marked("r1") == []
    again = LocalBackend(lab.project).resume(make_again(lab))
    assert again is not None
    assert again.poll() == Ended(None, False)  # another server process cannot know the signal


def test_nothing_to_resume_where_nothing_was_started(lab: Lab, make_job: Callable[..., Job]) -> None:
    assert LocalBackend(lab.project).resume(make_job()) is None


def make_again(lab: Lab) -> Job:
    folder = lab.project.runs_dir / "r1"
    return Job("r1", 1, "fake", ["sentiment"], {}, 0, folder, 1.0, lambda _: None, lambda _: None)


def test_the_kernels_count_of_kills_is_read_where_it_is_told(tmp_path: Path) -> None:
    file = tmp_path / "vmstat"
    file.write_text("nr_free_pages 1\noom_kill 7\n", "ascii")
    assert pressure.oom_kills(str(file)) == 7
    assert pressure.oom_kills(str(tmp_path / "missing")) == 0
    assert pressure.kills() >= 0


def test_every_type_can_be_opened(lab: Lab) -> None:
    for name in BACKENDS:
        assert open_backend(lab.project, name).name == name
    assert json.dumps([vars(entry) for entry in describe(lab.project)])
