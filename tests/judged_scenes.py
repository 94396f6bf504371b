"""Runs with every page that opens behind their figures: held-out answers, a learning curve, each state and backend."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import training_scenes as scenes
from potato.schemes import Kind
from potato.store import Connection
from potato.store.training import held_out
from potato.store.training.held_out import HeldOut
from potato.store.training.runs import Run, State
from potato.training.results.curves import NEVER_SHOWN, SHARES
from potato.training.results.paired import paired
from potato.training.results.scores import Scored, score

BACKENDS = {
    "local": ("local", "this machine", "cpu"),
    "gpu-server": ("ssh", "gpu.example.org", "cuda:1 NVIDIA A40"),
    "cluster": ("slurm", "node017", "cuda:0 NVIDIA A100-SXM4-80GB"),
    "lab-workstation": ("agent", "lab-pc-3", "cuda:0 NVIDIA GeForce RTX 4090"),
}
STEPS = {
    ("ssh", State.QUEUED): "waiting in the queue",
    ("ssh", State.RUNNING): "copying the model from gpu.example.org: 120 of 330 MB",
    ("slurm", State.RUNNING): "SLURM job 4242: PENDING (Priority)",
    ("agent", State.QUEUED): "waiting for the agent on lab-workstation",
}
ERRORS = {
    "local": {
        "code": "out_of_memory",
        "message": "The worker was killed (signal 9): the machine ran out of memory",
        "hint": "take a smaller batch size or model, or run it on another backend",
    },
    "ssh": {
        "code": "ssh_refused",
        "message": "gpu.example.org refused the log-in: Permission denied (publickey)",
        "hint": "try `ssh gpu.example.org true` as the user that runs Potato, and see docs/training-on-a-gpu-host",
    },
    "slurm": {
        "code": "wall_time",
        "message": "SLURM ended job 4242: TIMEOUT after 01:00:00",
        "hint": "ask for more under sbatch.time, or train on fewer items",
    },
    "agent": {
        "code": "no_agent",
        "message": "No agent asked for work on lab-workstation for 3600 seconds",
        "hint": "start one: potato training agent --server URL --backend lab-workstation",
    },
}


def answers(seqs: Sequence[int], right: float, seed: int) -> list[HeldOut]:
    """People's answers and a model's for those items; a model that is wrong is less sure, but not always."""
    truth, chance = random.Random(7), random.Random(seed)
    rows = []
    for seq in seqs:
        target = truth.choices(scenes.LABELS, [5, 4, 1])[0]
        said = target if chance.random() < right else chance.choice(scenes.LABELS)
        sure = round(min(1.0, max(0.34, chance.gauss(0.82 if said == target else 0.6, 0.15))), 4)
        rows.append(HeldOut(seq, target, said, target, said, float(said != target), sure))
    return rows


def scored(rows: Sequence[HeldOut], seed: int = 0) -> dict[str, Any]:
    """The server's own score of those rows."""
    test = [Scored(row.target, row.said, row.confidence, None, [[row.target, 2]]) for row in rows]
    targets = ["positive"] * 60 + ["negative"] * 50 + ["mixed"] * 6
    return score(Kind.NOMINAL, scenes.LABELS, test=test, val=test[: len(test) // 2], train_targets=targets, seed=seed)


def judged(connection: Connection, number: int, seqs: Sequence[int], right: float = 0.8, **fields: Any) -> Run:
    """A run that ended well, in the store with all that its pages open."""
    rows = answers(seqs, right, seed=number)
    run = replace(scenes.succeeded(number), scores={"sentiment": scored(rows)}, **fields)
    run.counts["test"] = len(rows)
    scenes.add(connection, run)
    held_out.put(connection, run.run_id, "sentiment", rows)
    return run


def curve(connection: Connection, whole: Run, seqs: Sequence[int], rights: Sequence[float]) -> list[Run]:
    """The points of a run's learning curve; `rights` are their shares of right answers."""
    said = answers(seqs, 0.8, seed=_number(whole))
    made = []
    for nth, (share, right) in enumerate(zip(SHARES, rights, strict=True), 1):
        number = _number(whole) + nth
        rows = answers(seqs, right, seed=number)
        gain = paired(
            Kind.NOMINAL, [row.target for row in rows], [row.said for row in said], [row.said for row in rows], seed=0
        )
        score_ = {**scored(rows), "to_whole": gain.as_json()}
        shown = {"read": len(rows), "written": 0, "skipped": {"held_out": len(rows)}, "by_scheme": {}}
        run = replace(
            scenes.succeeded(number),
            train_share=share,
            curve_of=whole.run_id,
            scores={"sentiment": score_},
            writeback={**shown, "reason": NEVER_SHOWN},
            counts={**whole.counts, "train": int(whole.counts["train"] * share), "predict": 0},
        )
        scenes.add(connection, run)
        held_out.put(connection, run.run_id, "sentiment", rows)
        made.append(run)
    return made


def _number(run: Run) -> int:
    return int(run.run_id.rsplit("-", 1)[1], 16)


def every_state(first: int) -> list[Run]:
    """A run for each state and each type of backend, numbered from `first` on."""
    made = []
    for backend, (type_, host, device) in BACKENDS.items():
        for state in State:
            number = first + len(made)
            base = scenes.succeeded(number) if state is State.SUCCESS else scenes.run(number, state)
            on = {"backend": backend, "backend_type": type_}
            where = {"host": host, "device": device} if base.started_at else {}
            error = ERRORS[type_] if state is State.ERROR else None
            made.append(replace(base, step=STEPS.get((type_, state), base.step), error=error, **on, **where))
    return made
