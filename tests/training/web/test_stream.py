"""The live streams: what they send, that they lose nothing, and that they end."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from starlette.testclient import TestClient

import training_scenes as scenes
from loops import run
from potato.project import Project
from potato.store import Database
from potato.store.training import runs as stored
from potato.store.training.runs import Run, State
from potato.training.contract.events import EventWriter
from potato.training.runs.folder import RunFolder
from potato.training.runs.notifier import Notifier
from potato.training.web import stream
from potato.training.web.stream import Place, follow_run, follow_status
from potato.web.session import Sessions, new_keys
from potato.web.site import Site

LIMIT_S = 20


@pytest.fixture
def site(project: Project, database: Database, notifier: Notifier) -> Site:
    """A site that is read only, so without writer, tasks or supervisor."""
    return Site(project, database, None, Sessions(**new_keys()), notifier, None)  # type: ignore[arg-type]


@pytest.fixture
def running(database: Database, project: Project) -> Run:
    run = scenes.run(1, State.RUNNING)
    with database.write() as connection:
        scenes.add(connection, run)
    RunFolder.of(project, run.run_id).path.mkdir(parents=True)
    return run


def _parse(text: str) -> tuple[str, Any, str | None]:
    lines = dict(line.split(": ", 1) for line in text.strip().splitlines() if not line.startswith(":"))
    return lines.get("event", "comment"), json.loads(lines.get("data", "null")), lines.get("id")


async def _until(events: AsyncIterator[str], name: str) -> list[tuple[str, Any, str | None]]:
    """What comes up to the first event of that name."""
    seen: list[tuple[str, Any, str | None]] = []
    async for sent in events:
        seen += [_parse(text) for text in sent.split("\n\n") if text]
        if any(each[0] == name for each in seen):
            return seen
    raise AssertionError(f"the stream ended without {name}: {[each[0] for each in seen]}")


def _finish(database: Database, run: Run) -> None:
    with database.write() as connection:
        stored.transition(connection, run.run_id, State.EVALUATING)
        stored.transition(connection, run.run_id, State.SUCCESS)


def test_a_finished_run_is_told_whole_and_the_stream_ends(
    client: TestClient, database: Database, project: Project
) -> None:
    run = scenes.succeeded(1)
    with database.write() as connection:
        scenes.add(connection, run)
    folder = scenes.write_course(project, run.run_id)
    answer = client.get(f"/admin/training/api/runs/{run.run_id}/stream", params={"log_after": 0})
    assert answer.headers["content-type"].startswith("text/event-stream")
    parsed = [_parse(text) for text in answer.text.strip().split("\n\n")]
    assert [each[0] for each in parsed].count("event") == 1 + 12 * 8
    assert "".join(data["text"] for name, data, _ in parsed if name == "log") == folder.log.read_text()
    assert parsed[-1][:2] == ("end", {"state": "success"})


def test_the_id_of_an_event_is_where_a_reader_goes_on(client: TestClient, database: Database, project: Project) -> None:
    run = scenes.succeeded(1)
    with database.write() as connection:
        scenes.add(connection, run)
    scenes.write_course(project, run.run_id)
    path = f"/admin/training/api/runs/{run.run_id}/stream"
    first = [_parse(text) for text in client.get(path).text.strip().split("\n\n")]
    ids = [identifier for name, _, identifier in first if name == "event"]
    again = client.get(path, headers={"Last-Event-ID": str(ids[40])}).text.strip().split("\n\n")
    assert [_parse(text)[2] for text in again if _parse(text)[0] == "event"] == ids[41:]


def test_what_the_worker_says_next_comes_by_itself(
    site: Site, database: Database, project: Project, running: Run, notifier: Notifier
) -> None:
    async def watch() -> None:
        events = follow_run(site, running.run_id, Place(0, 0))
        await _until(events, "run")
        folder = RunFolder.of(project, running.run_id)
        writer = EventWriter(str(folder.events))
        writer.metric("val", "accuracy", 0.75, 1)
        writer.close()
        folder.log.write_text("val accuracy 0.75\n")
        notifier.publish(f"run:{running.run_id}")
        [event, log] = await _until(events, "log")
        assert (event[0], event[1]["value"]) == ("event", 0.75)
        assert log[1]["text"] == "val accuracy 0.75\n"
        _finish(database, running)
        notifier.publish(f"run:{running.run_id}")
        last = await _until(events, "end")
        assert [data["state"] for name, data, _ in last if name == "run"] == ["success"]

    run(asyncio.wait_for(watch(), LIMIT_S))


def test_many_publishes_are_joined_into_few_looks(
    site: Site, database: Database, running: Run, notifier: Notifier, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = []
    look = stream.look
    monkeypatch.setattr(stream, "look", lambda *args, **named: looks.append(1) or look(*args, **named))

    async def watch() -> None:
        events = follow_run(site, running.run_id, Place(0))
        await _until(events, "run")
        for step in range(200):
            with database.write() as connection:
                stored.amend(connection, running.run_id, step=f"step {step}")
            notifier.publish(f"run:{running.run_id}")
        _finish(database, running)
        notifier.publish(f"run:{running.run_id}")
        await _until(events, "end")

    run(asyncio.wait_for(watch(), LIMIT_S))
    assert len(looks) <= 4


def test_viewers_who_stand_at_the_same_place_share_a_look(
    site: Site, database: Database, running: Run, notifier: Notifier, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = []
    look = stream.look
    monkeypatch.setattr(stream, "look", lambda *args, **named: looks.append(1) or look(*args, **named))

    async def watch() -> None:
        viewers = [follow_run(site, running.run_id, Place(0)) for _ in range(10)]
        begun = await asyncio.gather(*(_until(events, "run") for events in viewers))
        _finish(database, running)
        notifier.publish(f"run:{running.run_id}")
        ended = await asyncio.gather(*(_until(events, "end") for events in viewers))
        for told in (begun, ended):
            assert all(each == told[0] for each in told)

    run(asyncio.wait_for(watch(), LIMIT_S))
    assert len(looks) <= 4


def test_who_leaves_does_not_take_the_look_from_the_others(site: Site, running: Run) -> None:
    async def watch() -> None:
        viewers = [follow_run(site, running.run_id, Place(0)) for _ in range(2)]
        first, second = (asyncio.ensure_future(_until(events, "run")) for events in viewers)
        await asyncio.sleep(0)
        first.cancel()
        assert (await second)[-1][1]["run_id"] == running.run_id

    run(asyncio.wait_for(watch(), LIMIT_S))


def test_a_server_that_goes_down_ends_every_stream(site: Site, running: Run, notifier: Notifier) -> None:
    async def watch(events: AsyncIterator[str]) -> int:
        return len([text async for text in events])

    async def both() -> None:
        tasks = [
            asyncio.create_task(watch(follow_run(site, running.run_id, Place(0)))),
            asyncio.create_task(watch(follow_status(site))),
        ]
        done, _ = await asyncio.wait(tasks, timeout=0.5)
        assert not done
        notifier.close()
        assert all(count > 0 for count in await asyncio.gather(*tasks))

    run(asyncio.wait_for(both(), LIMIT_S))


def test_the_status_is_told_whenever_it_changes(
    site: Site, database: Database, running: Run, notifier: Notifier
) -> None:
    async def watch() -> None:
        events = follow_status(site)
        [(_, first, _)] = await _until(events, "status")
        assert (first["current"]["run_id"], first["queue"]) == (running.run_id, [])
        queued = scenes.run(2, State.QUEUED)
        with database.write() as connection:
            scenes.add(connection, queued)
        notifier.publish("runs")
        news = (await _until(events, "status"))[-1][1]
        assert [run["run_id"] for run in news["queue"]] == [queued.run_id]

    run(asyncio.wait_for(watch(), LIMIT_S))


def test_a_run_that_comes_and_goes_between_two_looks_changes_the_status(
    site: Site, database: Database, notifier: Notifier
) -> None:
    async def watch() -> None:
        events = follow_status(site)
        [(_, first, _)] = await _until(events, "status")
        assert (first["current"], first["queue"], first["last_ended"]) == (None, [], None)
        over = scenes.run(1, State.ERROR)
        with database.write() as connection:
            scenes.add(connection, over)
        notifier.publish("runs")
        news = (await _until(events, "status"))[-1][1]
        assert (news["current"], news["last_ended"]) == (None, over.run_id)

    run(asyncio.wait_for(watch(), LIMIT_S))


def test_a_line_break_in_the_data_does_not_break_the_event() -> None:
    text = stream.message("log", {"text": "a\nb\r\n\n\u2028"})
    assert _parse(text) == ("log", {"text": "a\nb\r\n\n\u2028"}, None)
