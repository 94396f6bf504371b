"""How a run can end early, and what its page says then."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

from potato.errors import PotatoError
from potato.store.databases.unreachable import StoreUnreachable
from potato.store.election import OutOfOffice
from potato.tasks import TaskRefused
from potato.training.backends import Ended
from potato.training.contract.exits import Exit
from potato.training.runs.journal import Outcome
from potato.training.runs.words import error_of

SEE_LOGS = "the run's log and stderr.log have what the trainer said last"

_NVRTC = "failed to open libnvrtc-builtins"


class ServerCloses(Exception):
    """Not an end: the server is going down, and the run is taken up again by the next one."""


LEAVING = (ServerCloses, OutOfOffice, StoreUnreachable)
"""What is no end of a run: it is taken up again, by this server process or another."""


class RunCancelled(Exception):
    """Somebody cancelled the run."""


class RunFailed(PotatoError):
    """The run ends with an error."""

    code = "run_failed"
    status = 500

    def __init__(self, code: str, message: str, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.error = {"code": code, "message": message, "hint": hint}


def leaving_for(refused: TaskRefused) -> Exception | None:
    """What is in `LEAVING` as the child process has told of it; None for any other error."""
    return next((kind() for kind in (OutOfOffice, StoreUnreachable) if refused.code == kind.code), None)


def wall_time(seconds: float, in_slurm: bool = False) -> RunFailed:
    """The run took longer than `max_wall_seconds`, which its time in SLURM's queue counts for."""
    hint = "raise max_wall_seconds under model_training, or train on fewer items"
    return RunFailed(
        "wall_time",
        f"The run was stopped after {seconds:g} seconds (max_wall_seconds)",
        f"{hint}; the time in SLURM's queue counts too" if in_slurm else hint,
    )


def memory_limit(used_mb: float, limit_mb: int) -> RunFailed:
    """The worker used more than `max_ram_mb`."""
    return RunFailed(
        "max_ram",
        f"The run was stopped: it used {used_mb:.0f} MB, more than {limit_mb} MB (max_ram_mb)",
        "raise max_ram_mb under model_training, or take a smaller batch size or model",
    )


def predictions_too_large(size: int, limit_mb: int) -> RunFailed:
    """The predictions file passed `max_predictions_mb`."""
    return RunFailed(
        "predictions_too_large",
        f"The run's predictions are {size / 1e6:.0f} MB, more than {limit_mb} MB (max_predictions_mb)",
        "raise max_predictions_mb under model_training, or predict fewer items",
    )


def interrupted(left_on: str | None) -> RunFailed:
    """The worker of a run that an earlier server process started is gone without a word; or it was left on another
    machine, where nobody can follow it."""
    if left_on is not None:
        return RunFailed(
            "interrupted",
            f"the run was going on {left_on}, and the server that supervises now, on another machine, cannot follow it",
            f"start the run again; a server of this project on {left_on} ends what still goes on there",
        )
    return RunFailed(
        "interrupted",
        "the server stopped while the run was going",
        "start the run again; nothing that was labelled is lost",
    )


def failure(outcome: Outcome, ended: Ended, resumed: bool, left_on: str | None = None) -> RunFailed | None:
    """Why a run failed whose worker is gone; None where it came to a result. `left_on` is the machine on which the
    earlier server process started it, where that is another than this."""
    if outcome.result is not None and outcome.result.get("status") == "success":
        return None
    if outcome.error is not None:
        error = error_of(outcome.error)
        return RunFailed(error["code"], error["message"], error["hint"])
    if ended.code is None and resumed:
        return interrupted(left_on)
    return _unexplained(ended)


def hint_from_stderr(path: Path) -> str | None:
    """What a known line in the worker's stderr means."""
    try:
        with path.open("rb") as file:
            file.seek(0, 2)
            file.seek(max(0, file.tell() - 65536))
            tail = file.read().decode("utf-8", "replace")
    except FileNotFoundError:
        return None
    if _NVRTC in tail:
        return (
            "torch and nvidia-cuda-nvrtc are of different CUDA versions: "
            "install the matching nvidia-cuda-nvrtc, or use another interpreter"
        )
    return None


def _unexplained(ended: Ended) -> RunFailed:
    if ended.code is None:
        return RunFailed("worker_lost", "The worker ended without a result, and left no exit code", SEE_LOGS)
    if ended.code < 0:
        return _signalled(-ended.code, ended.ran_out_of_memory)
    if ended.code == Exit.CANCELLED:
        return RunFailed("worker_stopped", "The worker was stopped from outside Potato", "start the run again")
    message = f"The worker ended with exit code {ended.code} and without a result"
    return RunFailed("no_result", message, SEE_LOGS)


def _signalled(number: int, ran_out_of_memory: bool) -> RunFailed:
    if number == signal.SIGKILL and ran_out_of_memory:
        return RunFailed(
            "out_of_memory",
            "The worker was killed (signal 9): the machine ran out of memory",
            "take a smaller batch size or model, or run it on another backend",
        )
    name = _signal_name(number)
    return RunFailed("worker_killed", f"The worker was killed by signal {number} ({name})", SEE_LOGS)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return "unknown"


def as_error(error: BaseException) -> dict[str, Any]:
    """Any exception as a run's error."""
    if isinstance(error, RunFailed):
        return error.error
    if isinstance(error, PotatoError):
        return {"code": error.code, "message": error.message, "hint": error.hint}
    message = f"The server met an error that it does not know: {type(error).__name__}: {error}"
    return {"code": "internal", "message": message[:2000], "hint": "the server's own output has the details"}
