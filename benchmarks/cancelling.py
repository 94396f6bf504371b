"""How soon a worker leaves when it is told to, with each trainer: while it fits, saves and predicts.

    python benchmarks/cancelling.py [--trainers NAME ...] [--threads 2] [--data FOLDER]

Every trainer works on real reviews (images are scikit-learn's digits) with a base model of real size. The worker is
sent SIGTERM as soon as it says that it does the one or the other; the time is from there to its end, and the baseline
is a Python process that has the same libraries in memory and ends at once. It ought to be below five seconds.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from common import machine, print_table
from trainers import DATA, LABELS, Review, reviews, ways

from potato.training.contract.events import Event, read_lines
from potato.training.contract.exits import Exit
from potato.training.contract.spec import Spec

LIMIT_S = 5.0
STAGES: dict[str, Callable[[Event], bool]] = {
    "fitting": lambda event: event.name == "progress" and not str(event.fields.get("phase")).startswith("predicting"),
    "saving": lambda event: event.name == "status" and str(event.fields.get("step")).startswith("saving"),
    "predicting": lambda event: event.name == "progress" and str(event.fields.get("phase")).startswith("predicting"),
}
BASELINE = "import sys, sklearn, torch, transformers, peft; print('ready', flush=True); sys.stdin.read()"


@dataclass(frozen=True)
class Case:
    """A trainer with its params, and what it learns from: a bundle's lines by split, and the scheme."""

    trainer: str
    params: dict[str, Any]
    kind: str
    labels: tuple[str, ...]
    row: Callable[[Review, Review], dict[str, Any]]
    media: list[Any] = field(default_factory=list)


def cases(folder: Path) -> list[Case]:
    """Every trainer that trains."""
    way = ways()
    minilm = {**way["text-embedding"].params}
    tuned = {**minilm, "epochs": 1}
    llm = {**way["llm-finetune"].params, "epochs": 1}
    vit = {"base_model": vision(folder), "epochs": 1}
    text = ("nominal", LABELS, lambda one, other: {"text": one.text, "targets": {"s": one.label}})
    return [
        Case("sklearn-text", {}, *text),
        Case("text-embedding", minilm, *text),
        Case("hf-text-classification", tuned, *text),
        Case("hf-token-classification", tuned, "span", ("first",), first_word),
        Case("hf-pairwise-preference", tuned, "pairwise", ("a", "b", "tie"), longer),
        Case("hf-image-classification", vit, "nominal", LABELS, text[2], digits(folder)),
        Case("llm-finetune", llm, *text),
    ]


def few(rows: list[Review]) -> list[Review]:
    """Enough to be told in the middle of it, for saving and predicting come after all of the training."""
    counts = {"train": 96, "val": 24, "test": 500}
    return [row for split, count in counts.items() for row in [row for row in rows if row.split == split][:count]]


def first_word(one: Review, other: Review) -> dict[str, Any]:
    """The first word is marked."""
    word = one.text.split()[0]
    start = one.text.index(word)
    span = {"start": start, "end": start + len(word), "label": "first", "text": word}
    return {"text": one.text, "targets": {"s": [span]}}


def longer(one: Review, other: Review) -> dict[str, Any]:
    """The longer of two reviews is preferred."""
    target = "a" if len(one.text) > len(other.text) else "b"
    return {"text": "", "fields": {"text_a": one.text, "text_b": other.text}, "targets": {"s": target}}


def vision(folder: Path) -> str:
    """A vision transformer of the usual small size, with random weights."""
    from transformers import ViTConfig, ViTImageProcessor, ViTModel

    path = str(folder / "vit")
    sizes = {"hidden_size": 384, "num_hidden_layers": 12, "num_attention_heads": 6, "intermediate_size": 1536}
    ViTModel(ViTConfig(**sizes)).save_pretrained(path)
    ViTImageProcessor().save_pretrained(path)
    return path


def digits(folder: Path) -> list[Any]:
    """scikit-learn's handwritten digits."""
    from sklearn.datasets import load_digits

    return list(load_digits().images)


def write_bundle(folder: Path, case: Case, rows: list[Review]) -> None:
    """A bundle of these reviews for the case."""
    (folder / "media").mkdir(parents=True)
    counts = {}
    for split in ("train", "val", "test", "predict"):
        chosen = [row for row in rows if row.split == ("test" if split == "predict" else split)]
        counts[split] = len(chosen)
        with (folder / f"{split}.jsonl").open("w", encoding="utf-8") as file:
            for number, row in enumerate(chosen):
                line = {"id": f"{split}-{number}", **case.row(row, chosen[number - 1])}
                if case.media:
                    line["media"] = {"image": picture(folder / "media", case.media, f"{split}-{number}", number)}
                file.write(json.dumps(line) + "\n")
    scheme = {"kind": case.kind, "labels": case.labels, "classes": case.labels, "description": "Which?"}
    manifest = {"format": 1, "project": "Benchmark", "digest": "", "modality": "text", "splits": counts}
    (folder / "manifest.json").write_text(json.dumps({**manifest, "schemas": {"s": scheme}}), "utf-8")


def picture(folder: Path, images: list[Any], name: str, number: int) -> str:
    """Write one digit as a PNG file of the bundle; its name."""
    from PIL import Image

    Image.fromarray((images[number % len(images)] * 15).astype("uint8")).save(folder / f"{name}.png")
    return f"{name}.png"


def seconds(folder: Path, case: Case, bundle: Path, stage: str, threads: int) -> float:
    """From SIGTERM to the worker's end."""
    folder.mkdir()
    spec = Spec("benchmark", case.trainer, ["s"], str(bundle), str(folder), case.params, num_threads=threads)
    spec.write(str(folder / "spec.json"))
    with (folder / "log").open("wb") as log:
        command = [sys.executable, "-m", "potato.training.worker", str(folder / "spec.json")]
        worker = subprocess.Popen(command, stdout=log, stderr=log, env={**os.environ, "HF_HUB_OFFLINE": "1"})
    for event in following(folder / "events.jsonl", worker):
        if STAGES[stage](event):
            break
    start = time.monotonic()
    worker.send_signal(signal.SIGTERM)
    code = worker.wait()
    took = time.monotonic() - start
    if code != Exit.CANCELLED:
        print(f"{case.trainer} had ended before it was told while {stage}", file=sys.stderr)
        return float("nan")
    return took


def following(path: Path, worker: subprocess.Popen[bytes]) -> Iterator[Event]:
    """The events of the worker as they come, until it ends."""
    seen = 0
    while worker.poll() is None:
        events, _ = read_lines(path.read_bytes() if path.exists() else b"")
        yield from events[seen:]
        seen = len(events)
        time.sleep(0.005)


def baseline() -> float:
    """From SIGTERM to the end of a Python process with the libraries in memory."""
    process = subprocess.Popen([sys.executable, "-c", BASELINE], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout is not None and process.stdin is not None
    process.stdout.readline()
    start = time.monotonic()
    process.send_signal(signal.SIGTERM)
    process.wait()
    took = time.monotonic() - start
    process.stdin.close()
    process.stdout.close()
    return took


def main() -> None:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trainers", nargs="+", metavar="NAME")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--data", type=Path, default=DATA, help="a folder with reviews.jsonl and ratings.jsonl")
    options = parser.parse_args()
    table = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rows = few([row for row in reviews(options.data) if row.text.strip()])
        alone = baseline()
        for number, case in enumerate(cases(folder)):
            if options.trainers and case.trainer not in options.trainers:
                continue
            bundle = folder / f"bundle-{number}"
            write_bundle(bundle, case, rows)
            took = [seconds(folder / f"{number}-{stage}", case, bundle, stage, options.threads) for stage in STAGES]
            worst = max(one for one in took if one == one)
            table.append([case.trainer, *(f"{one:.2f}" for one in took), f"{worst / LIMIT_S:.2f}"])
            print(table[-1], file=sys.stderr, flush=True)
    title = f"{machine()}; a process with the libraries alone ends in {alone:.2f} s"
    print_table(title, ["trainer", *(f"{stage}, s" for stage in STAGES), "worst of 5 s"], table)


if __name__ == "__main__":
    main()
