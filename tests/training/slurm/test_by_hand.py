"""An agent that somebody starts on a login node which reaches the server: `--slurm-config`."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path

from agent_scene import RunningAgent
from jobs import write_bundle
from lab import wait_for
from potato.training.agent.agent import Leave
from potato.training.contract.events import read_lines
from slurm_cluster import Cluster
from slurm_scene import ITEMS, Login
from standin import BACKEND, TOKEN, pack, serving


def test_it_submits_with_the_settings_of_its_file(login: Login, cluster: Cluster, tmp_path: Path) -> None:
    """Its `job_python` goes before `--python`."""
    settings = tmp_path / "slurm.json"
    asked = {"partition": "main", "time": "5", "job_python": sys.executable, "poll_interval_s": 0.5}
    settings.write_text(json.dumps(asked), "utf-8")
    write_bundle(tmp_path / "bundle", ITEMS, {"s": ("nominal", ["a", "b"])})
    run_id = f"20261129T141500-{os.getpid()}-by-hand"
    with serving() as standin:
        run = standin.add(run_id, pack(tmp_path / "bundle"))
        options = ("--once", "--slurm-config", str(settings), "--python", "/bin/true")
        agent = RunningAgent(standin.url, TOKEN, login.folder / "work", *options, backend=BACKEND)
        try:
            assert agent.process.wait(120) == Leave.DONE, agent.said()
        finally:
            agent.stop()
        assert run.result is not None and run.result["exit_code"] == 0, agent.said()
    told = [event.fields.get("step", "") for event in read_lines(bytes(run.files["events.jsonl"]))[0]]
    assert any(step.startswith("Submitted SLURM job") and step.endswith("--partition=main --time=5") for step in told)
    assert [state for _, name, state, _ in cluster.jobs("all") if run_id in name] == ["COMPLETED"]
    wait_for(lambda: not cluster.jobs())


def test_a_work_folder_that_no_node_shares_is_refused(tmp_path: Path) -> None:
    settings = tmp_path / "slurm.json"
    settings.write_text("{}", "utf-8")
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        workdir, options = Path(folder, "work"), ("--slurm-config", str(settings))
        agent = RunningAgent("http://127.0.0.1:9", TOKEN, workdir, *options, backend=BACKEND)
        assert agent.process.wait(60) == Leave.USAGE
        assert f"compute nodes do not share {workdir}; name a folder that they do with --workdir" in agent.said()
