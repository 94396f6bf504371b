"""The courier over a connection: whatever breaks, the job goes on with the next."""

from __future__ import annotations

import json
from collections.abc import Callable

from host_scene import Host, asks
from standin import StandIn

Start = Callable[..., Host]


def test_a_job_goes_all_the_way(standin: StandIn, host: Start, archive: bytes, run_id: str) -> None:
    run = standin.add(run_id, archive)
    there = host()
    assert there.greeting["remote_dir"].endswith("/home/.cache/potato-training")
    ended = there.work(asks(standin), run_id)
    assert (ended["code"], run.result and run.result["exit_code"]) == (0, 0), run.files["stderr.log"]
    assert ended["said"] == [f"run {run_id}: the worker has finished"]
    lines = bytes(run.files["predictions.jsonl"]).splitlines()
    assert [json.loads(line)["instance_id"] for line in lines] == ["v", "p0", "p1", "p2"]
