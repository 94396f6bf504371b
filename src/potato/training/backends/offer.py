"""A job as its agent gets it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import Any

from potato.training.backends.base import Job

REPORT_EVERY_S = 1.0
PIECE_BYTES = 512 * 1024
"""Small enough for a proxy that takes bodies of 1 MB."""

Pack = Callable[[Job], "Future[Any]"]
"""Has the bundle of a job packed; the answer has `path`, `size` and `sha256`."""


def offer(
    job: Job,
    attempt: int,
    packed: Mapping[str, Any],
    *,
    heartbeat_timeout_s: float,
    give_up_s: float,
    device: str = "auto",
    num_threads: int | None = None,
    report_every_s: float = REPORT_EVERY_S,
) -> dict[str, Any]:
    """The job as `POST claim` answers it; `give_up_s` is how long the agent goes on without a word of the server's."""
    return {
        "run_id": job.run_id,
        "attempt": attempt,
        "trainer": job.trainer,
        "schemas": list(job.schemas),
        "params": job.params,
        "seed": job.seed,
        "device": device,
        "num_threads": num_threads,
        "bundle": {"bytes": packed["size"], "sha256": packed["sha256"]},
        "grace_seconds": job.grace_seconds,
        "heartbeat_timeout_s": heartbeat_timeout_s,
        "report_every_s": report_every_s,
        "give_up_s": give_up_s,
        "piece_bytes": PIECE_BYTES,
    }
