"""Bundles and jobs for tests of the worker and the trainers."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from potato.training.contract.bundle import SPLITS, Bundle, BundleItem
from potato.training.contract.events import Event, read_lines
from potato.training.contract.predictions import Prediction, read_predictions
from potato.training.contract.spec import Spec
from potato.training.trainers.base import Task, TrainerInfo

SOURCE = Path(__file__).parents[1] / "src"
STRANGE = Path(__file__).parent / "training" / "worker" / "strange"
"""A folder with trainers that end in every way that a trainer may."""


@dataclass(frozen=True)
class Item:
    """One item of a bundle that is to be written."""

    id: str
    text: str
    split: str
    targets: dict[str, Any] = field(default_factory=dict)
    media: dict[str, str] = field(default_factory=dict)
    fields: dict[str, Any] = field(default_factory=dict)

    def line(self) -> str:
        """Its line in the bundle."""
        votes = {scheme: [[answer, 1]] for scheme, answer in self.targets.items()}
        record = {"id": self.id, "text": self.text, "media": self.media, "fields": self.fields}
        if self.split != "predict":
            record.update(targets=self.targets, votes=votes, annotators=dict.fromkeys(self.targets, 1))
        return json.dumps(record, ensure_ascii=False) + "\n"


def write_bundle(folder: Path, items: Sequence[Item], schemas: Mapping[str, tuple[str, list[str]]]) -> str:
    """Write a bundle; `schemas` maps a name to its kind and labels. Returns the folder as text."""
    folder.mkdir(parents=True, exist_ok=True)
    for split in SPLITS:
        lines = [item.line() for item in items if item.split == split]
        (folder / f"{split}.jsonl").write_text("".join(lines), "utf-8", newline="\n")
    manifest = {
        "format": 1,
        "project": "Test",
        "digest": "d" * 64,
        "modality": "text",
        "splits": {split: sum(item.split == split for item in items) for split in SPLITS},
        "schemas": {
            name: {"kind": kind, "labels": labels, "classes": _classes(items, name, labels), "description": ""}
            for name, (kind, labels) in schemas.items()
        },
    }
    (folder / "manifest.json").write_text(json.dumps(manifest), "utf-8")
    return str(folder)


def _classes(items: Iterable[Item], scheme: str, labels: list[str]) -> list[str]:
    used: set[str] = set()
    for item in items:
        if item.split == "train" and scheme in item.targets:
            target = item.targets[scheme]
            parts = target if isinstance(target, list) else [str(target)]
            used.update(part["label"] if isinstance(part, dict) else part for part in parts)
    return [label for label in labels if label in used]


def task(folder: Path, scheme: str, info: TrainerInfo, *, seed: int = 0, device: str = "cpu", **params: Any) -> Task:
    """What the worker would give a trainer, of the bundle in `folder`; `events` collects what it reports."""
    bundle = Bundle(str(folder))
    scratch = folder / "scratch"
    scratch.mkdir(exist_ok=True)
    items = {split: [item for item in bundle.items(split) if scheme in item.targets] for split in ("train", "val")}
    events: list[tuple[Any, ...]] = []
    made = Task(
        schema=bundle.schemas[scheme],
        train=items["train"],
        val=items["val"],
        params=info.parse_params(params),
        seed=seed,
        device=device,
        artifact_dir=str(scratch),
        run_id="20261129T141500-3f9a1c",
        project=bundle.project,
        bundle_digest=bundle.digest,
        num_threads=1,
        should_stop=lambda: False,
        progress=lambda *event: events.append(("progress", *event)),
        metric=lambda split, name, value, step, **more: events.append(("metric", split, name, value, step)),
        log=lambda level, msg: events.append(("log", level, msg)),
        media_dir=bundle.media_dir,
    )
    made.events = events  # type: ignore[attr-defined]
    return made


def held_out(folder: Path, splits: Sequence[str] = ("val", "test", "predict")) -> list[BundleItem]:
    """The items that a model of this bundle predicts."""
    bundle = Bundle(str(folder))
    return [item for split in splits for item in bundle.items(split)]


@dataclass
class Job:
    """A job in a folder of its own; `run` is the worker started by hand."""

    folder: Path
    bundle: str
    trainer: str
    schemas: list[str]
    params: dict[str, Any] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def work(self) -> Path:
        return self.folder / "work"

    @property
    def spec_path(self) -> str:
        return str(self.work / "spec.json")

    @property
    def run_id(self) -> str:
        """One for each folder: a run's processes are found by it, and tests run side by side."""
        return f"20261129T141500-{hashlib.sha256(str(self.folder).encode()).hexdigest()[:12]}"

    def write(self) -> Job:
        """Write its spec."""
        self.work.mkdir(parents=True, exist_ok=True)
        self.spec.write(self.spec_path)
        return self

    @property
    def spec(self) -> Spec:
        made = {"run_id": self.run_id, "params": self.params, "num_threads": 1, **self.options}
        return Spec(trainer=self.trainer, schemas=self.schemas, bundle=self.bundle, work_dir=str(self.work), **made)

    def run(self, *arguments: str, python: str = sys.executable, limit: float = 250, **env: str) -> int:
        """Run it to its end; the exit code of the process."""
        with (self.work / "stderr.log").open("ab") as stderr:
            return subprocess.run(
                [python, "-m", "potato.training.worker", self.spec_path, *arguments],
                cwd=self.work,
                env=environment(**env),
                stdout=subprocess.DEVNULL,
                stderr=stderr,
                timeout=limit,
                check=False,
            ).returncode

    def events(self, *names: str) -> list[Event]:
        """The events of these names; all when none is given."""
        path = self.work / "events.jsonl"
        events, _ = read_lines(path.read_bytes()) if path.exists() else ([], 0)
        return [event for event in events if not names or event.name in names]

    def predictions(self) -> list[Prediction]:
        with (self.work / "predictions.jsonl").open("rb") as file:
            return list(read_predictions(file))

    def stderr(self) -> str:
        return (self.work / "stderr.log").read_text("utf-8", "replace")

    def exit_code(self) -> int:
        return int((self.work / "exit_code").read_text("ascii"))

    def artifact(self, name: str = "1-s") -> Path:
        return self.work / "artifacts" / name


def environment(**more: str) -> dict[str, str]:
    """An environment in which the worker and the strange trainers are found."""
    path = os.pathsep.join([str(SOURCE), str(STRANGE)])
    return {**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1", **more}
