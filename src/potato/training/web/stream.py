"""The live stream of a run, and of the list of runs: server-sent events.

A stream holds no thread and no connection while it waits; it sends at most once a second, and it ends when the run has
ended or the server goes down. All streams look at the same ticks of the clock, and who stands at the same place shares
one look: ten viewers cost hardly more than one.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from starlette.responses import StreamingResponse

from potato.store import Connection
from potato.store.training.runs import get_or_raise
from potato.training.runs.folder import RunFolder
from potato.training.runs.model import as_json
from potato.training.web import journal, pieces
from potato.training.web.status import status
from potato.web.site import Site

INTERVAL_S = 1.0
"""The time between two looks at what is new."""

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
    """What is new past a place, as it is sent; `run` is the whole run, sent where it is not what was sent last."""

    news: str
    run: str
    state: str
    finished: bool
    place: Place
    more: bool


def look(connection: Connection, site: Site, run_id: str, place: Place) -> Look:
    """The run as it is, and what its journal and log have past `place`. Raises `UnknownRun`."""
    run = get_or_raise(connection, run_id)  # before the files: a finished run's files are then whole
    folder = RunFolder.of(site.project, run_id)
    piece = journal.read_piece(folder.events, place.journal, EVENTS)
    text = pieces.read_on(folder.log, place.log) if place.log >= 0 else pieces.Text("", -1)
    news = [message("event", journal.as_json(offset, event), offset) for offset, event in piece.events]
    if text.text:
        news.append(message("log", {"text": text.text, "next": text.next}))
    return Look(
        news="".join(news),
        run=message("run", as_json(run)),
        state=run.state.value,
        finished=run.is_finished,
        place=Place(piece.next, text.next),
        more=piece.more or text.more,
    )


async def follow_run(site: Site, run_id: str, place: Place) -> AsyncIterator[str]:
    """The stream of one run: `event`, `log`, `run` (the whole run, when it changed), and at last `end`."""
    topic, last = f"run:{run_id}", ""
    while not site.leaves:
        seen, at = site.notifier.version(topic), place
        find = partial(site.read, partial(look, site=site, run_id=run_id, place=at))
        found = await site.shared.get((topic, seen, at), find)
        place = found.place
        sent = found.news + (found.run if found.run != last else "")
        last = found.run
        if found.finished and not found.more:
            yield sent + message("end", {"state": found.state})
            return
        if sent:
            yield sent
        if not found.more:
            if await site.notifier.wait(topic, seen, SILENCE_S) == seen:
                yield ": nothing new\n\n"
            await _until_the_next_tick()


async def follow_status(site: Site) -> AsyncIterator[str]:
    """The stream of what is going on: `status`, whenever it changed."""
    last = ""
    while not site.leaves:
        seen = site.notifier.version("runs")
        news = await site.shared.get(("status", seen), partial(site.read, _status))
        if news != last:
            last = news
            yield news
        if await site.notifier.wait("runs", seen, SILENCE_S) == seen:
            yield ": nothing new\n\n"
        await _until_the_next_tick()


def _status(connection: Connection) -> str:
    return message("status", status(connection))


async def _until_the_next_tick() -> None:
    """What comes meanwhile goes into the next look, which all streams take at once."""
    await asyncio.sleep(INTERVAL_S - time.monotonic() % INTERVAL_S)


def message(name: str, data: Any, identifier: int | None = None) -> str:
    """One server-sent event. JSON keeps the data on one line, whatever is in it."""
    head = f"id: {identifier}\n" if identifier is not None else ""
    return f"{head}event: {name}\ndata: {json.dumps(data, separators=(',', ':'))}\n\n"


def response(events: AsyncIterator[str]) -> StreamingResponse:
    """The stream as an answer that no proxy keeps back."""
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(events, media_type="text/event-stream", headers=headers)
