"""Items' images and recordings: what is served, to whom, and what is said where it cannot be."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

import site_scenes as scenes
from potato.items.loading import LoadReport, load_items
from potato.items.media import MOST_MB
from potato.project import Project
from potato.project.models import ProjectFile
from potato.store import Database

KEYS = {"image_key": "image", "image_alt_key": "seen", "audio_key": "sound"}


def project(folder: Path, rows: list[dict[str, Any]]) -> tuple[Project, LoadReport]:
    """A project with these items."""
    folder.mkdir(exist_ok=True)
    lines = [{"id": f"i{n}", "text": f"text {n}", **row} for n, row in enumerate(rows, 1)]
    (folder / "items.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    settings = {
        "annotation_task_name": "Pictures",
        "data_files": ["items.jsonl"],
        "admin_api_key": scenes.KEY,
        "item_properties": KEYS,
        "annotation_schemes": [scenes.SENTIMENT],
    }
    file = folder / "config.yaml"
    file.write_text(json.dumps(settings), "utf-8")
    made = Project(file, ProjectFile.model_validate(settings))
    database = Database(made.database_url)
    database.migrate()
    try:
        return made, load_items(made, database)
    finally:
        database.close()


@contextmanager
def given(made: Project, items: int) -> Iterator[TestClient]:
    """A client whose annotator was given so many items."""
    with scenes.served(made) as client:
        scenes.sign_in(client)
        for number in range(1, items + 1):
            assert scenes.hand_out(client) == number
            if number < items:
                scenes.save(client, number, {"sentiment": "positive"}, f"request-{number}")
        yield client


def page(client: TestClient, item: int) -> str:
    return unescape(client.get(f"/annotate/{item}", headers=scenes.PAGE).text)


def test_a_recording_comes_in_ranges_with_its_type_and_is_kept_for_a_while(tmp_path: Path) -> None:
    made, report = project(tmp_path / "task", [{"sound": "bells.OGG"}])
    assert [note for note in report.notes if "bells" in note] != []
    (tmp_path / "task" / "bells.OGG").write_bytes(bytes(range(200)))
    with given(made, 1) as client:
        whole = client.get("/annotate/1/media/audio")
        assert (whole.status_code, whole.headers["content-type"]) == (200, "audio/ogg")
        assert whole.headers["x-content-type-options"] == "nosniff"
        assert whole.headers["cache-control"] == "private, max-age=600"
        assert "sandbox" in whole.headers["content-security-policy"]
        part = client.get("/annotate/1/media/audio", headers={"Range": "bytes=10-19"})
        assert (part.status_code, part.content) == (206, bytes(range(10, 20)))
        assert part.headers["content-range"] == "bytes 10-19/200"
        beyond = client.get("/annotate/1/media/audio", headers={"Range": "bytes=900-"})
        assert beyond.status_code == 416
        again = client.get("/annotate/1/media/audio", headers={"If-None-Match": whole.headers["etag"]})
        assert (again.status_code, again.content) == (304, b"")


def test_media_is_for_whoever_was_given_the_item_and_for_admins(tmp_path: Path) -> None:
    made, _ = project(tmp_path / "task", [{"image": "cat.png"}, {"image": "cat.png"}])
    (tmp_path / "task" / "cat.png").write_bytes(b"cat")
    with given(made, 1) as client:
        assert client.get("/annotate/1/media/image").content == b"cat"
        assert client.get("/annotate/2/media/image").json()["code"] == "item_not_yours"
        assert client.get("/annotate/1/media/video").status_code == 400
        client.cookies.clear()
        assert client.get("/annotate/1/media/image").status_code == 401
        assert client.get("/annotate/2/media/image", headers={"X-API-Key": scenes.KEY}).content == b"cat"
        assert client.get("/annotate/9/media/image", headers={"X-API-Key": scenes.KEY}).status_code == 404


BAD = {
    "../secret.png": "it lies outside of task_dir",
    "/etc/hostname.png": "it lies outside of task_dir",
    "link.png": "it lies outside of task_dir",
    "config.yaml": "its name must end in one of .png, .jpg",
    "annotation_output/potato.db": "its name must end in one of",
    "lost.png": "there is no such file under task_dir",
    "folder.png": "there is no such file under task_dir",
    "n" * 300 + ".png": "this cannot be a file",
    "huge.png": f"it has {MOST_MB['image'] + 1} MB, and {MOST_MB['image']} MB are the most",
}


def test_what_cannot_be_shown_is_said_at_the_load_by_the_page_and_by_the_address(tmp_path: Path) -> None:
    folder = tmp_path / "task"
    (folder / "folder.png").mkdir(parents=True)
    (tmp_path / "secret.png").write_bytes(b"secret")
    (folder / "link.png").symlink_to(tmp_path / "secret.png")
    with (folder / "huge.png").open("wb") as file:
        os.truncate(file.fileno(), (MOST_MB["image"] + 1) * 1_000_000)
    made, report = project(folder, [{"image": name} for name in BAD])
    assert report.added == len(BAD)
    assert f"{len(BAD)} images and recordings cannot be shown:" in report.notes
    for number, (name, reason) in enumerate(BAD.items(), 1):
        assert any(note.startswith(f"items.jsonl:{number}: ") and reason in note for note in report.notes), name
    with given(made, len(BAD)) as client:
        for number, (name, reason) in enumerate(BAD.items(), 1):
            answer = client.get(f"/annotate/{number}/media/image")
            assert (answer.status_code, answer.json()["code"]) == (404, "no_media"), name
            assert reason in answer.json()["error"]
            shown = page(client, number)
            assert reason in shown
            assert "Skip the item, and tell whoever runs the project." in shown
            assert "<img" not in shown


def test_an_image_is_described_in_the_words_of_the_data(tmp_path: Path) -> None:
    made, _ = project(tmp_path, [{"image": "cat.png", "seen": 'A "cat" <b>'}, {"image": "cat.png", "seen": 3}])
    (tmp_path / "cat.png").write_bytes(b"cat")
    with given(made, 2) as client:
        assert 'alt="A &#34;cat&#34; &lt;b&gt;"' in client.get("/annotate/1", headers=scenes.PAGE).text
        assert 'alt="The image of item i2"' in page(client, 2)


def test_pages_of_items_take_media_from_the_hosts_that_the_data_names_and_no_page_takes_more(tmp_path: Path) -> None:
    rows = [
        {"image": "https://Pictures.example.org:8443/a.png"},
        {"sound": "http://me:secret@sounds.example.org/b.mp3"},
        {"image": "https://b\u00fccher.example/c.png"},
        {"image": "https:///nowhere"},
        {"image": "https://evil.example; script-src *"},
    ]
    made, report = project(tmp_path, rows)
    assert sum("names no host" in note for note in report.notes) == 2
    with given(made, 2) as client:
        policy = client.get("/annotate/1", headers=scenes.PAGE).headers["content-security-policy"]
        hosts = "http://sounds.example.org https://pictures.example.org:8443 https://xn--bcher-kva.example"
        assert f"img-src 'self' data: {hosts};" in policy
        assert f"media-src 'self' data: {hosts};" in policy
        assert "script-src 'self';" in policy
        assert "evil" not in policy
        for path in ("/", "/admin", "/nowhere", "/annotate/1/back"):
            assert "example" not in client.get(path, headers=scenes.PAGE).headers["content-security-policy"]


def test_validate_warns_of_what_cannot_be_shown(tmp_path: Path) -> None:
    from potato.cli.validate import check

    made, _ = project(tmp_path, [{"image": "lost.png"}, {"sound": "cat.png"}])
    told = [str(finding) for finding in check(made.file)]
    assert any("items.jsonl:1: The image 'lost.png' cannot be shown: there is no such file" in line for line in told)
    assert any("The recording 'cat.png' cannot be shown: its name must end in one of .mp3" in line for line in told)


@pytest.mark.parametrize("name", ["cat.svg", "CAT.SVG"])
def test_a_drawing_runs_nothing_when_it_is_opened_by_itself(tmp_path: Path, name: str) -> None:
    """annotation 17"""
    (tmp_path / name).write_text("<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>", "utf-8")
    made, report = project(tmp_path, [{"image": name}])
    assert not [note for note in report.notes if "shown" in note]
    with given(made, 1) as client:
        answer = client.get("/annotate/1/media/image")
        assert answer.headers["content-type"] == "image/svg+xml"
        assert answer.headers["content-security-policy"].startswith("default-src 'none'")
