"""An answer, from the request to the store."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, select
from starlette.testclient import TestClient

import site_scenes as scenes
from potato.store import tables
from potato.store.training.predictions import Suggestion
from potato.training.splits import is_hidden


@pytest.fixture
def item(client: TestClient) -> int:
    scenes.sign_in(client)
    return scenes.hand_out(client)


def _rows(client: TestClient, table: Any) -> list[Any]:
    with client.app.state.site.database.read() as connection:  # type: ignore[attr-defined]
        return list(connection.execute(select(table).order_by(table.c.seq)).mappings())


def test_a_save_answers_when_it_is_on_disk_and_says_how_far_one_is(client: TestClient, item: int) -> None:
    answer = scenes.save(client, item, {"sentiment": "positive", "topics": [], "stars": 4}, elapsed_ms=1234)
    assert answer.status_code == 200
    body = answer.json()
    assert body["progress"] == {"done": 1, "total_done": 1, "total": 3}
    assert (body["item_done"], body["repeated"]) == (True, False)
    stored = {row["scheme"]: (row["value"], row["elapsed_ms"]) for row in _rows(client, tables.annotations)}
    assert stored == {"sentiment": ("positive", 1234), "topics": ([], 1234), "stars": (4, 1234)}


def test_the_same_request_twenty_times_at_once_is_one_record(client: TestClient, item: int) -> None:
    """annotation 28"""
    with ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(lambda _: scenes.save(client, item, {"sentiment": "positive"}), range(20)))
    assert {answer.status_code for answer in answers} == {200}
    assert len({answer.json()["saved_at"] for answer in answers}) == 1
    assert [answer.json()["repeated"] for answer in answers].count(False) == 1
    assert len(_rows(client, tables.annotations)) == len(_rows(client, tables.annotation_history)) == 1


@pytest.mark.parametrize(("scheme", "a", "b"), [("sentiment", "positive", "negative"), ("stars", 1, 5)])
def test_of_what_was_clicked_one_answer_stays(client: TestClient, item: int, scheme: str, a: Any, b: Any) -> None:
    """annotation 30"""
    for number, value in enumerate((a, b, a)):
        scenes.save(client, item, {scheme: value}, f"request-{number}")
    assert [row["value"] for row in _rows(client, tables.annotations)] == [a]
    assert [row["value"] for row in _rows(client, tables.annotation_history)] == [a, b, a]


def test_clearing_takes_an_answer_back(client: TestClient, item: int) -> None:
    scenes.save(client, item, {"sentiment": "positive"})
    answer = scenes.save(client, item, {"sentiment": None}, "request-2")
    assert answer.json()["item_done"] is False
    assert _rows(client, tables.annotations) == []


def test_answers_that_do_not_fit_any_more_are_refused_and_the_others_saved(client: TestClient, item: int) -> None:
    """annotation 20"""
    answer = scenes.save(client, item, {"sentiment": "great", "stars": 3, "mood": "x"})
    assert answer.status_code == 409
    assert answer.json()["error"] == (
        "'great' is not a label of 'sentiment'; it takes positive, negative; "
        "the question 'mood' is no longer in the project"
    )
    assert "Saved: stars." in answer.json()["hint"]
    assert [row["scheme"] for row in _rows(client, tables.annotations)] == ["stars"]


def test_one_annotators_page_does_not_save_under_anothers_name(client: TestClient, item: int) -> None:
    scenes.sign_in(client, "bob")
    answer = scenes.save(client, item, {"sentiment": "positive"})
    assert (answer.status_code, answer.json()["code"]) == (409, "other_annotator")
    assert _rows(client, tables.annotations) == []


def test_a_save_without_a_session_is_a_401_and_lands_once_after_signing_in(client: TestClient, item: int) -> None:
    """annotation 25, the server's side"""
    client.cookies.clear()
    assert scenes.save(client, item, {"sentiment": "positive"}).status_code == 401
    scenes.sign_in(client)
    for _ in range(2):
        assert scenes.save(client, item, {"sentiment": "positive"}).status_code == 200
    with client.app.state.site.database.read() as connection:  # type: ignore[attr-defined]
        assert connection.execute(select(func.count()).select_from(tables.annotation_history)).scalar() == 1


@pytest.fixture
def suggesting(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Suggestion]]:
    """What the live model suggests, for every item."""
    live = {"sentiment": Suggestion("run-1", "v1", "positive", 0.873)}
    monkeypatch.setattr("potato.store.training.predictions.suggestions", lambda *_: dict(live))
    yield live


def _shown(client: TestClient, item: int) -> tuple[str, str]:
    page = client.get(f"/annotate/{item}", headers=scenes.PAGE).text
    return page, page.split('data-shown="')[1].split('"')[0]


@pytest.mark.parametrize(("answer", "origin"), [("positive", "accepted"), ("negative", "changed")])
def test_what_was_suggested_is_kept_with_the_answer(
    client: TestClient, item: int, suggesting: dict[str, Suggestion], answer: str, origin: str
) -> None:
    page, shown = _shown(client, item)
    assert 'The model suggests <strong dir="auto">positive</strong>, 87\u00a0% sure' in page
    assert " checked" not in page.split('id="help"')[0]  # annotation 58: a suggestion is no answer
    suggesting["sentiment"] = Suggestion("run-2", "v2", "negative", 0.5)  # a new model since the page was made
    scenes.save(client, item, {"sentiment": answer}, shown=shown)
    (row,) = _rows(client, tables.annotations)
    assert row["origin"] == origin
    assert row["suggestion"] == {
        "run_id": "run-1",
        "model_version": "v1",
        "payload": "positive",
        "confidence": 0.873,
    }


def test_a_record_of_suggestions_that_the_server_did_not_make_costs_the_record_not_the_answer(
    client: TestClient, item: int
) -> None:
    assert scenes.save(client, item, {"sentiment": "positive"}, shown="made.up").status_code == 200
    (row,) = _rows(client, tables.annotations)
    assert (row["origin"], row["suggestion"]) == ("none", None)


def test_a_suggestion_of_a_label_that_is_gone_is_not_shown(
    client: TestClient, item: int, suggesting: dict[str, Suggestion]
) -> None:
    """annotation 19: an older model's predictions"""
    suggesting["sentiment"] = Suggestion("run-1", "v1", "a label that was", 0.9)
    assert "The model suggests" not in _shown(client, item)[0]


def test_a_share_of_the_items_hides_its_suggestion(tmp_path: Path, suggesting: dict[str, Suggestion]) -> None:
    texts = [f"text {n}" for n in range(60)]
    training = {"writeback": {"schemas": ["sentiment"], "include_unlabeled": True, "hide_share": 0.5}}
    with scenes.served(scenes.project(tmp_path, texts, model_training=training)) as client:
        scenes.sign_in(client)
        hidden = set()
        for number in range(60):
            seq = scenes.hand_out(client)
            page, shown = _shown(client, seq)
            if "The model suggests" not in page:
                hidden.add(seq)
            scenes.save(client, seq, {"sentiment": "positive"}, f"request-{number}", shown=shown)
        rows = _rows(client, tables.annotations)
    assert hidden == {seq for seq in range(1, 61) if is_hidden("sentiment", f"i{seq}", 0.5)}
    assert 15 < len(hidden) < 45
    said = {"run_id": "run-1", "model_version": "v1", "payload": "positive", "confidence": 0.873}
    for row in rows:  # what was hidden is kept too, to be compared with what was said without it
        expected = ("none", {**said, "hidden": True}) if row["item"] in hidden else ("accepted", said)
        assert (row["origin"], row["suggestion"]) == expected
