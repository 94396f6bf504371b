"""Running SLURM's programs: never longer than a limit, and never steered by variables meant for somebody else's job."""

import contextlib
import os
import re
import signal
import subprocess
import time
from dataclasses import dataclass
from typing import Callable, Dict, List, Mapping, Optional, Sequence

TICK_S = 0.05
_STEERING = re.compile(r"(SBATCH|SQUEUE|SCANCEL|SCONTROL|SALLOC|SRUN|SLURM|SLURMD|SACCT|PMI|PMIX)_")
_KEPT = ("SLURM_CONF",)
_SAYS = re.compile(r"^(sbatch|squeue|scancel|scontrol|slurm_[a-z_]+): ?((fatal|error|warning|info): ?)?", re.IGNORECASE)


class NoProgram(Exception):
    """A program of SLURM's that is not on `PATH`."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


@dataclass(frozen=True)
class Said:
    """What a program printed. `code` is None where it had to be killed after `limit_s`."""

    code: Optional[int]
    out: str
    err: str
    limit_s: float = 0.0

    @property
    def words(self) -> str:
        """What it has to say for itself, on one line: errors without their program's name, the last first."""
        if self.code is None:
            return "no answer within %g seconds" % self.limit_s
        lines = [_SAYS.sub("", line.strip()) for line in (self.err.strip() or self.out.strip()).splitlines()]
        told = [line for line in lines if line]
        return told[-1][:500] if told else "exit code %d and not a word" % self.code


def environment(own: Mapping[str, str], root: str = "") -> Dict[str, str]:
    """`own` without what would steer SLURM's programs, or hand this very Potato (in `root`) to the job."""
    kept = {name: value for name, value in own.items() if name in _KEPT or not _STEERING.match(name)}
    path = [entry for entry in kept.pop("PYTHONPATH", "").split(os.pathsep) if entry not in ("", root)]
    if path:
        kept["PYTHONPATH"] = os.pathsep.join(path)
    return kept


def run(
    command: Sequence[str], env: Mapping[str, str], limit_s: float, meanwhile: Callable[[], None], cwd: str = "/"
) -> Said:
    """Run a program, calling `meanwhile` again and again until it ends. Raises `NoProgram`."""
    try:
        child = subprocess.Popen(
            list(command),
            env=dict(env),
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except FileNotFoundError as error:
        raise NoProgram(command[0]) from error
    end = time.monotonic() + limit_s
    while True:
        try:
            out, err = child.communicate(timeout=TICK_S)
        except subprocess.TimeoutExpired:
            if time.monotonic() >= end:
                _kill(child)
                return Said(None, "", "", limit_s)
            meanwhile()
        else:
            return Said(child.returncode, _text(out), _text(err))


def lacking(names: Sequence[str], path: Optional[str]) -> List[str]:
    """The programs of `names` that are not on `path`."""
    import shutil

    return [name for name in names if shutil.which(name, path=path) is None]


def _kill(child: "subprocess.Popen[bytes]") -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
    with contextlib.suppress(subprocess.TimeoutExpired):  # it hangs in the kernel
        child.communicate(timeout=1.0)


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")
