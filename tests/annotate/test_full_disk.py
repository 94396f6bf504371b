"""A disk that has no room for an answer."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

import site_scenes as scenes
from makers import Small, opened
from potato.items import tasks
from potato.items.tasks import NoRoomForDownload
from small_disk import SmallDisk, small_disk

pytestmark = pytest.mark.sqlite("fills the disk of SQLite's own file")


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    """The disk of the project's store."""
    with small_disk(tmp_path / "annotation_output", 4) as disk:
        yield disk


@pytest.fixture
def client(tmp_path: Path, disk: SmallDisk) -> Iterator[TestClient]:
    """A client of a project on that disk, whose annotator has an item."""
    with scenes.served(scenes.project(tmp_path)) as client:
        scenes.sign_in(client)
        yield client


def test_an_answer_that_finds_no_room_is_refused_in_words_and_taken_once_there_is_some(
    client: TestClient, disk: SmallDisk
) -> None:
    """annotation 34, while the server runs"""
    item = scenes.hand_out(client)
    disk.fill()
    refused = scenes.save(client, item, {"sentiment": "positive"})
    assert refused.status_code == 507
    assert refused.json()["error"] == "The disk that holds the project's store is full, so nothing was saved"
    assert "makes room there" in refused.json()["hint"]
    assert int(refused.headers["retry-after"]) > 0
    shown = client.get(f"/annotate/{item}", headers=scenes.PAGE)
    assert (shown.status_code, 'data-answers="{}"' in shown.text) == (200, True)
    newcomer = client.post("/sign-in", data={"name": "bob"}, headers=scenes.PAGE)
    assert newcomer.status_code == 507
    assert "The disk that holds the project" in newcomer.text
    assert client.get("/admin/adjudication", headers={"X-API-Key": scenes.KEY}).status_code == 200
    disk.empty()
    saved = scenes.save(client, item, {"sentiment": "positive"})
    assert saved.status_code == 200, saved.text
    assert "positive" in client.get(f"/annotate/{item}", headers=scenes.PAGE).text.partition("data-answers=")[2][:60]


@pytest.mark.parametrize("form", ["jsonl", "parquet"])
def test_a_download_that_finds_no_room_is_refused_in_words(tmp_path: Path, disk: SmallDisk, form: str) -> None:
    project = scenes.project(tmp_path)
    with opened(project) as database:
        Small(project, database).save(Small(project, database).user("ann"), 1, {"sentiment": "positive"})
        disk.fill()
        with pytest.raises(NoRoomForDownload) as raised:
            tasks.export(project, database, {"path": str(project.output_dir / "exports" / "one"), "format": form})
    assert raised.value.message == "The download could not be written on the server: no space left on device"
    assert list((project.output_dir / "exports").glob("*")) == []
