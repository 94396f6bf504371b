"""Virtual environments on a host: made once, made anew when broken, with whatever the Python there can do."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from host_scene import Failed, Host
from lab import wait_for

pytestmark = pytest.mark.computes  # pip keeps a core busy

Start = Callable[..., Host]

BLOCK = """
import os, sys

class Blocking:
    def __init__(self, finder):
        self.finder = finder

    def __getattr__(self, name):
        return getattr(self.finder, name)

    def find_spec(self, name, path=None, target=None):
        blocked = name.split(".")[0] in os.environ.get("TEST_BLOCKED", "").split(",")
        return None if blocked else self.finder.find_spec(name, path, target)

sys.meta_path[:] = [Blocking(finder) for finder in sys.meta_path]
"""
"""For a `sitecustomize.py`: an interpreter that lacks modules."""


def wheel(folder: Path, name: str, code: str) -> str:
    """A package that no index has; its path."""
    folder.mkdir(exist_ok=True)
    path = folder / f"{name}-1.0-py3-none-any.whl"
    info = f"{name}-1.0.dist-info"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr(f"{name}.py", code)
        file.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        file.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        file.writestr(f"{info}/RECORD", "")
    return str(path)


@pytest.fixture
def lonely(tmp_path: Path) -> str:
    return wheel(tmp_path / "wheels", "lonely", "ANSWER = 42\n")


@pytest.fixture
def there(host: Start, tmp_path: Path) -> Callable[..., Host]:
    """Logs in with pip kept from the network, and some modules of its Python out of sight."""
    (tmp_path / "blocking").mkdir()
    (tmp_path / "blocking" / "sitecustomize.py").write_text(BLOCK)

    def log_in(*blocked: str, **more: Any) -> Host:
        env = {"PIP_NO_INDEX": "1", "PIP_CONFIG_FILE": os.devnull, "TEST_BLOCKED": ",".join(blocked)}
        return host(env={**env, "PYTHONPATH": str(tmp_path / "blocking")}, **more)

    return log_in


def says(python: str, program: str) -> str:
    done = subprocess.run([python, "-c", program], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_it_is_made_once_and_made_anew_when_it_is_broken(there: Start, lonely: str) -> None:
    one = there()
    first = one.call("environment", packages=[lonely])
    assert first["made"]
    assert first["python"].startswith(one.remote_dir + "/envs/")
    assert any("lonely" in frame["progress"] for frame in one.progress), one.progress
    assert says(first["python"], "import lonely; print(lonely.ANSWER)") == "42"
    again = {"python": first["python"], "made": False, "ok": True}
    assert there().call("environment", packages=[lonely]) == again
    assert there().call("environment", packages=[lonely], look=True) == again
    assert there().call("environment", packages=[lonely, "lonely"])["python"] != first["python"]

    folder = Path(first["python"]).parents[1]
    for broken in (
        lambda: Path(first["python"]).unlink(),
        lambda: (folder / "complete.json").unlink(),
        lambda: next(folder.rglob("lonely.py")).unlink(),
    ):
        broken()
        assert there().call("environment", packages=[lonely], look=True)["python"] is None
        assert there().call("environment", packages=[lonely]) == {**again, "made": True}
        assert says(first["python"], "import lonely; print(lonely.ANSWER)") == "42"


def test_what_the_interpreter_has_stays_visible(there: Start, lonely: str, tmp_path: Path) -> None:
    """That of a virtual environment too, when the interpreter is one's: `venv` itself shows what lies below it."""
    parent = tmp_path / "parent"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(parent)], check=True)
    libraries = says(str(parent / "bin" / "python"), "import sysconfig; print(sysconfig.get_path('purelib'))")
    Path(libraries, "torch.py").write_text("BUILD = 'cu121'\n")
    one = there(python=str(parent / "bin" / "python"))
    made = one.call("environment", packages=[lonely])
    assert says(made["python"], "import lonely, torch; print(torch.BUILD)") == "cu121"


def test_python_38(there: Start, lonely: str, python38: str) -> None:
    made = there(python=python38).call("environment", packages=[lonely])
    assert says(made["python"], "import sys, lonely; print(sys.version_info[:2], lonely.ANSWER)") == "(3, 8) 42"


def test_a_python_without_pip_gets_one(there: Start, lonely: str, python38: str, tmp_path: Path) -> None:
    """Where only the new environment's own pip is there."""
    hide = tmp_path / "blocking" / "sitecustomize.py"
    hide.write_text(BLOCK.replace('os.environ.get("TEST_BLOCKED", "")', '("" if "/envs/" in sys.prefix else "pip")'))
    made = there(python=python38).call("environment", packages=[lonely])
    assert says(made["python"], "import lonely; print(lonely.ANSWER)") == "42"
    assert (Path(made["python"]).parent / "pip").exists()


def test_a_python_without_ensurepip_will_do(there: Start, lonely: str, python38: str) -> None:
    """Debian's has venv but no ensurepip; the interpreter's own pip does it."""
    made = there("ensurepip", python=python38).call("environment", packages=[lonely])
    assert says(made["python"], "import lonely; print(lonely.ANSWER)") == "42"


@pytest.mark.parametrize(
    ("blocked", "code", "said"),
    [
        (("venv", "virtualenv"), "no_venv", "cannot make a virtual environment (venv): "),
        (("ensurepip", "pip"), "no_pip", "has no pip to install packages with: "),
    ],
)
@pytest.mark.parametrize("look", [False, True])
def test_a_python_that_cannot_is_named(
    there: Start, lonely: str, blocked: tuple[str, ...], code: str, said: str, look: bool, python38: str
) -> None:
    one = there(*blocked, python=python38)
    with pytest.raises(Failed, match=r"No module named") as caught:
        one.call("environment", packages=[lonely], look=look)
    assert (caught.value.code, said in caught.value.error) == (code, True), caught.value
    assert one.executable in caught.value.error
    assert "python3-venv" in caught.value.hint
    assert not list(Path(one.remote_dir, "envs").glob("*/"))


def test_pip_s_own_words_are_told(there: Start) -> None:
    with pytest.raises(Failed) as caught:
        there().call("environment", packages=["no-such-package-anywhere"])
    assert caught.value.code == "packages_not_installed"
    assert "no-such-package-anywhere" in caught.value.error
    assert "No matching distribution found" in caught.value.error


def test_two_at_once_make_one(there: Callable[..., Host], lonely: str) -> None:
    hosts = [there(), there()]
    answers: list[dict[str, Any]] = []
    threads = [
        threading.Thread(target=lambda one=one: answers.append(one.call("environment", packages=[lonely])))
        for one in hosts
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(answer["made"] for answer in answers) == [False, True]
    assert answers[0]["python"] == answers[1]["python"]


PIP = """
import os, sys, time
if "install" in sys.argv:
    with open(sys.argv[0] + ".pid", "w") as file:
        file.write("%d\\n" % os.getpid())
    time.sleep(600)
"""
"""A pip that never ends."""


def test_what_was_cut_off_is_made_anew(there: Callable[..., Host], lonely: str, tmp_path: Path) -> None:
    """And while somebody still works at it, as a killed host's pip may, nobody else does."""
    stub = tmp_path / "blocking" / "pip"
    stub.mkdir()
    (stub / "__init__.py").write_text("")
    (stub / "__main__.py").write_text(PIP)
    first = there()
    first.channel.send({"call": "environment", "packages": [lonely]})
    left = wait_for(lambda: pid_in(stub), 120)
    first.process.kill()
    first.close()
    (folder,) = Path(first.remote_dir, "envs").glob("*/")
    assert not (folder / "complete.json").exists()

    second = there()
    second.channel.send({"call": "environment", "packages": [lonely]})
    while second.channel.receive(60)[0].get("progress") != "another run makes the environment":
        pass
    (stub / "__main__.py.pid").unlink()
    os.kill(left, signal.SIGKILL)
    again = wait_for(lambda: pid_in(stub), 120)
    second.close()  # with the connection, its pip ends at once
    wait_for(lambda: not Path(f"/proc/{again}").exists(), 60)

    shutil.rmtree(stub)
    made = there().call("environment", packages=[lonely])
    assert made["made"]
    assert says(made["python"], "import lonely; print(lonely.ANSWER)") == "42"


def pid_in(folder: Path) -> int:
    """The pid that the endless pip left, or 0."""
    path = folder / "__main__.py.pid"
    text = path.read_text() if path.exists() else ""
    return int(text) if text.endswith("\n") else 0
