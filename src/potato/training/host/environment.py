"""The call `environment`: a virtual environment with a backend's packages, made once for each interpreter and list.

It sees the interpreter's own packages, so a CUDA build of torch that is installed there stays visible. Its marker is
written last: what lacks it, or does not run any more, is made anew.
"""

import hashlib
import importlib.util
import json
import os
import re
import shutil
import site
import sys
import sysconfig
import time
from typing import Any, Dict, List, Mapping, Sequence

from potato.training.agent.folder import read_json
from potato.training.contract.files import write_atomic, write_json
from potato.training.host import children
from potato.training.host.children import Done
from potato.training.host.failures import CallFailed, disk_full
from potato.training.host.lock import Lock
from potato.training.host.session import Session

LIMIT_S = 300.0
"""For everything but pip's downloads, which take as long as they take."""
SAID_EVERY_S = 1.0
_FULL = ("No space left on device", "Disk quota exceeded")
_OTHERWISE = "or leave packages empty and set python to an interpreter that has them"


def environment(session: Session, call: Mapping[str, Any]) -> Dict[str, Any]:
    """The environment's interpreter, and whether it was made just now; with `look`, only what a run would find.

    Raises `CallFailed`, `OSError`.
    """
    made = Environment(session, [str(package) for package in call["packages"]])
    if not call.get("look"):
        return {"python": made.python, "made": made.make()}
    if made.is_whole():
        return {"python": made.python, "made": False}
    made.look()
    return {"python": None, "made": False}


class Environment:
    """The environment of this interpreter with these packages."""

    def __init__(self, session: Session, packages: Sequence[str]) -> None:
        self._session = session
        self._packages = list(packages)
        told = [sys.executable, sys.prefix, sys.version, sysconfig.get_platform(), self._packages]
        name = hashlib.sha256(json.dumps(told).encode()).hexdigest()[:16]
        self._folder = os.path.join(session.remote_dir, "envs", name)
        self._marker = os.path.join(self._folder, "complete.json")
        self._said = 0.0
        self._hold: Sequence[int] = ()
        self.python = os.path.join(self._folder, "bin", "python")

    def make(self) -> bool:
        """Have it whole; whether that took making it. Raises `CallFailed`, `OSError`."""
        os.makedirs(os.path.dirname(self._folder), mode=0o700, exist_ok=True)
        with Lock(self._folder + ".lock", lambda: self._say("another run makes the environment")) as lock:
            if self.is_whole():
                os.utime(self._folder)
                return False
            shutil.rmtree(self._folder, ignore_errors=True)
            try:
                self._make_anew(lock)
            except BaseException:
                shutil.rmtree(self._folder, ignore_errors=True)
                raise
            return True

    def look(self) -> None:
        """Raise what `make` would for want of a module."""
        if not (_is_there("venv") or _is_there("virtualenv")):
            raise _no_venv("No module named venv")
        if not (_is_there("ensurepip") or _is_there("pip")):
            raise _no_pip("No module named pip")

    def is_whole(self) -> bool:
        """Whether it was made to its end, nothing went from it since, and its interpreter runs."""
        marker = read_json(self._marker)
        if marker is None or not os.path.exists(self.python):
            return False
        gone = [path for path, names in marker["contents"].items() if _names(path) != names]
        return not gone and self._run("looking at the environment", [self.python, "-c", ""]).code == 0

    def _make_anew(self, lock: Lock) -> None:
        """Whoever still works at it, should this process be killed, holds the lock until that is gone as well."""
        self._hold = [lock.descriptor]
        self._make_venv()
        libraries = self._libraries()
        self._show_parent(libraries)
        self._install(self._pip())
        write_json(self._marker, {"packages": self._packages, "contents": {path: _names(path) for path in libraries}})

    def _make_venv(self) -> None:
        """Make it, with a pip of its own only where the interpreter has none: bringing one takes seconds, and Debian's
        venv cannot."""
        self._say("making a virtual environment")
        bare, full = ["venv", "--without-pip"], ["venv"]
        ways = [bare, full] if _is_there("pip") else [full, bare]
        said = ""
        for way in [*ways, ["virtualenv"]]:
            command = [sys.executable, "-m", *way, "--system-site-packages", self._folder]
            done = self._run("making a virtual environment", command)
            if done.code == 0:
                return
            self._refuse_full(done)
            said = said or done.said
            shutil.rmtree(self._folder, ignore_errors=True)
        raise _no_venv(said)

    def _libraries(self) -> List[str]:
        """The folders that its packages go to."""
        program = "import json, sysconfig; print(json.dumps([sysconfig.get_path(n) for n in ('purelib', 'platlib')]))"
        done = self._run("looking at the environment", [self.python, "-c", program])
        if done.code != 0:
            raise _no_venv(done.said)
        return sorted(set(json.loads(done.out.splitlines()[-1])))

    def _show_parent(self, libraries: Sequence[str]) -> None:
        """Where the interpreter is a virtual environment itself, show that one's packages too: `venv` shows those of
        the Python below it."""
        if sys.prefix != sys.base_prefix:
            os.makedirs(libraries[0], exist_ok=True)
            parents = "".join(path + "\n" for path in site.getsitepackages())
            write_atomic(os.path.join(libraries[0], "potato-parent.pth"), parents.encode("utf-8", "surrogateescape"))

    def _pip(self) -> List[str]:
        """A command that is pip for this environment."""
        pip = [self.python, "-m", "pip"]
        done = self._run("looking for pip", [*pip, "--version"])
        if done.code != 0:
            self._run("bringing pip", [self.python, "-m", "ensurepip"])
            done = self._run("looking for pip", [*pip, "--version"])
        if done.code != 0:
            raise _no_pip(done.said)
        return pip

    def _install(self, pip: Sequence[str]) -> None:
        wanted = os.path.join(self._folder, "requirements.txt")
        scratch = os.path.join(self._folder, "tmp")
        write_atomic(wanted, "".join(package + "\n" for package in self._packages).encode())
        os.mkdir(scratch)
        # On the same disk: a /tmp in memory is too small for some packages, or cannot be written.
        env = {name: value for name, value in os.environ.items() if name not in ("PIP_TARGET", "PIP_PREFIX")}
        env.update(TMPDIR=scratch, PIP_USER="0", PIP_NO_INPUT="1", PIP_DISABLE_PIP_VERSION_CHECK="1")
        done = children.run(
            self._session,
            [*pip, "install", "-r", wanted],
            "installing packages",
            env=env,
            on_line=self._say,
            holding=self._hold,
        )
        shutil.rmtree(scratch, ignore_errors=True)
        if done.code != 0:
            self._refuse_full(done)
            raise CallFailed(
                "packages_not_installed",
                "The packages could not be installed: %s" % last_words(done),
                "mend the list packages, or set python to an interpreter that has them",
            )

    def _run(self, doing: str, command: Sequence[str]) -> Done:
        return children.run(self._session, command, doing, LIMIT_S, holding=self._hold)

    def _refuse_full(self, done: Done) -> None:
        if any(sign in done.out + done.err for sign in _FULL):
            raise disk_full(self._folder, quota=_FULL[1] in done.out + done.err)

    def _say(self, text: str) -> None:
        if text.strip() and time.monotonic() - self._said >= SAID_EVERY_S:
            self._said = time.monotonic()
            self._session.progress(text.strip()[:200])


def last_words(done: Done) -> str:
    """What pip said last: its errors, or else the last lines that it printed."""
    lines = [line.strip() for line in (done.out + "\n" + done.err).splitlines() if line.strip()]
    errors = [re.sub(r"^ERROR: ", "", line) for line in lines if line.startswith("ERROR: ")]
    return "; ".join((errors or lines)[-3:])[:1000] or "pip said nothing"


def _is_there(module: str) -> bool:
    """Whether this interpreter has it; a folder that was emptied is no module."""
    found = importlib.util.find_spec(module)
    return found is not None and found.origin is not None


def _names(path: str) -> List[str]:
    """What lies in a folder, without what Python adds when it imports."""
    try:
        return sorted(name for name in os.listdir(path) if name != "__pycache__")
    except OSError:
        return []


def _no_venv(said: str) -> CallFailed:
    told = "%s cannot make a virtual environment (venv): %s" % (sys.executable, said)
    return CallFailed("no_venv", told, "install python3-venv there, " + _OTHERWISE)


def _no_pip(said: str) -> CallFailed:
    told = "%s has no pip to install packages with: %s" % (sys.executable, said)
    return CallFailed("no_pip", told, "install python3-pip or python3-venv there, " + _OTHERWISE)
