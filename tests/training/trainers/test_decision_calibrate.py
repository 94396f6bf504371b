"""A calibration from the request to the marks on the review page, through a real worker on `local`."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import insert, select

from lab import FAST, Lab, finished
from potato.errors import PotatoError
from potato.store import tables
from potato.store.clock import to_text, utc_now
from potato.store.training import predictions
from potato.store.training import runs as rows
from potato.store.training.model_answers import said_by
from potato.store.training.predictions import Stored
from potato.store.training.retraining import last_run
from potato.store.training.runs import Run, State
from potato.training.results.decisions import can_be_taken, decisions
from potato.training.runs.request import RunRequest
from potato.training.splits import split_of

ITEMS = 900
BASE = "20260101T000000-abcdef"
REQUEST = RunRequest("decision-calibrate", ["sentiment"], backend="local")


def make(folder: Path, loud: float = 0.98, labelled: int = 600) -> Lab:
    """A lab whose live model is `loud` about everything, and takes one positive item in five for negative; people's
    answer is known for `labelled` items."""
    writeback = {"schemas": ["sentiment"], "include_unlabeled": True, "min_confidence": 0.9}
    backends = {"cluster": {"type": "agent"}}
    lab = Lab(folder / "lab", ITEMS, model_training={"writeback": writeback, "backends": backends})
    lab.label({item: truth(item) for item in lab.ids[:labelled]})
    _make_live(lab, loud)
    return lab


def truth(item: str) -> str:
    return ("positive", "negative")[int(item[1:]) % 2]


def said(item: str) -> str:
    """The model's answer: wrong for one in five of the positive ones."""
    errs = truth(item) == "positive" and random.Random(item).random() >= 0.8
    return "negative" if errs else truth(item)


def sure(item: str, loud: float) -> float:
    """How sure the model says it is: a little less where it errs, and where it might have."""
    doubts = said(item) == "negative" and random.Random(item).random() >= 0.8
    return loud - 0.05 if doubts and loud > 0.95 else loud


def _make_live(lab: Lab, loud: float) -> None:
    now = to_text(utc_now())
    run = Run(BASE, State.SUCCESS, "fake", ["sentiment"], {}, "api", "local", "local", "2026-01-01T00:00:00.000Z")
    with lab.database.write() as connection:
        rows.add(connection, run)
        numbers = connection.execute(select(tables.items.c.seq, tables.items.c.id, tables.items.c.grp)).all()
        stored = []
        for number, item, group in numbers:
            split = split_of(group, 0, lab.project.config.model_training.splits)
            if split == "train" and int(item[1:]) < 300:
                continue  # what it was trained on
            other = "negative" if said(item) == "positive" else "positive"
            own = sure(item, loud)
            shares = {said(item): own, other: round(1 - own, 6)}
            gate = None if split == "train" else "held_out"
            stored.append(Stored(number, "sentiment", said(item), own, shares, gate))
        predictions.add(connection, BASE, stored)
        predictions.set_live(connection, BASE, ["sentiment"], now)


def review(lab: Lab, ids: list[str]) -> None:
    """Verdicts on the live model's answers to these items, as the truth is."""
    with lab.database.write() as connection:
        found = dict(connection.execute(select(tables.items.c.id, tables.items.c.seq)).all())
        for item in ids:
            verdict = "accept" if said(item) == truth(item) else "reject"
            values = {"payload": said(item), "verdict": verdict, "user": "rev", "at": "2026-01-02T00:00:00.000Z"}
            connection.execute(
                insert(tables.verdicts).values(run_id=BASE, scheme="sentiment", item=found[item], **values)
            )


def calibrate(lab: Lab, **params: Any) -> Run:
    with lab.supervisor(FAST) as supervisor:
        request = RunRequest("decision-calibrate", ["sentiment"], backend="local", params=params)
        return finished(supervisor, supervisor.submit(request).run_id, 120)


def shown(lab: Lab) -> dict[str, float]:
    """Item → confidence of what annotators may see."""
    with lab.database.read() as connection:
        found = predictions.all_suggestions(connection, "sentiment", lab.project.schemes)
        return {item: suggestion.confidence or 0 for _, item, _, suggestion in found}


@pytest.mark.computes
def test_a_model_that_is_too_sure_is_brought_down_to_earth(tmp_path: Path) -> None:
    lab = make(tmp_path)
    before = shown(lab)
    review(lab, [item for item in lab.ids[600:] if item in before][:120])
    run = calibrate(lab, precision=0.8)
    assert run.state is State.SUCCESS, run.error
    figures = run.metrics["sentiment"]
    assert figures["ece_after"] < figures["ece_before"] / 2
    assert figures["judged"] > 120
    test = run.scores["sentiment"]["test"]
    assert test["calibration_error"] < 0.1  # measured on items that it was not fitted on
    assert run.live == ["sentiment"]
    confidences = {round(stored.confidence or 0, 1) for stored in _predictions(lab, run)}
    assert confidences == {0.5, 1.0}
    assert min(shown(lab).values()) > 0.9 and set(shown(lab)) < set(before)
    assert run.writeback is not None and run.writeback["skipped"]["low_confidence"] > 0  # min_confidence means it now
    decided = decisions(run, "sentiment")
    assert set(decided) == {"positive", "negative"}
    positive = decided["positive"]
    assert positive.confidence is not None and positive.right == positive.judged  # it is always right there
    assert can_be_taken(run, "sentiment", "positive", 1.0) == positive
    assert can_be_taken(run, "sentiment", "positive", None) is None
    assert can_be_taken(lab.run(BASE), "sentiment", "positive", 1.0) is None
    with lab.database.read() as connection:
        trained = connection.execute(select(tables.trained_groups)).all()
    assert trained == []  # nothing was learned from labels, so no item loses its suggestion


def _predictions(lab: Lab, run: Run) -> list[Stored]:
    with lab.database.read() as connection:
        return list(said_by(connection, run.run_id, "sentiment"))


@pytest.mark.computes
def test_confidences_that_are_right_already_are_left_as_they_are(tmp_path: Path) -> None:
    lab = make(tmp_path, loud=0.9)
    run = calibrate(lab, method="temperature")
    assert run.state is State.SUCCESS, run.error
    assert {stored.confidence for stored in _predictions(lab, run)} == {0.9}
    assert any(warning.startswith("Calibration does not help 'sentiment'") for warning in run.warnings)
    assert "nll_after" not in run.metrics["sentiment"]


def refusal(lab: Lab, request: RunRequest = REQUEST) -> PotatoError:
    with lab.supervisor(FAST, start=False, tasks=False) as supervisor:
        with pytest.raises(PotatoError) as refused:
            supervisor.submit(request)
        assert [run.run_id for run in supervisor.list() if run.run_id != BASE] == []
    return refused.value


def test_every_other_backend_refuses_it_before_anything_is_queued(tmp_path: Path) -> None:
    lab = make(tmp_path)
    error = refusal(lab, RunRequest("decision-calibrate", ["sentiment"], backend="cluster"))
    assert error.code == "trainer_does_not_fit"
    assert error.message == (
        "trainer 'decision-calibrate' cannot run on 'cluster' (agent); it runs on local, as it needs the server's own"
        " records"
    )


def test_too_little_to_go_by_is_said_before_anything_is_queued(tmp_path: Path) -> None:
    lab = make(tmp_path, labelled=40)
    error = refusal(lab)
    assert error.code == "not_enough_judged"
    assert "are known to be right or wrong" in error.message and "of 30 needed" in error.message
    review(lab, lab.ids[600:640])
    with lab.supervisor(FAST, start=False, tasks=False) as supervisor:
        assert supervisor.submit(REQUEST).state is State.QUEUED


def test_without_a_live_model_there_is_nothing_to_calibrate(tmp_path: Path) -> None:
    lab = make(tmp_path)
    with lab.database.write() as connection:
        predictions.withdraw(connection, BASE)
    assert refusal(lab).message == ("There is nothing to calibrate for 'sentiment': no model's suggestions are shown")


def test_automatic_retraining_does_not_take_a_calibration_for_training(tmp_path: Path) -> None:
    lab = make(tmp_path)
    with lab.supervisor(FAST, start=False, tasks=False) as supervisor:
        supervisor.submit(REQUEST)
    with lab.database.read() as connection:
        last = last_run(connection, ["sentiment"])
    assert last is not None and last.run_id == BASE
