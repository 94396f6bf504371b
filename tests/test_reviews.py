"""The whole path on real reviews: import, train, score, write back, with scikit-learn and krippendorff as witnesses.

Five annotators, whose labels are the signs of the first five ratings of each review (0: no label).
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import krippendorff
import numpy as np
import pytest
from sklearn import metrics

from lab import FAST, Lab, finished
from potato.agreement.measure import of_labels
from potato.schemes import Kind
from potato.store import annotations
from potato.store.training.runs import Run, State
from potato.training.contract.bundle import Bundle, BundleItem
from potato.training.runs.request import RunRequest

pytestmark = pytest.mark.computes

ANNOTATORS = 5
NAMES = {1: "positive", -1: "negative"}


def _ratings(reviews: Path) -> dict[str, list[int]]:
    """Id → the signs of the first five ratings, 0 where there is no label."""
    lines = (json.loads(line) for line in (reviews / "ratings.jsonl").read_text("utf-8").splitlines())
    return {line["id"]: np.sign(line["ratings"][:ANNOTATORS]).tolist() for line in lines}


def _labels_file(signs: dict[str, list[int]], path: Path) -> Path:
    records = [
        {"id": item, "annotator": f"rater-{place}", "annotations": {"sentiment": NAMES[sign]}}
        for item, row in signs.items()
        for place, sign in enumerate(row, 1)
        if sign
    ]
    path.write_text("".join(json.dumps(record) + "\n" for record in records), "utf-8")
    return path


@pytest.fixture(scope="module")
def signs(reviews: Path) -> dict[str, list[int]]:
    return _ratings(reviews)


@pytest.fixture(scope="module")
def lab(reviews: Path, signs: dict[str, list[int]], tmp_path_factory: pytest.TempPathFactory) -> Lab:
    """A project of all reviews, with the five annotators' labels brought in by `potato import`."""
    folder = tmp_path_factory.mktemp("reviews")
    rows = [json.loads(line) for line in (reviews / "reviews.jsonl").read_text("utf-8").splitlines()]
    writeback = {"schemas": ["sentiment"], "include_unlabeled": True}
    lab = Lab(folder, rows, model_training={"writeback": writeback})
    file = _labels_file(signs, folder / "labels.jsonl")
    command = [sys.executable, "-m", "potato", "import", str(lab.project.file), str(file)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stdout + done.stderr
    return lab


@pytest.fixture(scope="module")
def run(lab: Lab) -> Iterator[Run]:
    """The run of `sklearn-text` on those labels, finished."""
    with lab.supervisor(FAST) as supervisor:
        queued = supervisor.submit(RunRequest("sklearn-text", ["sentiment"]))
        yield finished(supervisor, queued.run_id, limit=240)


@pytest.fixture(scope="module")
def bundle(lab: Lab, run: Run) -> Bundle:
    assert run.state is State.SUCCESS, run.error
    return Bundle(str(lab.project.runs_dir / run.run_id / "bundle"))


@pytest.fixture(scope="module")
def said(lab: Lab, run: Run) -> dict[str, dict[str, Any]]:
    """Item → the model's prediction, as the worker wrote it."""
    file = lab.project.runs_dir / run.run_id / "predictions.jsonl"
    return {line["instance_id"]: line for line in map(json.loads, file.read_text("utf-8").splitlines())}


def _targets(bundle: Bundle, split: str) -> dict[str, str]:
    return {item.id: item.targets["sentiment"] for item in bundle.items(split)}


def test_every_label_was_imported_once(lab: Lab, signs: dict[str, list[int]]) -> None:
    with lab.database.read() as connection:
        stored = sum(1 for _ in annotations.labels(connection, ["sentiment"]))
    assert stored == sum(bool(sign) for row in signs.values() for sign in row)


def test_the_model_is_right_on_three_held_out_reviews_of_four(run: Run, bundle: Bundle) -> None:
    score = run.scores["sentiment"]
    assert score["test"]["accuracy"] >= 0.74
    low, high = score["primary"]["interval"]
    assert low < score["primary"]["value"] < high
    assert score["test"]["n"] > 350
    assert score["test"]["accuracy"] > score["baseline"]["accuracy"] + 0.1


@pytest.mark.parametrize("split", ["test", "val"])
def test_the_score_shown_is_scikit_learn_s(
    run: Run, bundle: Bundle, said: dict[str, dict[str, Any]], split: str
) -> None:
    targets = _targets(bundle, split)
    human = list(targets.values())
    model = [said[item]["payload"] for item in targets]
    shown = run.scores["sentiment"][split]
    assert shown["n"] == len(targets)
    assert shown["accuracy"] == pytest.approx(metrics.accuracy_score(human, model))
    assert shown["macro_f1"] == pytest.approx(metrics.f1_score(human, model, average="macro"))
    assert shown["kappa"] == pytest.approx(metrics.cohen_kappa_score(human, model))
    names = shown["confusion"]["labels"]
    assert shown["confusion"]["matrix"] == metrics.confusion_matrix(human, model, labels=names).tolist()


def test_the_baseline_is_the_majority_of_the_training_labels(run: Run, bundle: Bundle) -> None:
    train, test = (list(_targets(bundle, split).values()) for split in ("train", "test"))
    majority = max(set(train), key=train.count)
    baseline = run.scores["sentiment"]["baseline"]
    assert baseline["name"] == f"majority class '{majority}'"
    assert baseline["accuracy"] == pytest.approx(metrics.accuracy_score(test, [majority] * len(test)))


def _alpha(rows: list[list[int]]) -> float:
    """The package's alpha over rows of signs, 0 being no answer."""
    reliability = np.array(rows, dtype=float).T
    reliability[reliability == 0] = np.nan
    return float(krippendorff.alpha(reliability_data=reliability, level_of_measurement="nominal"))


def test_the_agreement_shown_is_krippendorff_s(run: Run, bundle: Bundle, signs: dict[str, list[int]]) -> None:
    rows = [signs[item] for item in _targets(bundle, "test")]
    shown = run.scores["sentiment"]["agreement"]
    assert shown["alpha"] == pytest.approx(_alpha(rows))
    assert shown["items"] == sum(np.count_nonzero(row) > 1 for row in rows)


def test_the_project_s_agreement_is_krippendorff_s(lab: Lab, signs: dict[str, list[int]]) -> None:
    with lab.database.read() as connection:
        labels = [(row[0], row[1], row[3]) for row in annotations.labels(connection, ["sentiment"])]
    found = of_labels(Kind.NOMINAL, labels)
    assert found.alpha == pytest.approx(_alpha(list(signs.values())))
    assert found.annotators == ANNOTATORS


def _votes(item: BundleItem) -> dict[str, int]:
    return dict(item.votes["sentiment"])


def test_the_bundle_counts_the_votes_and_names_nobody(lab: Lab, bundle: Bundle, signs: dict[str, list[int]]) -> None:
    for split in ("train", "val", "test"):
        for item in bundle.items(split):
            row = signs[item.id]
            expected = {name: row.count(sign) for sign, name in NAMES.items() if sign in row}
            assert _votes(item) == expected
            assert item.annotators["sentiment"] == np.count_nonzero(row)
        text = (Path(bundle.folder) / f"{split}.jsonl").read_text("utf-8")
        assert "rater-" not in text


def test_no_review_is_in_two_splits_nor_its_copy(bundle: Bundle) -> None:
    texts = {
        split: {" ".join(item.text.split()).casefold() for item in bundle.items(split)}
        for split in ("train", "val", "test")
    }
    assert not texts["train"] & texts["test"] and not texts["train"] & texts["val"] and not texts["val"] & texts["test"]


def test_write_back_gives_the_unlabelled_reviews_and_them_alone_a_suggestion(
    run: Run, bundle: Bundle, said: dict[str, dict[str, Any]]
) -> None:
    report = run.writeback
    assert report is not None
    assert report["read"] == len(said)
    assert report["written"] + sum(report["skipped"].values()) == report["read"]
    assert report["skipped"]["held_out"] >= len(_targets(bundle, "test")) + len(_targets(bundle, "val"))
    assert 0 < report["written"] <= len(list(bundle.items("predict")))
