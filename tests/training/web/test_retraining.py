"""What the training page, the run page and the API tell of retraining and of models that took over."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

import training_scenes as scenes
from potato.project import Project
from potato.store import Database, facts
from potato.store.clock import to_text
from potato.store.training import retraining, runs
from potato.store.training.retraining import Decision

API = "/admin/training/api"
AUTO = {"enabled": True, "schemas": ["sentiment"], "update_frequency": 7, "min_interval_s": 600}
PAGE = {"Accept": "text/html"}
BY_MIRA = {"by": "mira", "at": to_text(scenes.NOW)}


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return scenes.project(tmp_path, auto_retrain=AUTO)


def test_what_is_waited_for_is_told_by_the_page_and_the_api(client: TestClient, database: Database) -> None:
    finished = to_text(scenes.NOW - scenes.timedelta(seconds=188))
    run = replace(scenes.succeeded(5), finished_at=finished)
    with database.write() as connection:
        scenes.add(connection, run)
        retraining.log(connection, Decision(to_text(scenes.NOW), "started", "7 <b>annotations</b> came in", run.run_id))
    answer = client.get(f"{API}/retraining").json()
    sentences = ["waiting for 7 more annotations", "waiting 412 more seconds since the last run"]
    assert [wait["sentence"] for wait in answer["waits"]] == sentences
    assert (answer["enabled"], answer["changed"], answer["last_run"]) == (True, 0, run.run_id)
    assert answer["decisions"] == [
        {
            "at": to_text(scenes.NOW),
            "kind": "started",
            "sentence": "7 <b>annotations</b> came in",
            "run_id": run.run_id,
        }
    ]
    page = client.get("/admin/training", headers=PAGE).text
    assert "Waiting for 7 more annotations; waiting 412 more seconds since the last run." in page
    assert "7 &lt;b&gt;annotations&lt;/b&gt; came in" in page


def test_a_refused_attempt_is_told(client: TestClient, database: Database) -> None:
    with database.write() as connection:
        runs.add(connection, scenes.succeeded(5))
        facts.put(connection, retraining.REFUSAL, {"upto": 9, "reason": "Not enough labels to train"})
    assert client.get(f"{API}/retraining").json()["refused"] == "Not enough labels to train"
    assert (
        "The last attempt started no run. Not enough labels to train."
        in client.get("/admin/training", headers=PAGE).text
    )


def _entry(**more: Any) -> dict[str, Any]:
    compared = {"live_run": "20261125T120000-000001", "figure": "macro_f1", "items": 26, "new": 0.7, "live": 0.83}
    return {
        "read": 231,
        "written": 0,
        "passed": 96,
        "skipped": {"low_score": 96},
        "takes_over": False,
        "reason": "too low",
        "rule": {"figure": "macro_f1", "min_score": None, "max_drop": 0.05},
        "compared": compared,
        **more,
    }


def test_the_run_page_tells_both_scores_the_rule_and_who_overrode_it(client: TestClient, database: Database) -> None:
    """annotation 52"""
    anyway = {"by": "mira", "at": to_text(scenes.NOW)}
    for number, more in ((5, {}), (6, {"shown_anyway": anyway, "written": 96})):
        run = scenes.succeeded(number)
        report = {**(run.writeback or {}), "by_scheme": {"sentiment": _entry(**more)}}
        with database.write() as connection:
            scenes.add(connection, replace(run, writeback=report))
        page = client.get(f"/admin/training/runs/{run.run_id}", headers=PAGE).text
        assert "Rule, by macro f1: max_drop 0.05." in page
        assert "On the 26 held-out items that both have: macro f1 0.700 here, 0.830 in run" in page
        assert ("Not shown: sentiment" in page) is not bool(more)
        assert ("mira had its suggestions shown" in page) is bool(more)


@pytest.mark.parametrize(
    ("entries", "button", "said"),
    [
        ({"sentiment": {"takes_over": False, "written": 0}}, "Show anyway", "Not shown: sentiment"),
        ({"sentiment": {"takes_over": True, "written": 96}}, "Show again", "Took over: sentiment"),
        ({"sentiment": {"written": 96, "shown_anyway": BY_MIRA}}, "Show again", "Shown anyway: sentiment"),
        (
            {"sentiment": {"takes_over": True, "written": 96, "shown_anyway": BY_MIRA}},
            "Show again",
            "Shown again: sentiment",
        ),
    ],
)
def test_the_words_follow_from_what_became_of_the_scheme(
    client: TestClient,
    database: Database,
    monkeypatch: pytest.MonkeyPatch,
    entries: dict[str, Any],
    button: str,
    said: str,
) -> None:
    monkeypatch.setattr("potato.training.web.pages.predictions.has_any", lambda *_: True)
    run = scenes.succeeded(5)
    by_scheme = {name: _entry(**more) for name, more in entries.items()}
    report = {**(run.writeback or {}), "written": 300, "by_scheme": by_scheme}  # of which another scheme has its part
    with database.write() as connection:
        scenes.add(connection, replace(run, writeback=report))
    page = client.get(f"/admin/training/runs/{run.run_id}", headers=PAGE).text
    assert said in page
    assert button in page


def test_what_cannot_be_shown_is_refused_with_a_hint(client: TestClient, database: Database) -> None:
    failed = scenes.run(3, runs.State.ERROR)
    with database.write() as connection:
        scenes.add(connection, failed, scenes.succeeded(5))
    for run_id, sentence in ((failed.run_id, "it is 'error'"), (scenes.succeeded(5).run_id, "were removed")):
        answer = client.post(f"{API}/runs/{run_id}/show")
        assert (answer.status_code, answer.json()["code"]) == (409, "nothing_to_show")
        assert sentence in answer.json()["error"]
        assert answer.json()["hint"]
    assert client.post(f"{API}/runs/nosuch/show").status_code == 404
