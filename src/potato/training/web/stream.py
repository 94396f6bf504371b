"""The live stream of a run, and of the list of runs: server-sent events.

A stream holds no thread and no connection while it waits; it sends at most twice a second, and it ends when the run
has ended or the server goes down.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

from starlette.responses import StreamingResponse

from potato.store import Connection
from potato.store.runs import get_or_raise
from potato.training.runs.folder import RunFolder
from potato.training.runs.model import as_json
from potato.training.web import journal, pieces
from potato.training.web.status import status
from potato.web.site import Site

INTERVAL_S = 0.5
"""The least time between two looks at what is new."""

SILENCE_S = 15.0
"""After this long without news a comment is sent, so that proxies keep the connection and a gone reader is noticed."""

EVENTS = 500
"""The most journal events in one look."""


@dataclass(frozen=True)
class Place:
    """How far a reader has come: in the journal and in the log (bytes). A log place of -1: the log is not wanted."""

    journal: int
    log: int = -1


@dataclass(frozen=True)
class Look:
    """What is new past a place."""

    run: dict[str, Any]
    finished: bool
    events: list[dict[str, Any]]
    log: str
    place: Place
    more: bool


def look(connection: Connection, site: Site, run_id: str, place: Place) -> Look:
    """The run as it is, and what its journal and log have past `place`. Raises `UnknownRun`."""
    run = get_or_raise(connection, run_id)  # before the files: a finished run's files are then whole
    folder = RunFolder.of(site.project, run_id)
    piece = journal.read_piece(folder.events, place.journal, EVENTS)
    text = pieces.read_on(folder.log, place.log) if place.log >= 0 else pieces.Text("", -1)
    return Look(
        run=as_json(run),
        finished=run.is_finished,
        events=[journal.as_json(offset, event) for offset, event in piece.events],
        log=text.text,
        place=Place(piece.next, text.next),
        more=piece.more or text.more,
    )


async def follow_run(site: Site, run_id: str, place: Place) -> AsyncIterator[str]:
    """The stream of one run: `run` (the whole run, when it changed), `event`, `log`, and at last `end`."""
    topic, last = f"run:{run_id}", None
    while not site.notifier.closed:
        seen, begun = site.notifier.version(topic), time.monotonic()
        at = place
        news = await site.read(lambda connection: look(connection, site, run_id, at))  # noqa: B023 - awaited at once
        place = news.place
        for event in news.events:
            yield message("event", event, event["offset"])
        if news.log:
            yield message("log", {"text": news.log, "next": place.log})
        if news.run != last:
            last = news.run
            yield message("run", last)
        if not news.more:
            if news.finished:
                yield message("end", {"state": news.run["state"]})
                return
            if await site.notifier.wait(topic, seen, SILENCE_S) == seen:
                yield ": nothing new\n\n"
            await _rest(begun)


async def follow_status(site: Site) -> AsyncIterator[str]:
    """The stream of what is going on: `status`, whenever it changed."""
    last = None
    while not site.notifier.closed:
        seen, begun = site.notifier.version("runs"), time.monotonic()
        news = await site.read(status)
        if news != last:
            last = news
            yield message("status", news)
        if await site.notifier.wait("runs", seen, SILENCE_S) == seen:
            yield ": nothing new\n\n"
        await _rest(begun)


async def _rest(begun: float) -> None:
    """Send no more than twice a second: what comes meanwhile goes into the next look."""
    await asyncio.sleep(max(0.0, INTERVAL_S - (time.monotonic() - begun)))


def message(name: str, data: Any, identifier: int | None = None) -> str:
    """One server-sent event. JSON keeps the data on one line, whatever is in it."""
    head = f"id: {identifier}\n" if identifier is not None else ""
    return f"{head}event: {name}\ndata: {json.dumps(data, separators=(',', ':'))}\n\n"


def response(events: AsyncIterator[str]) -> StreamingResponse:
    """The stream as an answer that no proxy keeps back."""
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(events, media_type="text/event-stream", headers=headers)
