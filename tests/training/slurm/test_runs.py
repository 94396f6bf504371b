"""Runs as jobs of a real SLURM: from the claim to the last byte."""

from __future__ import annotations

import platform
from pathlib import Path

from slurm_scene import Login


def test_a_run_becomes_a_job_and_comes_back_whole(login: Login) -> None:
    one = login.submit({"partition": "main", "time": "5", "mem": "300"})
    record = one.ended()
    assert record["exit_code"] == 0 and record["reason"] is None, one.log()
    number = one.job_id()
    log = one.log()
    assert f"Submitted SLURM job {number} with --partition=main --time=5 --mem=300" in log
    assert any(line.startswith(f"SLURM job {number}: RUNNING on n") for line in log)
    assert log.index("SLURM has started the job") < log.index("starting the worker")
    assert one.results() == ["success"]
    assert len(one.run.files["predictions.jsonl"].splitlines()) == 5
    host, _, folder = record["artifact_uri"].partition(":")
    assert host == platform.node() and list(Path(folder).rglob("first.txt"))
    assert not (one.folder / "code").exists()
