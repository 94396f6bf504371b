"""What a calibration found, on its run's page and as a mark on the review page."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

import site_scenes as site
import training_scenes as scenes
from potato.store import Database
from potato.store.clock import to_text
from potato.store.training import predictions
from potato.store.training.predictions import Stored
from potato.training.results.decisions import can_be_taken, decisions

FIGURES: dict[str, Any] = {
    "judged": 140.0,
    "nll_before": 0.9,
    "nll_after": 0.4,
    "ece_before": 0.21,
    "ece_after": 0.034,
    "threshold_0": 0.8,
    "threshold_0_judged": 60.0,
    "threshold_0_right": 59.0,
}
RUN = scenes.run(
    1,
    scenes.State.SUCCESS,
    trainer="decision-calibrate",
    params={"method": "auto", "precision": 0.95, "certainty": 0.9},
    metrics={"sentiment": FIGURES},
    label_order={"sentiment": ["positive", "negative"]},
    model_version="decision-calibrate@1",
)
SURE = {"i1": 0.9, "i2": 0.8, "i3": 0.79}


@pytest.fixture
def client(tmp_path: Path) -> Iterator[TestClient]:
    training = {"enabled": True, "writeback": {"schemas": ["sentiment"], "include_unlabeled": True}}
    project = site.project(tmp_path, ["one", "two", "three"], model_training=training)
    database = Database(project.database_url)
    with database.write() as connection:
        scenes.add(connection, RUN)
        said = [Stored(n, "sentiment", "positive", sure, None, None) for n, sure in enumerate(SURE.values(), 1)]
        predictions.add(connection, RUN.run_id, said)
        predictions.set_live(connection, RUN.run_id, ["sentiment"], to_text(scenes.NOW))
    database.close()
    with site.served(project, headers={"X-API-Key": site.KEY, "Accept": "text/html"}) as client:
        yield client


def text(html: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", html))


def test_the_runs_page_tells_what_was_bettered_and_what_needs_no_review(client: TestClient) -> None:
    page = text(client.get(f"/admin/training/runs/{RUN.run_id}").text)
    assert "the calibration error falls from 0.210 to 0.034" in page
    assert "positive 0.800 59 of 60 2" in page  # two suggestions stand above it
    assert "negative none keeps the promise yet" in page
    assert "right in at least 95 % of cases" in page


def test_the_review_page_marks_what_can_be_taken_without_review(client: TestClient) -> None:
    def review(item: int) -> str:
        answer = client.get(f"/admin/review?scheme=sentiment&item={item}")
        assert answer.status_code == 200
        return text(answer.text)

    assert "can be taken without review" in review(1)
    assert "as sure as this were right 59 of 60 times" in review(2)
    assert "can be taken without review" not in review(3)


def test_only_a_calibration_decides_anything() -> None:
    assert decisions(scenes.succeeded(2), "sentiment") == {}
    assert decisions(RUN, "topics") == {}
    assert can_be_taken(RUN, "sentiment", "negative", 1.0) is None
    assert can_be_taken(RUN, "sentiment", "positive", 0.79) is None
    assert can_be_taken(RUN, "sentiment", ["positive"], 1.0) is None
