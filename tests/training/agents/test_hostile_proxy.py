"""Runs over a way on which much goes wrong: not an event, a prediction or a run is lost or doubled.

`POTATO_FAULTS` says how many runs, all in all; each has a seed of its own.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from agent_scene import RunningAgent, Served, agent, agent_lab, served, token_for
from hostile_proxy import HostileProxy, Seeded, hostile_proxy
from keepers import left_of
from lab import Lab, use_fakes
from potato.store import tables
from potato.store.training import predictions
from potato.training.contract.events import read_lines
from potato.training.contract.predictions import read_predictions
from potato.training.runs.folder import RunFolder

RUNS = int(os.environ.get("POTATO_FAULTS", "40" if os.environ.get("CI") == "true" else "8"))
WAYS = [
    {"pieces": 512 << 10, "max_body": 1_000_000, "lines": 12_000},  # as they are: events of more than a megabyte
    {"pieces": 512 << 10, "max_body": 100_000, "lines": 3_000},  # a proxy that takes less than a piece
    {"pieces": 8 << 10, "max_body": 1_000_000, "lines": 1_000},
    {"pieces": 2 << 10, "max_body": 1_000_000, "lines": 400},
]
"""Kinds of way, and what is sent over it; each has a share of the runs."""


def a_lab(folder: Path) -> Lab:
    """Two hundred items of which sixty are labelled, and which a fake trainer predicts each in its own way."""
    items = [
        {"id": f"i{n}", "text": f"text {n}", "guess": ("positive", "negative")[n % 3 % 2], "sure": n / 200}
        for n in range(200)
    ]
    labels = {f"i{n}": ("positive", "negative")[n % 2] for n in range(60)}
    writeback = {"writeback": {"schemas": ["sentiment"], "include_unlabeled": True}, "retain_runs": 10_000}
    return agent_lab(folder, items=items, labels=labels, heartbeat_timeout_s=120, model_training=writeback)


@pytest.mark.timeout(120 + 20 * RUNS)
@pytest.mark.parametrize("way", range(len(WAYS)))
def test_nothing_is_lost_or_doubled(way: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: Any) -> None:
    use_fakes(monkeypatch)
    chosen, lab = WAYS[way], a_lab(tmp_path / "lab")
    seeds = range(way, RUNS, len(WAYS))
    with (
        served(lab, report_every_s=0.2, piece_bytes=chosen["pieces"]) as server,
        hostile_proxy(server.port, max_body=chosen["max_body"]) as proxy,
        agent(proxy.url, token_for(lab), tmp_path / "work", program="quick_agent") as running,
    ):
        for seed in seeds:
            one_run(server, proxy, running, seed, chosen["lines"])
        assert "Traceback" not in running.said()
    print(f"{len(seeds)} runs, {sum(proxy.count.values())} requests, faults: {dict(proxy.count)}")
    assert len(lab.rows(tables.runs.select())) == len(seeds)
    said = capfd.readouterr()
    print(said.out)
    assert "Traceback" not in said.err, said.err


def one_run(server: Served, proxy: HostileProxy, running: RunningAgent, seed: int, lines: int) -> None:
    """One run under the faults of a seed, and everything that must hold of it."""
    proxy.faults = Seeded(seed)
    run_id = server.submit(lines=lines)
    run = server.finished(run_id, 240)
    assert run["state"] == "success", (seed, run["error"], server.log(run_id), running.said())
    assert run["attempt"] == 1, (seed, server.log(run_id))
    attempts = running.workdir / "jobs" / run_id
    assert [path.name for path in attempts.glob("attempt-*")] == ["attempt-1"]
    written, brought = attempts / "attempt-1", RunFolder.of(server.lab.project, run_id)
    for name in ("events.jsonl", "predictions.jsonl", "stderr.log"):
        assert (brought.path / name).read_bytes() == (written / name).read_bytes(), (seed, name)
    assert left_of(run_id) == []
    each_event_once(server.lab, run_id, brought, lines)
    each_prediction_once(server.lab, run_id, brought)


def each_event_once(lab: Lab, run_id: str, folder: RunFolder, lines: int) -> None:
    """The row reflects the whole journal; the log, written as events are applied, has each line once, in order."""
    events, taken = read_lines(folder.events.read_bytes())
    assert lab.run(run_id).applied == taken == folder.events.stat().st_size
    assert [event.fields["state"] for event in events if event.name == "status"].count("starting") == 1
    numbered = [f"line {number}" for number in range(lines)]
    assert [event.fields["msg"] for event in events if "line " in event.fields.get("msg", "")] == numbered
    logged = (line.split("  ", 1)[1] for line in folder.log.read_text("utf-8").splitlines())
    assert [line for line in logged if line.startswith("line ")] == numbered


def each_prediction_once(lab: Lab, run_id: str, folder: RunFolder) -> None:
    """The store holds exactly what the file says."""
    with folder.predictions.open("rb") as file:
        said = {one.instance_id: (one.payload, one.confidence) for one in read_predictions(file)}
    assert len(said) > 140 and len(set(said.values())) > 100
    with lab.database.read() as connection:
        assert predictions.count(connection, run_id) == len(said)
        stored = predictions.said_of(connection, run_id, "sentiment", list(said))
    assert {ident: (one.payload, one.confidence) for ident, one in stored.items()} == said
