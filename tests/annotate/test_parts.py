"""What the page's script asks for: items as parts of the page, and the next one with the answer to the one before."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

import site_scenes as scenes

PART = {"Accept": "application/json"}


def _part(client: TestClient, address: str) -> Any:
    answer = client.get(address, headers=PART)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_an_item_comes_as_the_part_of_its_page_that_differs(client: TestClient) -> None:
    scenes.sign_in(client)
    part = _part(client, "/annotate")
    page = client.get("/annotate/1", headers=scenes.PAGE).text
    assert part["work"].strip() in page
    assert f"<title>{part['title']}</title>" in page
    assert (part["item"], part["progress"]) == (1, {"done": 0, "total_done": 0, "total": 3})
    assert _part(client, "/annotate/1") == part


def test_going_back_and_forth_takes_one_request(client: TestClient) -> None:
    scenes.sign_in(client)
    for seq in (1, 2):
        scenes.save(client, scenes.hand_out(client), {"sentiment": "negative"}, f"request-{seq}")
    addresses = ("/annotate/2/back", "/annotate/1/forth", "/annotate/2/forth", "/annotate/last")
    assert [_part(client, address)["item"] for address in addresses] == [1, 2, 3, 3]


def test_the_next_item_comes_with_the_answer_that_completes_the_one_before(client: TestClient) -> None:
    scenes.sign_in(client)
    seq = scenes.hand_out(client)
    optional = scenes.save(client, seq, {"topics": ["food"]}, "request-1", next=True).json()
    assert (optional["item_done"], optional["next"]) == (False, None)
    answered = scenes.save(client, seq, {"sentiment": "positive"}, "request-2", next=True).json()
    repeated = scenes.save(client, seq, {"sentiment": "positive"}, "request-2", next=True).json()
    whole = _part(client, "/annotate/2")
    assert whole.pop("progress") == answered["progress"] == {"done": 1, "total_done": 1, "total": 3}
    assert answered["next"] == repeated["next"] == whole
    assert scenes.save(client, 1, {"sentiment": "negative"}, "request-3").json()["next"] is None


def test_after_an_item_of_before_comes_the_one_that_was_met_after_it(client: TestClient) -> None:
    scenes.sign_in(client)
    for seq in (1, 2):
        scenes.save(client, scenes.hand_out(client), {"sentiment": "negative"}, f"request-{seq}")
    again = scenes.save(client, 1, {"sentiment": "positive"}, "request-3", next=True).json()["next"]
    assert again["item"] == 2
    assert "checked" in again["work"]


def test_after_the_last_item_comes_none(client: TestClient) -> None:
    scenes.sign_in(client)
    given = [scenes.hand_out(client)]
    while given[-1] is not None:
        body = {"sentiment": "positive"}
        part = scenes.save(client, given[-1], body, f"request-{len(given)}", next=True).json()["next"]
        given.append(part and part["item"])
    assert given == [1, 2, 3, None]
    assert _part(client, "/annotate/3/forth") == {"item": None}


def test_an_answer_that_is_refused_hands_nothing_out(client: TestClient) -> None:
    scenes.sign_in(client)
    seq = scenes.hand_out(client)
    answers = {"sentiment": "positive", "gone": "x"}
    assert scenes.save(client, seq, answers, next=True).json()["code"] == "answers_refused"
    assert scenes.save(client, 2, {"sentiment": "positive"}, "request-2", next=True).status_code == 404


def test_an_answer_stands_though_handing_out_fails(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    scenes.sign_in(client)
    seq = scenes.hand_out(client)

    def broken(*_: Any) -> None:
        raise RuntimeError

    with monkeypatch.context() as broken_off:
        broken_off.setattr("potato.store.assignments.next_item", broken)
        reply = scenes.save(client, seq, {"sentiment": "positive"}, next=True)
        assert (reply.status_code, reply.json()["item_done"], reply.json()["next"]) == (200, True, None)
    repeated = scenes.save(client, seq, {"sentiment": "positive"}, next=True).json()
    assert (repeated["repeated"], repeated["next"]["item"]) == (True, 2)


def test_a_question_that_was_answered_shows_it_to_nobody_else(tmp_path: Path) -> None:
    """annotation 36: questions that look the same to everybody are kept ready."""
    with scenes.served(scenes.project(tmp_path, annotations_per_item=2)) as client:
        shown = {}
        for name in ("ann", "bob"):
            scenes.sign_in(client, name)
            assert scenes.hand_out(client) == 1
            shown[name] = _part(client, "/annotate/1")["work"]
            scenes.save(client, 1, {"sentiment": "positive", "stars": 3}, f"request-{name}", annotator=name)
            assert _part(client, "/annotate/1")["work"].count(" checked") == 2
    assert shown["ann"].replace('data-annotator="ann"', 'data-annotator="bob"') == shown["bob"]
    assert " checked" not in shown["bob"]


@pytest.mark.parametrize("way", ["", "/back", "/forth"])
def test_a_part_is_only_for_whom_the_item_was_given_to(client: TestClient, way: str) -> None:
    assert client.get(f"/annotate/1{way}", headers=PART).status_code == 401
    scenes.sign_in(client)
    assert client.get("/annotate/2", headers=PART).json()["code"] == "item_not_yours"
