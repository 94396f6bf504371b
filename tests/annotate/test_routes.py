"""Signing in, getting items, going back and forth, skipping."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from starlette.testclient import TestClient

import site_scenes as scenes


def test_an_annotator_signs_in_by_name_and_gets_the_first_item(client: TestClient) -> None:
    assert 'name="name"' in client.get("/", headers=scenes.PAGE).text
    answer = client.post("/sign-in", data={"name": "  Ann   Other "}, headers=scenes.PAGE)
    assert (answer.status_code, answer.headers["location"]) == (303, "./annotate")
    assert scenes.hand_out(client) == 1
    page = client.get("/annotate/1", headers=scenes.PAGE).text
    assert "Ann Other" in page
    assert '<div class="item-text" dir="auto">one</div>' in page


@pytest.mark.parametrize("name", ["", "   ", "a\x00b", "n" * 201])
def test_a_name_that_cannot_be_is_told_why(client: TestClient, name: str) -> None:
    script = client.post("/sign-in", data={"name": name})
    assert (script.status_code, script.json()["code"]) == (400, "invalid_name")
    page = client.post("/sign-in", data={"name": name}, headers=scenes.PAGE)
    assert page.status_code == 400
    assert 'aria-invalid="true"' in page.text


def test_one_name_is_one_annotator_however_it_is_spaced_and_composed(client: TestClient) -> None:
    names = {client.post("/sign-in", data={"name": name}).json()["name"] for name in ("J\u00e9 R", " Je\u0301  R ")}
    assert names == {"J\u00e9 R"}


def test_without_a_session_a_page_is_the_sign_in_form_and_json_a_401(client: TestClient) -> None:
    page, script = client.get("/annotate/1", headers=scenes.PAGE), client.get("/annotate/1")
    assert page.status_code == script.status_code == 401
    assert 'name="name"' in page.text
    assert script.json()["code"] == "not_signed_in"


def test_signing_out_ends_the_session(client: TestClient) -> None:
    scenes.sign_in(client)
    assert client.post("/sign-out", headers={"Sec-Fetch-Site": "same-origin"}).status_code == 303
    assert client.get("/annotate").status_code == 401


def test_an_item_that_was_not_given_out_is_not_shown(client: TestClient) -> None:
    scenes.sign_in(client)
    for seq in (2, 99):
        assert client.get(f"/annotate/{seq}").json()["code"] == "item_not_yours"
        assert scenes.save(client, seq, {"sentiment": "positive"}).json()["code"] == "item_not_yours"


def test_back_and_forth_go_through_ones_own_items(client: TestClient) -> None:
    scenes.sign_in(client)
    for seq in (1, 2):
        assert scenes.hand_out(client) == seq
        assert scenes.save(client, seq, {"sentiment": "negative"}, f"request-{seq}").status_code == 200
    assert client.get("/annotate/2/back").headers["location"] == "../1"
    assert client.get("/annotate/1/back").headers["location"] == "../1"
    assert client.get("/annotate/1/forth").headers["location"] == "../2"
    assert client.get("/annotate/2/forth").headers["location"] == "../../annotate"
    assert client.get("/annotate/last").headers["location"] == "./2"
    assert "checked" in client.get("/annotate/1", headers=scenes.PAGE).text


def test_a_skipped_item_is_not_given_again(client: TestClient) -> None:
    scenes.sign_in(client)
    seq = scenes.hand_out(client)
    body = {"annotator": "ann", "reason": "not a review"}
    answer = client.post(f"/annotate/{seq}/skip", json=body, headers={"Sec-Fetch-Site": "same-origin"})
    assert answer.json()["skipped"] is True
    assert scenes.hand_out(client) != seq


def test_when_nothing_is_left_the_page_says_why(client: TestClient) -> None:
    scenes.sign_in(client)
    for number in range(3):
        scenes.save(client, scenes.hand_out(client), {"sentiment": "positive"}, f"request-{number}")
    page = client.get("/annotate", headers=scenes.PAGE)
    assert page.status_code == 200
    assert "Everything is annotated. Thank you." in page.text
    scenes.sign_in(client, "bob")
    assert "Nothing to do" in client.get("/annotate", headers=scenes.PAGE).text


def test_no_item_goes_to_two_annotators_however_many_ask_at_once(tmp_path: Path) -> None:
    """annotation 31: and both who answer the same item anyway are kept."""
    project = scenes.project(tmp_path, [f"text {n}" for n in range(20)])
    with scenes.served(project) as client:
        barrier = threading.Barrier(20)

        def ask(number: int) -> int:
            one = TestClient(
                client.app, follow_redirects=False, backend_options=client.async_backend["backend_options"]
            )
            one.portal = client.portal
            scenes.sign_in(one, f"annotator {number}")
            barrier.wait()
            return scenes.hand_out(one)

        with ThreadPoolExecutor(20) as pool:
            given = list(pool.map(ask, range(20)))
    assert sorted(given) == list(range(1, 21))


def test_the_text_is_exactly_that_of_the_data(tmp_path: Path) -> None:
    """annotation 17, the page's source: markup is escaped, and nothing is altered."""
    text = "<img src=x onerror=alert(1)> a<b && c </script>\r\n  two  spaces\tand a tab"
    with scenes.served(scenes.project(tmp_path, [text], annotation_task_name="<b>&")) as client:
        client.post("/sign-in", data={"name": "<i>ann</i>"})
        page = client.get(f"/annotate/{scenes.hand_out(client)}", headers=scenes.PAGE).text
    assert (
        "&lt;img src=x onerror=alert(1)&gt; a&lt;b &amp;&amp; c &lt;/script&gt;&#13;\n  two  spaces\tand a tab" in page
    )
    assert "<img" not in page
    assert "<b>" not in page
    assert "<i>ann" not in page


def test_media_comes_from_the_projects_folder_alone(tmp_path: Path) -> None:
    import json

    folder = tmp_path / "task"
    folder.mkdir()
    (tmp_path / "secret.png").write_bytes(b"secret")
    (folder / "cat.png").write_bytes(b"cat")
    project = scenes.project(folder)
    images = ["cat.png", "../secret.png", "missing.png", "https://example.org/dog.png"]
    rows = [{"id": name, "text": name, "image": name} for name in images]
    (folder / "items.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    project = _with_images(project)
    with scenes.served(project) as client:
        scenes.sign_in(client)
        answers = []
        for number in range(4):
            seq = scenes.hand_out(client)
            answers.append(client.get(f"/annotate/{seq}/media/image"))
            page = client.get(f"/annotate/{seq}", headers=scenes.PAGE).text
            scenes.save(client, seq, {"sentiment": "positive"}, f"request-{number}")
    assert [answer.status_code for answer in answers] == [200, 404, 404, 404]
    assert answers[0].content == b"cat"
    assert 'src="https://example.org/dog.png"' in page


def _with_images(project: scenes.Project) -> scenes.Project:
    settings = project.config.model_dump(mode="json") | {
        "item_properties": {"image_key": "image"},
        "output_annotation_dir": "with_images",
        "admin_api_key": "k",
    }
    made = scenes.Project(project.file, scenes.ProjectFile.model_validate(settings))
    database = scenes.Database(made.database_url)
    database.migrate()
    scenes.load_items(made, database)
    database.close()
    return made
