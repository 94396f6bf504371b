"""Runs in every state, made up for the tests of the training pages: rows in a real store, files in real folders."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from potato.project import Project
from potato.project.models import ProjectFile
from potato.schemes import Kind
from potato.store import Connection
from potato.store.clock import to_text
from potato.store.training import predictions
from potato.store.training import runs as stored
from potato.store.training.runs import Run, State
from potato.training.contract.events import EventWriter
from potato.training.results.scores import Scored, score
from potato.training.runs.folder import RunFolder

KEY = "an-admin-key"
NOW = datetime(2026, 11, 29, 15, 0, tzinfo=timezone.utc)
LABELS = ["positive", "negative", "mixed"]


def project(folder: Path, **training: Any) -> Project:
    """A project of three schemes, of which only the first two have a trainer in common; the data file is not there."""
    config = {
        "annotation_task_name": "Review Sentiment",
        "data_files": ["reviews.jsonl"],
        "admin_api_key": KEY,
        "annotation_schemes": [
            {"annotation_type": "radio", "name": "sentiment", "description": "Which?", "labels": LABELS},
            {"annotation_type": "multiselect", "name": "topics", "description": "About?", "labels": ["food", "room"]},
            {"annotation_type": "likert", "name": "stars", "description": "How many?", "size": 5},
        ],
        "model_training": {
            "enabled": True,
            "writeback": {"schemas": ["sentiment"], "include_unlabeled": True, "min_confidence": 0.6},
            "backends": {
                "gpu-server": {"type": "ssh", "host": "gpu.example.org"},
                "lab-workstation": {"type": "agent"},
            },
            **training,
        },
    }
    return Project(folder / "config.yaml", ProjectFile.model_validate(config))


def run(number: int, state: State, **fields: Any) -> Run:
    """The run of that number, an hour older for each number less."""
    created = NOW - timedelta(hours=100 - number)
    going = state not in (State.QUEUED,)
    ended = state in stored.FINISHED
    made = Run(
        run_id=f"{created:%Y%m%dT%H%M%S}-{number:06x}",
        state=state,
        trainer="sklearn-text",
        schemas=["sentiment"],
        params={"C": None, "class_weight": "balanced", "word_ngrams": 2},
        trigger="manual",
        started_by="admin",
        backend="local",
        backend_type="local",
        created_at=to_text(created),
        step={State.QUEUED: "waiting in the queue", State.BUILDING: "building the bundle"}.get(state, ""),
        host="this machine" if going else None,
        started_at=to_text(created + timedelta(seconds=2)) if going else None,
        finished_at=to_text(created + timedelta(seconds=76)) if ended else None,
        attempt=1 if going else 0,
        counts={"train": 120 + 10 * number, "val": 25, "test": 26, "predict": 180} if going else {},
    )
    return replace(made, **fields)


def succeeded(number: int, right: float = 0.8, held_out: int = 150, **fields: Any) -> Run:
    """A run that came to a good end; `right` is the share of answers that are."""
    scores = {"sentiment": nominal(right, held_out, seed=number)}
    return run(
        number,
        State.SUCCESS,
        device="cpu",
        digest="5f2d" * 16,
        metrics={"sentiment": {"val accuracy": 0.7812, "C": 3.0}},
        model_version=f"sklearn-text-{number:06x}",
        scores=scores,
        artifact_uri="artifacts",
        writeback={
            "read": 231,
            "written": 96,
            "skipped": {
                "train_split": 0,
                "held_out": 51,
                "not_listed": 0,
                "rejected": 0,
                "low_confidence": 84,
                "low_score": 0,
            },
            "by_scheme": {"sentiment": {"read": 231, "written": 96}},
            "reason": None,
        },
        **fields,
    )


def nominal(right: float, held_out: int, seed: int = 0) -> dict[str, Any]:
    """A score as the server computes it, of made-up predictions."""
    chance = random.Random(seed)

    def rows(count: int) -> list[Scored]:
        return [_scored(chance, right) for _ in range(count)]

    targets = ["positive"] * 60 + ["negative"] * 50 + ["mixed"] * 6
    return score(Kind.NOMINAL, LABELS, test=rows(held_out), val=rows(held_out // 2), train_targets=targets)


def _scored(chance: random.Random, right: float) -> Scored:
    target = chance.choices(LABELS, [5, 4, 1])[0]
    said = target if chance.random() < right else chance.choice(LABELS)
    sure = chance.uniform(0.4, 1)
    rest = dict.fromkeys(LABELS, (1 - sure) / 2)
    votes = [[target, 2]] if chance.random() < 0.8 else [[target, 1], [chance.choice(LABELS), 1]]
    return Scored(target, said, sure, {**rest, said: sure}, votes)


def write_course(project: Project, run_id: str, epochs: int = 12, lines: Sequence[str] = ()) -> RunFolder:
    """A journal with falling losses and rising scores, and a log."""
    folder = RunFolder.of(project, run_id)
    folder.artifacts.mkdir(parents=True)
    writer = EventWriter(str(folder.events))
    writer.status("running", "training sentiment")
    for epoch in range(1, epochs + 1):
        for part in range(5):
            step = (epoch - 1) * 50 + part * 10
            writer.metric(
                "train", "loss", 0.7 * math.exp(-step / 220) + 0.02 * math.sin(step), step, scheme="sentiment"
            )
        writer.metric("val", "loss", 0.68 * math.exp(-epoch / 7) + 0.1, epoch * 50, scheme="sentiment")
        writer.metric("val", "accuracy", 0.82 - 0.25 * math.exp(-epoch / 3), epoch * 50, scheme="sentiment")
        writer.metric("val", "macro_f1", 0.79 - 0.4 * math.exp(-epoch / 3), epoch * 50, scheme="sentiment")
    writer.close()
    shown = [f"2026-11-29 14:15:{second:02}  val accuracy 0.7{second:02} (step {second * 50})" for second in range(12)]
    folder.log.write_text("".join(f"{line}\n" for line in [*shown, *lines]), encoding="utf-8")
    return folder


def add(connection: Connection, *runs: Run, live: Run | None = None) -> None:
    """Put runs into the store; the pre-labels of `live` are shown."""
    for each in runs:
        stored.add(connection, each)
    if live is not None:
        passed = {"sentiment": (live.writeback or {}).get("written", 0)}
        predictions.set_live(connection, live.run_id, ["sentiment"], to_text(NOW), passed)
