"""Questions of every type through the one write path, and what the page shows of them."""

from __future__ import annotations

import html
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select
from starlette.testclient import TestClient

import site_scenes as scenes
from potato.schemes.pairwise import Pairwise
from potato.store import Database, tables
from potato.store.training.predictions import Suggestion

CLEAR = {"annotation_type": "slider", "name": "clear", "description": "How clear?", "min": 0, "max": 10}
AGE = {"annotation_type": "number", "name": "age", "description": "How old?", "min": 0, "max": 99, "step": 1}
WHY = {"annotation_type": "text", "name": "why", "description": "Why?", "max_length": 20}
BETTER = {"annotation_type": "pairwise", "name": "better", "description": "Which is better?"}
WHO = {"annotation_type": "span", "name": "who", "description": "Who?", "labels": ["person", "place"]}
SCHEMES = [scenes.SENTIMENT, scenes.TOPICS, scenes.STARS, CLEAR, AGE, WHY, BETTER, WHO]
MARK = {"start": 0, "end": 4, "label": "person", "text": "text"}
TWO_ANSWERS: list[tuple[str, Any, Any]] = [
    ("sentiment", "positive", "negative"),
    ("topics", ["food"], []),
    ("stars", 1, 5),
    ("clear", 0, 10),
    ("age", 0, 12),
    ("why", "so", "because"),
    ("better", "a", "tie"),
    ("who", [MARK], [{**MARK, "label": "place"}]),
]
WRONG: list[tuple[str, Any, str]] = [
    ("clear", 10.5, "10.5 is not taken by 'clear'; it takes whole numbers from 0 up to 10"),
    ("age", "3", "'3' is not a number; 'age' takes whole numbers from 0 up to 99"),
    ("age", True, "True is not a number; 'age' takes whole numbers from 0 up to 99"),
    ("why", " ", "an empty text is no answer to 'why': ''"),
    ("better", "first", "'first' is no answer to 'better'; it takes a, b, tie"),
]


@pytest.fixture
def client(tmp_path: Path) -> Iterator[TestClient]:
    """A project with a question of every type, and ann, who holds item 1."""
    rows = [{"id": f"i{n}", "text": f"text {n}", "text_a": f"a{n}", "text_b": f"b{n}"} for n in range(1, 4)]
    (tmp_path / "pairs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    project = scenes.project(tmp_path, data_files=["pairs.jsonl"], annotation_schemes=SCHEMES)
    with scenes.served(project) as made:
        scenes.sign_in(made)
        assert scenes.hand_out(made) == 1
        yield made


def _database(client: TestClient) -> Database:
    database: Database = client.app.state.site.database  # type: ignore[attr-defined]
    return database


def _rows(client: TestClient, table: Any) -> list[Any]:
    with _database(client).read() as connection:
        return list(connection.execute(select(table).order_by(table.c.seq)).mappings())


def _page(client: TestClient, seq: int = 1) -> str:
    return client.get(f"/annotate/{seq}", headers=scenes.PAGE).text


def _post(client: TestClient, path: str, **body: Any) -> Any:
    headers = {"Sec-Fetch-Site": "same-origin", "Content-Type": "application/json"}
    return client.post(path, content=json.dumps({"annotator": "ann", **body}), headers=headers)


@pytest.mark.parametrize(("scheme", "one", "other"), TWO_ANSWERS)
def test_of_what_was_given_one_answer_stays(client: TestClient, scheme: str, one: Any, other: Any) -> None:
    """annotation 30, with every type"""
    for number, value in enumerate((one, other, one)):
        assert scenes.save(client, 1, {scheme: value}, f"request-{number}").status_code == 200
    assert [row["value"] for row in _rows(client, tables.annotations)] == [one]
    assert [row["value"] for row in _rows(client, tables.annotation_history)] == [one, other, one]


def test_all_answers_in_one_request_sent_twenty_times_are_there_once(client: TestClient) -> None:
    """annotation 28, with every type"""
    answers = {scheme: one for scheme, one, _ in TWO_ANSWERS}
    with ThreadPoolExecutor(8) as pool:
        replies = list(pool.map(lambda _: scenes.save(client, 1, answers), range(20)))
    assert {reply.status_code for reply in replies} == {200}
    assert [reply.json()["repeated"] for reply in replies].count(False) == 1
    assert {row["scheme"]: row["value"] for row in _rows(client, tables.annotations)} == answers
    assert len(_rows(client, tables.annotation_history)) == len(answers)


@pytest.mark.parametrize(("scheme", "raw", "told"), WRONG)
def test_what_is_no_answer_is_refused_in_words_and_the_rest_is_saved(
    client: TestClient, scheme: str, raw: Any, told: str
) -> None:
    """annotation 20, with every type"""
    reply = scenes.save(client, 1, {scheme: raw, "sentiment": "positive"})
    assert (reply.status_code, reply.json()["error"]) == (409, told)
    assert "Saved: sentiment." in reply.json()["hint"]
    assert [row["scheme"] for row in _rows(client, tables.annotations)] == ["sentiment"]


@pytest.mark.parametrize(("scheme", "one", "other"), TWO_ANSWERS)
def test_nothing_of_anothers_answer_is_on_the_page_and_both_are_kept(
    client: TestClient, scheme: str, one: Any, other: Any
) -> None:
    """annotation 31 and 36: the later answer to a full item is kept as an extra one, and neither sees the other's."""
    scenes.save(
        client, 1, {name: value for name, value, _ in TWO_ANSWERS if name != scheme} | {scheme: one}, "request-0"
    )
    with _database(client).write() as connection:
        bob = tables.users.insert().values(name="bob", created_at="2026-11-29T12:00:00.000Z", is_admin=False)
        who = connection.execute(bob).inserted_primary_key[0]
        connection.execute(
            tables.assignments.insert().values(
                item=1, user=who, state="open", at="2026-11-29T12:00:00.000Z", extra=False
            )
        )
    client.cookies.clear()
    scenes.sign_in(client, "bob")
    page = _page(client)
    assert 'data-answers="{}"' in page
    assert 'data-steps="[]"' in page
    assert "data-answered" not in page
    assert "checked" not in page.split('id="help"')[0]
    body = {scheme: other} | {name: value for name, value, _ in TWO_ANSWERS if name != scheme}
    assert scenes.save(client, 1, body, "request-1", annotator="bob").status_code == 200
    values = [row["value"] for row in _rows(client, tables.annotations) if row["scheme"] == scheme]
    assert values == [one, other]
    with _database(client).read() as connection:
        assert connection.execute(
            select(tables.assignments.c.extra).order_by(tables.assignments.c.user)
        ).scalars().all() == [
            False,
            True,
        ]


def test_how_a_pair_stood_is_kept_with_the_answer_and_by_no_other(client: TestClient) -> None:
    order = Pairwise.model_validate(BETTER).shown_as("ann", "i1")
    page = _page(client)
    assert f'data-order="{" ".join(order)}"' in page
    assert page.index(f">{order[0]}1<") < page.index(f">{order[1]}1<")
    scenes.save(client, 1, {"better": "a", "age": 3})
    assert {row["scheme"]: row["shown"] for row in _rows(client, tables.annotations)} == {"better": order, "age": None}


SUGGESTED = {
    "clear": (3.4, None, "3"),
    "age": (150.2, None, "99"),
    "why": (" so it is ", None, "so it is"),
    "better": ("a", 0.8, None),
}


@pytest.mark.parametrize("scheme", SUGGESTED)
def test_a_suggestion_is_shown_as_an_answer_of_its_type(
    client: TestClient, monkeypatch: pytest.MonkeyPatch, scheme: str
) -> None:
    payload, confidence, words = SUGGESTED[scheme]
    live = {scheme: Suggestion("run-1", "v1", payload, confidence)}
    monkeypatch.setattr("potato.store.training.predictions.suggestions", lambda *_: dict(live))
    page = _page(client)
    order = Pairwise.model_validate(BETTER).shown_as("ann", "i1")
    said = words or ("the first", "the second")[order.index("a")]
    assert f'The model suggests <strong dir="auto">{said}</strong>' in page
    answer = json.loads(html.unescape(page.split('data-suggested="')[1].split('"')[0]))
    shown = page.split('data-shown="')[1].split('"')[0]
    assert 'data-answers="{}"' in page  # annotation 58: a suggestion is no answer
    assert scenes.save(client, 1, {scheme: answer}, shown=shown).status_code == 200
    (row,) = _rows(client, tables.annotations)
    assert (row["origin"], row["suggestion"]["payload"]) == ("accepted", payload)
    assert 'data-saved-at=""' in page
    assert f'data-saved-at="{row["at"]}"' in _page(client)  # annotation 26: the page shows when


def test_a_written_suggestion_that_is_no_answer_is_not_shown(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    live = {"why": Suggestion("run-1", "v1", "much too long to be an answer", None)}
    monkeypatch.setattr("potato.store.training.predictions.suggestions", lambda *_: dict(live))
    assert "The model suggests" not in _page(client)


def test_a_flag_and_a_skip_keep_their_reasons_and_the_page_says_them(client: TestClient) -> None:
    assert _post(client, "/annotate/1/flag", reason=" <b>odd</b> \ud83d").json() == {"flagged": True}
    assert _post(client, "/annotate/1/skip", reason="half \ud83d, zero \0").json()["skipped"] is True
    page = _page(client)
    assert 'You flagged this item. <q data-reason dir="auto">&lt;b&gt;odd&lt;/b&gt; \ufffd</q>' in page
    assert 'You skipped this item. <q dir="auto">half \ufffd, zero \ufffd</q>' in page
    with _database(client).read() as connection:
        assert connection.execute(select(tables.assignments.c.flag)).all() == [("<b>odd</b> \ufffd",)]
    scenes.save(client, 1, {"sentiment": "positive"})  # an answer takes the skip back, not the flag
    page = _page(client)
    assert "You skipped" not in page
    assert 'aria-pressed="true"' in page
    _post(client, "/annotate/1/flag", reason=None)
    assert 'aria-pressed="true"' not in _page(client)
    assert _post(client, "/annotate/2/flag", reason="not mine").json()["code"] == "item_not_yours"


def test_what_is_not_asked_is_not_stored_whoever_sends_it(tmp_path: Path) -> None:
    why = {**WHY, "show_if": {"sentiment": "negative"}}
    with scenes.served(scenes.project(tmp_path, annotation_schemes=[scenes.SENTIMENT, why])) as client:
        scenes.sign_in(client)
        scenes.hand_out(client)
        assert scenes.save(client, 1, {"why": "so"}, "request-1").json()["item_done"] is False
        assert _rows(client, tables.annotations) == []
        scenes.save(client, 1, {"sentiment": "negative", "why": "so"}, "request-2")
        assert len(_rows(client, tables.annotations)) == 2
        assert scenes.save(client, 1, {"sentiment": "positive"}, "request-3").json()["item_done"] is True
        assert [row["value"] for row in _rows(client, tables.annotations)] == ["positive"]
        assert [row["value"] for row in _rows(client, tables.annotation_history)][-1] is None


def test_the_item_is_not_shown_twice_where_its_text_is_one_of_the_pair(tmp_path: Path) -> None:
    pair = {**BETTER, "field_a": "text", "field_b": "other"}
    (tmp_path / "pairs.jsonl").write_text('{"id": "1", "text": "one", "other": "two"}\n', "utf-8")
    project = scenes.project(tmp_path, data_files=["pairs.jsonl"], annotation_schemes=[pair])
    with scenes.served(project) as client:
        scenes.sign_in(client)
        page = _page(client, scenes.hand_out(client))
    assert 'class="item-text"' not in page
    assert page.count(">one<") == page.count(">two<") == 1
