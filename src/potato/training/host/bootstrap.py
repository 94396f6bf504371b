"""The text that starts the host's program: a script for `sh` on stdin, which becomes Python.

It prints markers with a fresh nonce, each on a line of its own. What comes before one is noise of the login shell's:

    POTATO-<nonce>-SH                            a shell reads this script
    POTATO-<nonce>-NOPYTHON                      there is no such interpreter; the exit code is 127
    POTATO-<nonce>-PY <version> <executable>     Python runs; from the next byte on there are frames

Nothing may be sent after the script until the last marker was read: a shell reads ahead.
"""

import os
import re
import shlex
from typing import List, Mapping

SHELL, NO_PYTHON, PYTHON = "SH", "NOPYTHON", "PY"


def marker(nonce: str, name: str) -> str:
    """The text at the beginning of a line that says how far the host has come: `SHELL`, `NO_PYTHON` or `PYTHON`."""
    return "POTATO-%s-%s" % (nonce, name)


def script(nonce: str, python: str, env: Mapping[str, str]) -> bytes:
    """The script. `env` is exported before Python is looked for; a `~/` at the start of the interpreter or of a value
    is the home there. Raises `ValueError` for a nonce or a name that is none."""
    if not re.fullmatch(r"[A-Za-z0-9]+", nonce):
        raise ValueError("the nonce %r is more than letters and digits" % nonce)
    lines = ["echo", "echo %s" % marker(nonce, SHELL), "PYTHONUTF8=1", "export PYTHONUTF8"]
    for name, value in env.items():
        lines += _exported(name, value)
    lines += [
        "python=%s" % _quoted(python),
        # A folder has its x too, and `command -v` names it in some shells.
        'case $python in */*) test -f "$python" -a -x "$python";; *) command -v "$python" >/dev/null 2>&1;; esac ||',
        "{ echo %s; exit 127; }" % marker(nonce, NO_PYTHON),
        'exec "$python" -u -c %s %s' % (shlex.quote(_stage1()), nonce),
    ]
    return ("\n".join(lines) + "\n").encode("utf-8", "surrogateescape")


def _exported(name: str, value: str) -> List[str]:
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        raise ValueError("%r is no variable's name" % name)
    return ["%s=%s" % (name, _quoted(value)), "export %s" % name]


def _quoted(text: str) -> str:
    return '"$HOME"/' + shlex.quote(text[2:]) if text.startswith("~/") else shlex.quote(text)


def _stage1() -> str:
    """The first program's own text."""
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "stage1.py"), encoding="ascii") as file:
        return file.read()
