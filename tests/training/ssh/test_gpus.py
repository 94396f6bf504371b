"""Which GPU a run gets, by what `nvidia-smi` there prints; a script stands in for it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

import nvidia_smi
import sshd
from lab import use_fakes, wait_for
from machines import lay
from nvidia_smi import NO_DRIVER, Gpu
from potato.store.training.runs import State
from potato.training.ssh.timing import SshTiming
from ssh_scene import Scene, error, scene, settings, ssh_lab
from sshd import ALIAS, Host

MIG = (("1g.5gb", "MIG-c6d4f1ef-42e4-5de3-91c7-45d71c87eb3f"), ("2g.10gb", "MIG-0b3c1b59-9f47-5d3a-8a4c-3d2d0a9a5b11"))
EIGHT = [Gpu(number, free=free) for number, free in enumerate((100, 900, 20000, 5, 39000, 38999, 12, 7000))]
GETS = {
    "auto": {},
    "none": {"gpus": "none"},
    "one": {"gpus": "1"},
    "two": {"gpus": "0,1"},
    "much": {"min_free_gpu_mb": 39001},
    "threads": {"num_threads": 3},
    "torch": {"env": {"PYTHONPATH": "~/stub"}},
}
"""Backends on one host."""


@dataclass(frozen=True)
class Shape:
    """What is printed there, and what a run on a backend then gets: a GPU by number, `CPU`, or an error."""

    name: str
    text: str
    backend: str
    gets: int | Sequence[int] | str


SHAPES = [
    Shape("none installed", "", "auto", "CPU"),
    Shape("no devices", nvidia_smi.program(said="No devices were found\n", code=6), "auto", "CPU"),
    Shape("no devices and no error", nvidia_smi.program(said="No devices were found\n"), "auto", "CPU"),
    Shape("error 9 on stdout", nvidia_smi.program(said=NO_DRIVER, code=9), "auto", "CPU"),
    Shape("killed", "#!/bin/sh\nkill -9 $$\n", "auto", "CPU"),
    Shape("an interpreter that is not there", "#!/no/such/sh\n", "auto", "CPU"),
    Shape("one", nvidia_smi.program(Gpu(0)), "auto", 0),
    Shape("one that is forbidden", nvidia_smi.program(Gpu(0)), "none", "CPU"),
    Shape("eight", nvidia_smi.program(*EIGHT), "auto", 4),
    Shape("eight, pinned to one", nvidia_smi.program(*EIGHT), "one", 1),
    Shape("eight, pinned to two", nvidia_smi.program(*EIGHT), "two", (0, 1)),
    Shape("eight, none free enough", nvidia_smi.program(*EIGHT), "much", "No GPU has 39001 MB free"),
    Shape("another order than CUDA's", nvidia_smi.program(*reversed(EIGHT)), "auto", 4),
    Shape("one of two fell off the bus", nvidia_smi.program(Gpu(0, "[Unknown Error]", "[N/A]"), Gpu(1)), "auto", 1),
    Shape("memory that nobody knows", nvidia_smi.program(Gpu(0, "[N/A]", "[N/A]", "[N/A]")), "auto", 0),
    Shape(
        "busy, but with room",
        nvidia_smi.program(Gpu(0, 30000, utilisation=0), Gpu(1, 30001, utilisation=100)),
        "auto",
        1,
    ),
    Shape(
        "a comma in the name", nvidia_smi.program(Gpu(0, name="NVIDIA, Inc. A100, 80 GB"), Gpu(1, free=10)), "auto", 0
    ),
    Shape("markup in the name", nvidia_smi.program(Gpu(0, name="<script>alert(1)</script>")), "auto", 0),
    Shape(
        "a warning after the list",
        nvidia_smi.program(Gpu(0), said="WARNING: infoROM is corrupted at gpu 0\n"),
        "auto",
        0,
    ),
]


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Scene, Host]]:
    """One host with the stand-in, and a lab with a backend for each wish."""
    with sshd.client() as client, pytest.MonkeyPatch.context() as patch, sshd.host(client) as host:
        patch.setenv("PATH", client.path)
        use_fakes(patch)
        env = {"PATH": nvidia_smi.PATH}
        backends = {
            name: settings(ALIAS, **{**wish, "env": {**env, **wish.get("env", {})}}) for name, wish in GETS.items()
        }
        with scene(ssh_lab(tmp_path_factory.mktemp("lab"), backends)) as lab:
            yield lab, host


def stand_in(host: Host, text: str) -> None:
    """Have `nvidia-smi` there be this program; none at all without a text."""
    (host.home / nvidia_smi.FILE).unlink(missing_ok=True)
    if text:
        lay(host.home / nvidia_smi.FILE, text)


def told(lab: Scene, run_id: str) -> dict[str, str | None]:
    """What the worker found in its environment."""
    lines = lab.folder(run_id).events.read_text("utf-8").splitlines()
    logged = [event["msg"] for event in map(json.loads, lines) if event["event"] == "log"]
    (line,) = [line for line in logged if line.startswith("environment: ")]
    found: dict[str, str | None] = json.loads(line.removeprefix("environment: "))
    return found


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
def test_the_run_gets_what_it_should(lab: tuple[Scene, Host], shape: Shape) -> None:
    """remote 31, 33"""
    scene, host = lab
    stand_in(host, shape.text)
    report = scene.supervisor.check(shape.backend, "fake")
    run = scene.run(shape.backend, does="tell")
    if isinstance(shape.gets, str) and shape.gets != "CPU":
        assert error(run)["message"].startswith(shape.gets) and not report.ok
        return
    assert run.state is State.SUCCESS, (run.error, scene.log(run.run_id))
    assert report.ok, report.lines
    cards = told(scene, run.run_id)
    if shape.gets == "CPU":
        assert not cards["CUDA_VISIBLE_DEVICES"]
        assert "CPU" in scene.log(run.run_id)
        assert NO_DRIVER.strip() in scene.log(run.run_id) or shape.name != "error 9 on stdout"
    else:
        numbers = [shape.gets] if isinstance(shape.gets, int) else list(shape.gets)
        assert cards["CUDA_VISIBLE_DEVICES"] == ",".join(Gpu(number).uuid for number in numbers)
        assert cards["CUDA_DEVICE_ORDER"] == "PCI_BUS_ID"
        for number in numbers:
            assert re.search(rf"GPU {number}\b", scene.log(run.run_id)), scene.log(run.run_id)


def test_a_gpu_that_torch_has_no_kernels_for_is_marked_and_skipped(lab: tuple[Scene, Host]) -> None:
    """remote 34"""
    scene, host = lab
    old, new = Gpu(0, free=40000), Gpu(1, free=9000)
    stand_in(host, nvidia_smi.program(old, new))
    lay(host.home / "stub/torch/__init__.py", nvidia_smi.torch(old))
    lines = scene.supervisor.check("torch", "hf-text-classification").lines
    assert any("GPU 0" in line and line.endswith("(torch there has no kernels for it)") for line in lines), lines
    assert any("GPU 1" in line and "no kernels" not in line for line in lines), lines
    assert any(line.startswith("a run would get: GPU 1") for line in lines), lines


def test_a_mig_device_is_taken_by_its_own_name(lab: tuple[Scene, Host]) -> None:
    scene, host = lab
    stand_in(host, nvidia_smi.program(Gpu(0, "[N/A]", "[N/A]", "[N/A]", mig=MIG)))
    run = scene.success(scene.submit("auto", does="tell"))
    assert told(scene, run.run_id)["CUDA_VISIBLE_DEVICES"] in [uuid for _, uuid in MIG]
    assert "1g.5gb" in scene.log(run.run_id) or "2g.10gb" in scene.log(run.run_id)


def test_threads_are_set_over_a_login_shell_s_own(lab: tuple[Scene, Host]) -> None:
    scene, host = lab
    lay(host.home / ".bashrc", "export OMP_NUM_THREADS=64 CUDA_VISIBLE_DEVICES=7\n")
    try:
        stand_in(host, nvidia_smi.program(Gpu(0), Gpu(7, free=3000)))
        run = scene.success(scene.submit("threads", does="tell"))
        told_there = told(scene, run.run_id)
        assert told_there["OMP_NUM_THREADS"] == told_there["MKL_NUM_THREADS"] == "3"
        assert told_there["CUDA_VISIBLE_DEVICES"] == Gpu(7).uuid, "the account is shown this one alone"
    finally:
        (host.home / ".bashrc").unlink()


def test_a_hang_is_bounded(lab: tuple[Scene, Host], tmp_path: Path) -> None:
    """remote 31: the driver does not answer any more."""
    _, host = lab
    stand_in(host, nvidia_smi.program(Gpu(0), stuck=600))
    made = ssh_lab(tmp_path / "lab", {ALIAS: settings(env={"PATH": nvidia_smi.PATH})})
    with scene(made, SshTiming(nvidia_smi=1.0)) as hasty:
        run = hasty.success(hasty.submit(does="tell"))
        assert "no GPU: training on the CPU (nvidia-smi did not answer within 1 seconds)" in hasty.log(run.run_id)
    wait_for(lambda: host.there.processes() == {})


def test_two_projects_at_once_get_different_gpus(lab: tuple[Scene, Host], tmp_path: Path) -> None:
    """remote 33: what one has taken is still free as far as `nvidia-smi` knows."""
    first, host = lab
    stand_in(host, nvidia_smi.program(Gpu(0, free=30000), Gpu(1, free=20000)))
    going = first.submit("auto", does="tell", seconds=300)
    first.trains(going)
    with scene(ssh_lab(tmp_path / "lab", {ALIAS: settings(env={"PATH": nvidia_smi.PATH})})) as second:
        run = second.success(second.submit(does="tell"))
        assert told(second, run.run_id)["CUDA_VISIBLE_DEVICES"] == Gpu(1).uuid
    assert told(first, going)["CUDA_VISIBLE_DEVICES"] == Gpu(0).uuid
    first.supervisor.cancel(going)
    first.finished(going)
    run = first.success(first.submit("auto", does="tell"))
    assert told(first, run.run_id)["CUDA_VISIBLE_DEVICES"] == Gpu(0).uuid
