"""`packages`: an environment on the host, made once for each interpreter and list, and made anew when it is broken."""

from __future__ import annotations

import ensurepip
import re
import venv
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lab import use_fakes
from machines import Account, Machine
from ssh_scene import REMOTE_DIR, Scene, error, scene, settings, ssh_lab
from sshd import ALIAS, Host

Make = Callable[..., Host]

WHEEL = {
    "lonely/__init__.py": "ANSWER = 42\n",
    "lonely-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: lonely\nVersion: 1.0\n",
    "lonely-1.0.dist-info/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    "lonely-1.0.dist-info/RECORD": "",
}
"""A package that no index has."""

NO_INDEX = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": "/opt/wheels", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}


@pytest.fixture
def wheels(tmp_path: Path) -> Path:
    """A folder with the package."""
    folder = tmp_path / "wheels"
    folder.mkdir()
    with zipfile.ZipFile(folder / "lonely-1.0-py3-none-any.whl", "w") as file:
        for name, text in WHEEL.items():
            file.writestr(name, text)
    return folder


@pytest.fixture
def packaged(hosts: Make, wheels: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Makes a host, and a lab whose runs there get these packages."""
    use_fakes(monkeypatch)

    def make(packages: list[str], hidden: list[Path] | None = None, **more: Any) -> tuple[Host, Any]:
        host = hosts(machine=Machine(account=Account(), shown=[wheels], hidden=hidden or []))
        env = {**NO_INDEX, "PIP_FIND_LINKS": str(wheels)}
        lab = ssh_lab(tmp_path / "lab", {ALIAS: settings(env=env, packages=packages, **more)})
        return host, scene(lab)

    return make


def environments(host: Host) -> list[Path]:
    """The environments on the host."""
    return [path for path in (host.home / REMOTE_DIR / "envs").iterdir() if (path / "bin").exists()]


def answer(host: Host, environment: Path) -> str:
    """What the package says in this environment, beside a package of the interpreter that it was made with."""
    python = f"/{environment.relative_to(host.there.root)}/bin/python"
    return host.there.run(python, "-c", "import lonely, numpy; print(lonely.ANSWER)", user=True)


def made(lab: Scene, host: Host) -> tuple[Path, int]:
    """The one environment after a run, and when it was made."""
    lab.success(lab.submit())
    (environment,) = environments(host)
    assert answer(host, environment) == "42\n"
    return environment, (environment / "pyvenv.cfg").stat().st_mtime_ns


def test_it_is_made_once_and_again_when_it_is_broken(packaged: Callable[..., Any]) -> None:
    """remote 30"""
    host, labs = packaged(["lonely"])
    with labs as lab:
        first = made(lab, host)
        assert made(lab, host) == first
        (first[0] / "bin" / "python").unlink()
        second = made(lab, host)
        assert second[0] == first[0] and second[1] > first[1]


def test_a_python_that_lacks_ensurepip_will_do(packaged: Callable[..., Any]) -> None:
    """remote 30"""
    host, labs = packaged(["lonely"], hidden=[Path(ensurepip.__file__).parent])
    with labs as lab:
        made(lab, host)


def test_a_python_without_venv_is_told_from_others(packaged: Callable[..., Any]) -> None:
    """remote 30"""
    _, labs = packaged(["lonely"], hidden=[Path(venv.__file__).parent])
    with labs as lab:
        failure = error(lab.run())
        assert "venv" in failure["message"] and re.search("python3-venv|packages", failure["hint"]), failure
        report = lab.supervisor.check(ALIAS)
        assert not report.ok and any("venv" in line for line in report.lines), report.lines


def test_without_packages_venv_is_not_needed(packaged: Callable[..., Any]) -> None:
    host, labs = packaged([], hidden=[Path(venv.__file__).parent, Path(ensurepip.__file__).parent])
    with labs as lab:
        lab.success(lab.submit())
    assert not (host.home / REMOTE_DIR / "envs").exists()


def test_pip_s_own_words_are_shown_and_nothing_half_made_is_used(packaged: Callable[..., Any]) -> None:
    _, labs = packaged(["no-such-package-anywhere"])
    with labs as lab:
        for _ in range(2):
            failure = error(lab.run())
            assert "no-such-package-anywhere" in failure["message"], failure
            assert "No matching distribution found" in failure["message"], failure
