"""A run's learning curve: runs of the queue on nested shares of its labels, measured and never shown."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path

import pytest

from lab import Lab, finished, use_fakes, wait_for
from potato.store.training import held_out, predictions, runs
from potato.store.training.held_out import Which
from potato.store.training.runs import Run, State
from potato.training.contract.bundle import Bundle
from potato.training.results.curves import NEVER_SHOWN, SHARES
from potato.training.runs.curve import NoCurve
from potato.training.runs.request import RunRequest
from potato.training.runs.supervisor import Supervisor
from raters import majority

WRITEBACK = {"writeback": {"schemas": ["sentiment"], "include_unlabeled": True, "min_confidence": 0.0}}


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lab:
    use_fakes(monkeypatch)
    lab = Lab(tmp_path / "lab", 80, model_training={**WRITEBACK, "retain_runs": 2})
    lab.label_alternately(lab.ids[:60])
    return lab


@pytest.fixture
def supervisor(lab: Lab) -> Iterator[Supervisor]:
    with lab.supervisor() as supervisor:
        yield supervisor


def _train(supervisor: Supervisor, trainer: str = "fake") -> Run:
    run = finished(supervisor, supervisor.submit(RunRequest(trainer, ["sentiment"])).run_id)
    assert run.state is State.SUCCESS, run.error
    return run


def _curve(supervisor: Supervisor, run_id: str, limit: float = 60) -> list[Run]:
    points = supervisor.submit_curve(run_id, "api", "admin")
    ended = [finished(supervisor, point.run_id, limit) for point in points]
    assert [point.state for point in ended] == [State.SUCCESS] * len(points), [point.error for point in ended]
    return ended


def _ids(lab: Lab, run: Run, split: str) -> list[str]:
    return [item.id for item in Bundle(str(lab.project.runs_dir / run.run_id / "bundle")).items(split)]


def test_points_are_nested_shares_of_the_same_labels_and_never_shown(lab: Lab, supervisor: Supervisor) -> None:
    whole = _train(supervisor)
    lab.label_alternately(lab.ids[60:])  # labels that come meanwhile are no part of it
    points = _curve(supervisor, whole.run_id)
    assert [(point.train_share, point.curve_of, point.trainer) for point in points] == [
        (share, whole.run_id, whole.trainer) for share in SHARES
    ]
    trained = [set(_ids(lab, run, "train")) for run in (*points, whole)]
    assert all(small < large for small, large in pairwise(trained))
    for point, ids in zip(points, trained, strict=False):
        assert len(ids) == point.counts["train"] == -(-whole.counts["train"] * point.train_share // 1)
        for split in ("val", "test"):
            assert _ids(lab, point, split) == _ids(lab, whole, split)
        assert point.scores["sentiment"]["trained_on"] == len(ids)
        assert point.scores["sentiment"]["to_whole"]["items"] == whole.counts["test"]
        _is_not_shown(point)
    with lab.database.read() as connection:
        assert predictions.live(connection) == {"sentiment": whole.run_id}


def _is_not_shown(point: Run) -> None:
    assert point.live == []
    assert point.writeback is not None
    assert (point.writeback["written"], point.writeback["reason"]) == (0, NEVER_SHOWN)
    assert point.counts["predict"] == 0


def test_a_curve_is_run_once_and_only_of_a_run_that_ended_well(lab: Lab, supervisor: Supervisor) -> None:
    whole = _train(supervisor)
    [first, *_] = supervisor.submit_curve(whole.run_id, "api", None)
    supervisor.cancel(first.run_id)
    assert finished(supervisor, first.run_id).state is State.CANCELLED
    [again] = supervisor.submit_curve(whole.run_id, "api", None)
    assert again.train_share == SHARES[0]
    with pytest.raises(NoCurve, match="is there already, or is in the queue"):
        supervisor.submit_curve(whole.run_id, "api", None)
    with pytest.raises(NoCurve, match="is itself a point"):
        supervisor.submit_curve(again.run_id, "api", None)
    failed = finished(supervisor, supervisor.submit(RunRequest("fake", ["sentiment"], params={"does": "fail"})).run_id)
    with pytest.raises(NoCurve, match="did not come to a good end"):
        supervisor.submit_curve(failed.run_id, "api", None)


def test_points_keep_no_other_runs_files_from_being_kept_and_go_with_their_own(
    lab: Lab, supervisor: Supervisor
) -> None:
    first = _train(supervisor)
    points = _curve(supervisor, first.run_id)
    others = [_train(supervisor) for _ in range(2)]  # the last of them is live, and does not count
    assert not supervisor.get(first.run_id).files_removed
    others += [_train(supervisor) for _ in range(2)]
    _train(supervisor)
    assert supervisor.get(others[-1].run_id).files_removed is False
    assert all(supervisor.get(run.run_id).files_removed for run in (first, *points))
    with pytest.raises(NoCurve, match="were removed with its files"):
        supervisor.submit_curve(first.run_id, "api", None)
    with lab.database.read() as connection:  # what it was scored on stays with its record
        assert held_out.count(connection, Which(first.run_id, "sentiment")) == first.counts["test"]


@pytest.mark.computes
def test_the_curve_of_real_reviews_rises(reviews: Path, tmp_path: Path) -> None:
    labels = majority(reviews)
    lines = [line for line in (reviews / "reviews.jsonl").read_text("utf-8").splitlines() if line]
    (tmp_path / "lab").mkdir()
    rows = [row for row in map(json.loads, lines) if row["id"] in labels]
    lab = Lab(tmp_path / "lab", rows)
    lab.label({row["id"]: labels[row["id"]] for row in rows})
    with lab.supervisor() as supervisor:
        whole = finished(supervisor, supervisor.submit(RunRequest("sklearn-text", ["sentiment"])).run_id, 300)
        points = _curve(supervisor, whole.run_id, 300)
    scores = [run.scores["sentiment"]["primary"]["value"] for run in (*points, whole)]
    assert scores[0] < scores[-1], scores
    gain = points[0].scores["sentiment"]["to_whole"]
    assert gain["interval"][0] > 0, scores
    assert gain["difference"] == pytest.approx(scores[-1] - scores[0])
    with lab.database.read() as connection:
        assert [run.run_id for run in runs.curve(connection, whole.run_id)] == [point.run_id for point in points]


def test_a_run_keeps_its_files_while_points_of_its_curve_wait(lab: Lab, supervisor: Supervisor) -> None:
    first = _train(supervisor)
    for _ in range(2):
        _train(supervisor)
    assert not supervisor.get(first.run_id).files_removed
    busy = supervisor.submit(RunRequest("fake", ["sentiment"], params={"seconds": 2.0})).run_id
    points = supervisor.submit_curve(first.run_id, "api", None)
    assert finished(supervisor, busy).state is State.SUCCESS
    ended = [finished(supervisor, point.run_id) for point in points]
    assert [point.state for point in ended] == [State.SUCCESS] * 3, [point.error for point in ended]
    wait_for(lambda: supervisor.get(first.run_id).files_removed)


def test_a_curve_that_many_ask_for_at_once_is_run_once(lab: Lab, supervisor: Supervisor) -> None:
    whole = _train(supervisor)
    supervisor.submit(RunRequest("fake", ["sentiment"], params={"seconds": 1.0}))

    def ask(_: int) -> list[float]:
        try:
            return [point.train_share for point in supervisor.submit_curve(whole.run_id, "api", None)]
        except NoCurve:
            return []

    with ThreadPoolExecutor(8) as pool:
        asked = [share for shares in pool.map(ask, range(8)) for share in shares]
    assert sorted(asked) == sorted(SHARES)
    with lab.database.read() as connection:
        assert [point.train_share for point in runs.curve(connection, whole.run_id)] == sorted(SHARES)
