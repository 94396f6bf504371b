"""Choosing a GPU on a host: whatever nvidia-smi says, what torch can do there, and what others have."""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from host_scene import Failed, Host, asks
from lab import wait_for
from nvidia_smi import NO_DRIVER, Gpu, program
from potato.training.agent.folder import JobFolder
from potato.training.host import children
from potato.training.host.hangup import Hangup
from potato.training.host.session import Session
from potato.training.host.smi import FIELDS, MIG_FIELD, parse_list, parse_query
from potato.training.worker import processes
from standin import StandIn

Start = Callable[..., Host]
CPU = "no GPU: training on the CPU"
HIDDEN = {"CUDA_VISIBLE_DEVICES": "", "CUDA_DEVICE_ORDER": "PCI_BUS_ID"}

TORCH = """
import json, os, time

state = json.load(open(os.path.join(os.path.dirname(__file__), "state.json")))
shown = [name for name in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if name]
with open(os.path.join(os.path.dirname(__file__), "asked"), "a") as file:
    file.write(json.dumps(shown) + "\\n")
__version__ = state["version"]

class version:
    cuda = state["cuda"]

class cuda:
    is_available = staticmethod(lambda: bool(state["cuda"]) and not state["unavailable"])
    device_count = staticmethod(lambda: len(shown))
    get_arch_list = staticmethod(lambda: state["architectures"])
    get_device_capability = staticmethod(lambda number: (8, 0))
    synchronize = staticmethod(lambda number: None)

    @staticmethod
    def init():
        raise RuntimeError(state["unavailable"] or "Found no NVIDIA driver on your system")

class Number:
    __mul__ = lambda self, other: self
    sum = item = lambda self: self

def ones(size, device):
    does = state["does"].get(shown[int(device.split(":")[1])], "")
    if does == "hang":
        time.sleep(600)
    if does:
        raise RuntimeError(does + "\\nand a long explanation")
    return Number()
"""
"""A torch that does on each GPU what `state.json` says."""

NO_KERNEL = "CUDA error: no kernel image is available for execution on the device"


class Machine:
    """A host whose nvidia-smi and torch say what they are told."""

    def __init__(self, folder: Path, host: Start) -> None:
        self._bin, self._torch = folder / "bin", folder / "packages" / "torch"
        self._host = host
        self._bin.mkdir()
        self.env = {"PATH": f"{self._bin}:/usr/bin:/bin"}

    def smi(self, *gpus: Gpu, text: str = "", **more: Any) -> None:
        path = self._bin / "nvidia-smi"
        path.write_text(text or program(*gpus, **more))
        path.chmod(0o755)

    def torch(
        self, version: str = "2.5.1+cu121", cuda: str | None = "12.1", unavailable: str = "", **does: str
    ) -> None:
        """Have a torch; `does` maps `g0`, `g1`, ... to the error there, or `hang`."""
        self._torch.mkdir(parents=True, exist_ok=True)
        (self._torch / "__init__.py").write_text(TORCH)
        (self._torch / "version.py").write_text(f"# {version} {time.time_ns()}")
        state = {
            "version": version,
            "cuda": cuda,
            "unavailable": unavailable,
            "architectures": ["sm_50", "sm_90"],
            "does": {Gpu(int(name[1:])).uuid: what for name, what in does.items()},
        }
        (self._torch / "state.json").write_text(json.dumps(state))
        (self._torch / "asked").write_text("")
        self.env["PYTHONPATH"] = str(self._torch.parent)

    @property
    def asked(self) -> list[list[str]]:
        """What each process that imported torch was shown."""
        return [json.loads(line) for line in (self._torch / "asked").read_text().splitlines()]

    def log_in(self) -> Host:
        return self._host(env=self.env)

    def choose(self, gpus: str = "auto", there: Host | None = None, **more: Any) -> dict[str, Any]:
        return (there or self.log_in()).call("gpus", gpus=gpus, **{"min_free_mb": 2000, "python": None, **more})

    def refused(self, **more: Any) -> Failed:
        with pytest.raises(Failed) as caught:
            self.choose(**more)
        return caught.value


@pytest.fixture
def machine(tmp_path: Path, host: Start) -> Machine:
    return Machine(tmp_path, host)


def shows(*gpus: Gpu) -> dict[str, str]:
    return {"CUDA_VISIBLE_DEVICES": ",".join(gpu.uuid for gpu in gpus), "CUDA_DEVICE_ORDER": "PCI_BUS_ID"}


# What nvidia-smi says


def test_no_nvidia_smi(machine: Machine) -> None:
    answer = machine.choose()
    assert (answer["text"], answer["env"], answer["chosen"], answer["gpus"]) == (CPU, HIDDEN, [], [])
    assert answer["reason"] == "nvidia-smi was not found"


def test_one_gpu(machine: Machine) -> None:
    machine.smi(Gpu(0, free=39000, utilisation=97))
    answer = machine.choose()
    assert answer["text"] == "GPU 0 (NVIDIA A100-SXM4-40GB, 39000 MB free)"
    assert (answer["chosen"], answer["env"], answer["reason"]) == ([Gpu(0).uuid], shows(Gpu(0)), None)
    assert answer["gpus"] == [
        {
            "index": 0,
            "uuid": Gpu(0).uuid,
            "name": "NVIDIA A100-SXM4-40GB",
            "free_mb": 39000,
            "total_mb": 40960,
            "utilisation": 97,
            "mark": "",
        }
    ]


def test_of_eight_the_one_with_the_most_free_memory(machine: Machine) -> None:
    """Free memory counts, and not how busy it is; the UUID names the card whatever the order."""
    free = [100, 30000, 2000, 39000, 38999, 39000, 0, 5]
    machine.smi(
        *(Gpu(index, free=free[index], utilisation=100 if index == 3 else 0) for index in (7, 3, 1, 0, 5, 2, 6, 4))
    )
    answer = machine.choose()
    assert answer["env"] == shows(Gpu(3))
    assert [gpu["index"] for gpu in answer["gpus"]] == [7, 3, 1, 0, 5, 2, 6, 4]


def test_a_name_with_commas(machine: Machine) -> None:
    machine.smi(Gpu(0, name="NVIDIA, the odd, one", free=3000))
    assert machine.choose()["text"] == "GPU 0 (NVIDIA, the odd, one, 3000 MB free)"


@pytest.mark.parametrize("odd", ["[N/A]", "[Not Supported]", "[Unknown Error]", "[Insufficient Permissions]", ""])
def test_fields_that_are_not_known(machine: Machine, odd: str) -> None:
    """remote 31: the GPU is there all the same, after those that are known to have room"""
    machine.smi(Gpu(0, free=odd, total=odd, utilisation=odd))
    answer = machine.choose()
    assert answer["text"] == "GPU 0 (NVIDIA A100-SXM4-40GB, free memory unknown)"
    assert answer["env"] == shows(Gpu(0))
    assert [answer["gpus"][0][name] for name in ("free_mb", "total_mb", "utilisation")] == [None] * 3
    machine.smi(Gpu(0, free=odd), Gpu(1, free=2000), Gpu(2, free=1999))
    assert machine.choose()["env"] == shows(Gpu(1))
    machine.smi(Gpu(0, free=odd), Gpu(1, free=100))
    assert machine.choose()["env"] == shows(Gpu(0))


def test_mig_devices_stand_for_the_gpu_that_is_cut_up(machine: Machine) -> None:
    machine.smi(Gpu(0, mig=[("3g.20gb", "MIG-c7384736-a75d"), ("1g.5gb", "MIG-a28ad590-3fda")]), Gpu(1, free=100))
    answer = machine.choose()
    assert answer["env"]["CUDA_VISIBLE_DEVICES"] == "MIG-c7384736-a75d"
    assert answer["text"] == "GPU 0 (NVIDIA A100-SXM4-40GB MIG 3g.20gb, free memory unknown)"
    assert machine.choose("0")["env"]["CUDA_VISIBLE_DEVICES"] == "MIG-c7384736-a75d"
    assert machine.choose("0,0")["env"]["CUDA_VISIBLE_DEVICES"] == "MIG-c7384736-a75d,MIG-a28ad590-3fda"


def test_mig_without_devices_leaves_nothing_to_choose() -> None:
    text = "0, GPU-x, NVIDIA A100, [N/A], 40960, [N/A], 550.54.15, Enabled\n"
    (gpu,) = parse_list("GPU 0: NVIDIA A100 (UUID: GPU-x)\n", parse_query(text, (*FIELDS, MIG_FIELD)))
    assert gpu.mark == "(MIG is on, and no device was made on it)"


def test_a_driver_older_than_mig(machine: Machine) -> None:
    machine.smi(Gpu(0, free=3000))
    path = machine._bin / "nvidia-smi"
    machine.smi(text=path.read_text().replace("mig.mode.current compute_cap", "").replace("mig.mode.current", "mig"))
    assert machine.choose()["text"] == "GPU 0 (NVIDIA A100-SXM4-40GB, 3000 MB free)"
    machine.smi(text=path.read_text().replace("driver_version", "driver"))
    answer = machine.choose()  # it can but list them
    assert (answer["text"], answer["env"]) == (
        "GPU 0 (NVIDIA A100-SXM4-40GB, free memory unknown)", shows(Gpu(0))
    )  # fmt: skip


@pytest.mark.parametrize(
    ("said", "code", "reason"),
    [
        (NO_DRIVER, 9, NO_DRIVER.strip()),
        ("Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 550.90\n", 18,
         "Failed to initialize NVML: Driver/library version mismatch NVML library version: 550.90"),
        ("No devices were found\n", 6, "No devices were found"),
        ("", 255, "nvidia-smi ended with code 255"),
    ],
)  # fmt: skip
def test_an_error_is_the_reason_for_the_cpu(machine: Machine, said: str, code: int, reason: str) -> None:
    """remote 31"""
    machine.smi(said=said, code=code)
    answer = machine.choose()
    assert (answer["text"], answer["env"], answer["reason"]) == (CPU, HIDDEN, reason)


def test_rows_beside_an_error_are_not_believed(machine: Machine) -> None:
    """remote 31: the exit code comes first"""
    machine.smi(Gpu(0), said="Unable to determine the device handle for GPU0000:3B:00.0: GPU is lost.\n", code=15)
    assert machine.choose()["text"] == CPU


def test_a_program_that_cannot_be_started(machine: Machine) -> None:
    machine.smi(text="#!/no/such/interpreter\n")
    assert "cannot be started: No such file or directory" in machine.choose()["reason"]


def test_one_that_hangs_is_not_waited_for(machine: Machine) -> None:
    """remote 31"""
    machine.smi(Gpu(0), stuck=600)
    answer = machine.choose(limit_s=0.5)
    assert (answer["text"], answer["reason"]) == (CPU, "nvidia-smi did not answer within 0.5 seconds")


class Silent:
    """A connection that nobody listens at."""

    def send(self, header: Any, body: bytes = b"") -> None:
        """Into nothing."""


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    reader, writer = os.pipe()
    yield Session(Silent(), str(tmp_path), Hangup(reader))  # type: ignore[arg-type]
    os.close(reader)
    os.close(writer)


def test_one_that_cannot_be_killed_is_left_behind(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """remote 31: it waits in the driver, and no signal reaches it"""
    spared: list[int] = []
    monkeypatch.setattr(os, "killpg", lambda pid, number: spared.append(pid))
    began = time.monotonic()
    done = children.run(session, ["sleep", "600"], "asking", limit_s=0.2)
    assert (done.code, done.out) == (None, "")
    assert time.monotonic() - began < 60
    assert processes.stat(spared[0]) is not None
    os.kill(spared[0], 9)  # the driver lets go of it
    wait_for(lambda: processes.stat(spared[0]) is None, 60)


def test_what_a_child_left_running_is_not_waited_for(session: Session) -> None:
    """It holds the pipe, but the child has ended."""
    program = "sleep 600 & echo $!"
    done = children.run(session, ["sh", "-c", program], "asking", limit_s=60)
    assert done.code == 0
    os.kill(int(done.out), 9)


# What the settings say


def test_none_asks_nobody(machine: Machine) -> None:
    machine.smi(text="#!/bin/sh\necho asked > ~/asked\n")
    there = machine.log_in()
    answer = machine.choose("none", there)
    assert (answer["text"], answer["env"]) == ("no GPU is wanted: training on the CPU", HIDDEN)
    assert not Path(there.greeting["home"], "asked").exists()


def test_pinned_ones_are_taken_whatever_is_free(machine: Machine) -> None:
    machine.smi(Gpu(1, free=10), Gpu(0, free=0))
    assert machine.choose("1")["env"] == shows(Gpu(1))
    answer = machine.choose("0,1")
    assert answer["env"] == shows(Gpu(0), Gpu(1))
    assert answer["text"] == ("GPU 0 (NVIDIA A100-SXM4-40GB, 0 MB free) and GPU 1 (NVIDIA A100-SXM4-40GB, 10 MB free)")


def test_a_pinned_one_that_is_not_there(machine: Machine) -> None:
    machine.smi(Gpu(0), Gpu(1))
    failed = machine.refused(gpus="2")
    assert (failed.code, failed.error) == ("no_such_gpu", "There is no GPU 2")
    assert "0, 1" in failed.hint


def test_a_pinned_one_that_nvidia_smi_cannot_speak_of(machine: Machine) -> None:
    machine.smi(said=NO_DRIVER, code=9)
    answer = machine.choose("1")
    assert answer["env"] == {"CUDA_VISIBLE_DEVICES": "1", "CUDA_DEVICE_ORDER": "PCI_BUS_ID"}
    assert answer["reason"] == NO_DRIVER.strip()


def test_none_has_enough_free(machine: Machine) -> None:
    machine.smi(Gpu(0, free=300), Gpu(1, free=3999))
    failed = machine.refused(min_free_mb=4000)
    assert (failed.code, failed.error) == ("no_gpu_free", "No GPU has 4000 MB free")
    assert "GPU 0 has 300 MB, GPU 1 has 3999 MB" in failed.hint
    assert [gpu["free_mb"] for gpu in failed.answer["gpus"]] == [300, 3999]


@pytest.mark.parametrize(
    ("shown", "chosen"),
    [("1", Gpu(1)), (Gpu(1).uuid, Gpu(1)), (Gpu(1).uuid[:-1] + "1", Gpu(1)), ("0,1", Gpu(0)), ("", None), ("-1", None)],
)
def test_what_the_account_is_shown_is_all_that_there_is(machine: Machine, shown: str, chosen: Gpu | None) -> None:
    """remote 33: all are listed though one is ours"""
    machine.smi(Gpu(0, free=39000), Gpu(1, free=3000))
    machine.env["CUDA_VISIBLE_DEVICES"] = shown
    answer = machine.choose()
    assert answer["env"] == (shows(chosen) if chosen else HIDDEN)
    if chosen is None:
        assert answer["reason"] == f"CUDA_VISIBLE_DEVICES there is '{shown}'"


# What torch can do


def test_a_torch_that_computes(machine: Machine) -> None:
    """Asked once for the same torch, driver and GPUs, for it takes seconds."""
    machine.smi(Gpu(0), Gpu(1, free=100))
    machine.torch()
    for _ in range(2):
        assert machine.choose(python=sys.executable)["env"] == shows(Gpu(0))
    assert machine.asked == [[Gpu(0).uuid, Gpu(1).uuid]]
    machine.torch(g0=NO_KERNEL)  # another torch was installed
    assert machine.refused(python=sys.executable).code == "no_gpu_free"
    assert len(machine.asked) == 1
    machine.smi(Gpu(0), Gpu(1))
    assert machine.choose(python=sys.executable)["env"] == shows(Gpu(1))
    assert len(machine.asked) == 1
    machine.smi(Gpu(0), Gpu(1), Gpu(2))
    machine.choose(python=sys.executable)
    assert len(machine.asked) == 2


def test_a_gpu_without_kernels_is_marked_and_passed_over(machine: Machine) -> None:
    """remote 34"""
    machine.smi(Gpu(0, free=40000), Gpu(1, free=3000))
    machine.torch(g0=NO_KERNEL)
    answer = machine.choose(python=sys.executable)
    assert answer["env"] == shows(Gpu(1))
    assert [gpu["mark"] for gpu in answer["gpus"]] == ["(torch there has no kernels for it)", ""]
    assert machine.choose("0,1", python=sys.executable)["env"] == shows(Gpu(0), Gpu(1))
    assert machine.refused(gpus="0", python=sys.executable).code == "no_kernels"


def test_no_kernels_for_any(machine: Machine) -> None:
    """remote 34: the card, what torch has, and the driver are named"""
    machine.smi(Gpu(0), Gpu(1))
    machine.torch(g0=NO_KERNEL, g1=NO_KERNEL)
    failed = machine.refused(python=sys.executable)
    assert failed.code == "no_kernels"
    assert failed.error == "This host's torch has no kernels for any of its GPUs"
    assert failed.hint.startswith(
        "torch 2.5.1+cu121 has kernels for sm_50, sm_90; NVIDIA A100-SXM4-40GB needs sm_80; the driver is 550.54.15."
    )
    assert [gpu["mark"] for gpu in failed.answer["gpus"]] == ["(torch there has no kernels for it)"] * 2


def test_a_torch_for_the_cpu_alone(machine: Machine) -> None:
    """remote 34: a run on a GPU host never ends up on its CPU unseen"""
    machine.smi(Gpu(0))
    machine.torch("2.5.1+cpu", cuda=None)
    failed = machine.refused(python=sys.executable)
    assert failed.code == "no_kernels"
    assert failed.hint.startswith("torch 2.5.1+cpu was built for the CPU alone; ")
    assert "gpus: none" in failed.hint
    assert machine.choose("none", python=sys.executable)["env"] == HIDDEN


def test_a_driver_that_is_too_old_for_torch(machine: Machine) -> None:
    machine.smi(Gpu(0))
    machine.torch(unavailable="The NVIDIA driver on your system is too old (found version 11040).")
    failed = machine.refused(python=sys.executable)
    assert failed.code == "no_gpu_usable"
    assert "The NVIDIA driver on your system is too old (found version 11040)" in failed.error


def test_a_gpu_that_is_full_has_kernels_all_the_same(machine: Machine) -> None:
    machine.smi(Gpu(0, free=3000))
    machine.torch(g0="CUDA error: out of memory")
    assert machine.choose(python=sys.executable)["gpus"][0]["mark"] == ""


def test_a_gpu_that_hangs_is_passed_over(machine: Machine) -> None:
    machine.smi(Gpu(0), Gpu(1, free=30000), Gpu(2, free=20000))
    machine.torch(g0="hang")
    answer = machine.choose(python=sys.executable, limit_s=20, torch_limit_s=8)
    assert answer["env"] == shows(Gpu(1))
    assert [gpu["mark"] for gpu in answer["gpus"]] == ["(it does not answer)", "", ""]
    assert machine.asked == [[Gpu(n).uuid for n in (0, 1, 2)], [Gpu(n).uuid for n in (1, 2)]]
    machine.torch()
    assert machine.choose(python=sys.executable)["env"] == shows(Gpu(0))


def test_each_mig_device_is_tried_by_itself(machine: Machine) -> None:
    """A process sees one of them."""
    machine.smi(Gpu(0, mig=[("3g.20gb", "MIG-a"), ("3g.20gb", "MIG-b")]), Gpu(1, free=3000))
    machine.torch()
    assert machine.choose(python=sys.executable)["env"] == shows(Gpu(1))
    assert machine.asked == [["MIG-a"], ["MIG-b"], [Gpu(1).uuid]]


def test_an_interpreter_without_torch(machine: Machine, python38: str) -> None:
    machine.smi(Gpu(0))
    assert machine.choose(python=python38)["env"] == shows(Gpu(0))


# What others have


def test_two_at_once_never_get_the_same_card(machine: Machine) -> None:
    """remote 33"""
    machine.smi(Gpu(0), Gpu(1), Gpu(2))
    hosts = [machine.log_in() for _ in range(3)]
    chosen: list[str] = []

    def choose(number: int) -> None:
        chosen.extend(machine.choose(there=hosts[number], run_id=f"run-{number}")["chosen"])

    threads = [threading.Thread(target=choose, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(chosen) == [Gpu(number).uuid for number in range(3)]
    failed = machine.refused(run_id="run-3")
    assert failed.code == "no_gpu_free"
    assert "GPU 0 is taken by another run" in failed.hint
    hosts[1].close()  # and nothing of its run was begun
    assert machine.choose(run_id="run-3")["chosen"] == [chosen_of(hosts[1])]


def chosen_of(there: Host) -> str:
    """The card that a log-in marked."""
    taken = json.loads(Path(there.remote_dir, "gpus", "taken.json").read_text())
    return next(gpu for gpu, mark in taken.items() if mark["run_id"] == "run-3")


def test_a_check_takes_nothing(machine: Machine) -> None:
    machine.smi(Gpu(0))
    there = machine.log_in()
    assert machine.choose(there=there)["chosen"] == machine.choose(there=there, run_id="run")["chosen"]
    assert machine.refused(there=there).code == "no_gpu_free"


def test_the_card_is_its_run_s_while_the_run_lives(
    machine: Machine, standin: StandIn, archive: bytes, run_id: str
) -> None:
    """And the worker's environment names that card."""
    machine.smi(Gpu(0, free=39000), Gpu(1, free=3000))
    run = standin.add(run_id, archive, params={"does": "wait"})
    there = machine.log_in()
    given = machine.choose(there=there, run_id=run_id)
    assert given["chosen"] == [Gpu(0).uuid]
    seen: list[Any] = []

    def door(method: str, path: str, headers: Any, body: bytes) -> Any:
        if b'"now fit"' in body:
            machine.smi(Gpu(0, free=100), Gpu(1, free=3000))  # it computes
            other, again = machine.log_in(), machine.log_in()
            seen.append(machine.choose(there=other, run_id="other")["chosen"])
            seen.append(machine.choose(there=again, run_id=run_id)["chosen"])
            seen.append(machine.refused(run_id="third").code)
            other.close()
            again.close()
            worker = JobFolder(there.remote_dir, run_id).attempt(1).worker()
            assert worker is not None
            environ = Path(f"/proc/{worker.pid}/environ").read_bytes().split(b"\0")
            seen.append(f"CUDA_VISIBLE_DEVICES={Gpu(0).uuid}".encode() in environ)
            run.cancel = True
        return asks(standin)(method, path, headers, body)

    there.work(door, run_id, env=given["env"])
    assert seen == [[Gpu(1).uuid], [Gpu(0).uuid], "no_gpu_free", True]
    there.close()
    machine.smi(Gpu(0, free=39000), Gpu(1, free=3000))
    assert machine.choose(run_id="later")["chosen"] == [Gpu(0).uuid]
