"""Why a run ended, in words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from potato.errors import PotatoError
from potato.training.backends import Ended
from potato.training.runs import ends
from potato.training.runs.journal import Outcome


@pytest.mark.parametrize(
    ("outcome", "ended", "resumed", "code", "sentence"),
    [
        (Outcome(), Ended(0), False, "no_result", "The worker ended with exit code 0 and without a result"),
        (Outcome(), Ended(1), False, "no_result", "The worker ended with exit code 1 and without a result"),
        (Outcome(), Ended(4), False, "worker_stopped", "The worker was stopped from outside Potato"),
        (Outcome({"status": "cancelled"}), Ended(4), False, "worker_stopped", "stopped from outside"),
        (Outcome(), Ended(-9, True), False, "out_of_memory", "(signal 9): the machine ran out of memory"),
        (Outcome(), Ended(-9), False, "worker_killed", "The worker was killed by signal 9 (SIGKILL)"),
        (Outcome(), Ended(-11), False, "worker_killed", "The worker was killed by signal 11 (SIGSEGV)"),
        (Outcome(), Ended(-200), False, "worker_killed", "signal 200 (unknown)"),
        (Outcome(), Ended(None), True, "interrupted", "the server stopped while the run was going"),
        (Outcome(None, {"code": "x", "message": "m"}), Ended(None), True, "x", "m"),
        (Outcome(None, {"message": "m", "install_hint": "pip"}), Ended(3), False, "trainer_failed", "m"),
    ],
)
def test_an_end_without_a_result(outcome: Outcome, ended: Ended, resumed: bool, code: str, sentence: str) -> None:
    failed = ends.failure(outcome, ended, resumed)
    assert failed is not None
    assert failed.error["code"] == code
    assert sentence in failed.error["message"]


@pytest.mark.parametrize("code", [0, 1, -11, None])
def test_a_result_counts_however_the_process_ended(code: int | None) -> None:
    assert ends.failure(Outcome({"status": "success"}), Ended(code), resumed=True) is None


def test_limits_say_their_setting() -> None:
    assert ends.wall_time(3600).message == "The run was stopped after 3600 seconds (max_wall_seconds)"
    assert ends.wall_time(0.5).message == "The run was stopped after 0.5 seconds (max_wall_seconds)"
    hints = [str(ends.wall_time(1, in_slurm).hint) for in_slurm in (False, True)]
    assert ["SLURM's queue counts too" in hint for hint in hints] == [False, True]
    assert "(max_ram_mb)" in ends.memory_limit(300.4, 200).message
    assert "(max_predictions_mb)" in ends.predictions_too_large(600_000_000, 512).message


def test_a_line_of_cuda_that_everyone_meets_gets_its_hint(tmp_path: Path) -> None:
    stderr = tmp_path / "stderr.log"
    assert ends.hint_from_stderr(stderr) is None
    stderr.write_text("x" * 100_000 + "\nall is well\n", "utf-8")
    assert ends.hint_from_stderr(stderr) is None
    stderr.write_text("nvrtc: error: failed to open libnvrtc-builtins.so.12.9\n", "utf-8")
    assert "install the matching nvidia-cuda-nvrtc" in (ends.hint_from_stderr(stderr) or "")


def test_any_exception_becomes_an_error_without_a_traceback() -> None:
    class Known(PotatoError):
        code = "known"

    def shape(error: BaseException) -> dict[str, Any]:
        return ends.as_error(error)

    assert shape(Known("a sentence", hint="do it")) == {"code": "known", "message": "a sentence", "hint": "do it"}
    assert shape(KeyError("x"))["code"] == "internal"
    assert "KeyError" in shape(KeyError("x"))["message"]
