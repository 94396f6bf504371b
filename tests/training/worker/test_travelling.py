"""What travels runs on Python 3.8 with the standard library alone."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from jobs import SOURCE, Job, environment
from potato.training.contract.exits import Exit

PACKAGES = ("agent", "contract", "host", "trainers", "worker")


def modules() -> list[str]:
    files = [file for package in PACKAGES for file in (SOURCE / "potato" / "training" / package).rglob("*.py")]
    names = [".".join(file.relative_to(SOURCE).with_suffix("").parts) for file in sorted(files)]
    return [name.removesuffix(".__init__") for name in names if not name.endswith("__main__")]


def test_every_module_imports_under_python_38_with_the_standard_library_alone(python38: str) -> None:
    program = f"""
import sys
sys.path.insert(0, {str(SOURCE)!r})
standard = set(sys.modules)
import {", ".join(modules())}
import sysconfig, json
home = sysconfig.get_paths()["stdlib"]
strange = [
    name for name, module in sys.modules.items()
    if getattr(module, "__file__", None) and not name.startswith("potato")
    and (not module.__file__.startswith(home) or "site-packages" in module.__file__)
]
print(json.dumps([sys.version_info[:2], strange]))
"""
    done = subprocess.run([python38, "-I", "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [[3, 8], []]


def test_a_whole_job_runs_under_python_38(job: Callable[..., Job], python38: str) -> None:
    made = job(schemas=("s", "other"))
    assert made.run(python=python38) == Exit.FINISHED, made.stderr()
    assert made.events()[-1].fields["n_predictions"] == 12


def test_an_interpreter_without_the_packages_is_named(job: Callable[..., Job], python38: str) -> None:
    if subprocess.run([python38, "-c", "import torch"], capture_output=True, check=False).returncode == 0:
        pytest.skip("this Python 3.8 has torch")
    made = job("hf-text-classification")
    assert made.run(python=python38) == Exit.PACKAGE_MISSING
    executable = subprocess.run([python38, "-c", "import sys; print(sys.executable)"], capture_output=True, check=True)
    assert made.events()[-1].fields["message"] == (
        "Trainer 'hf-text-classification' could not be imported: No module named 'torch'. "
        f"Install: {os.fsdecode(executable.stdout).strip()} -m pip install "
        "torch 'transformers>=4.46.0' 'peft>=0.13.0'"
    )


def test_nothing_that_travels_asks_for_a_newer_python() -> None:
    folders = [str(SOURCE / "potato" / "training" / package) for package in PACKAGES]
    vermin = Path(sys.executable).with_name("vermin")
    command = [str(vermin), "-t=3.8-", "--no-tips", "--violations", "--eval-annotations", *folders]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment())
    assert done.returncode == 0, done.stdout


def test_what_travels_is_small() -> None:
    """It is copied to every host, packed: under 200 kB."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        for package in PACKAGES:
            for file in (SOURCE / "potato" / "training" / package).rglob("*.py"):
                tar.add(file)
    assert len(packed.getvalue()) < 200_000
