"""The door of one run: the agents' routes for a caller that is that run's own channel, and for that run alone.

There is no token: what comes through the channel can come from nowhere else, and reaches nothing else. No page and no
other route is behind it, whatever the project allows its loopback.
"""

from __future__ import annotations

import json
import logging
import re
import urllib.parse
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import Field, ValidationError

from potato.errors import PotatoError
from potato.training.agents import answers, bodies
from potato.training.agents.desk import AgentId, Assignment, Desk
from potato.training.agents.errors import NotYourRun

MAX_BODY = 1 << 20
RANGE = 1 << 20
"""The most of a bundle in one answer; whoever asked for more goes on from its end."""

_log = logging.getLogger("potato.runs")

_ROUTES = (
    ("POST", re.compile(r"/claim"), "_claim"),
    ("GET", re.compile(r"/runs/(?P<run_id>[^/]+)/bundle"), "_bundle"),
    ("PUT", re.compile(r"/runs/(?P<run_id>[^/]+)/files/(?P<name>[^/]+)"), "_piece"),
    ("POST", re.compile(r"/runs/(?P<run_id>[^/]+)/report"), "_report"),
    ("POST", re.compile(r"/runs/(?P<run_id>[^/]+)/result"), "_result"),
)

Offer = Callable[[AgentId], Mapping[str, Any]]
"""The job for an agent that claims: the same for the same session, a new attempt for one that holds nothing of it."""

M = TypeVar("M", bound=bodies.Message)


class NotBehindThisDoor(PotatoError):
    """No such route; only an agent's are here."""

    code = "not_found"
    status = 404

    def __init__(self, method: str, path: str) -> None:
        super().__init__(f"{method:.10} {path:.200} is not behind this door")


class BadRequest(PotatoError):
    """A request that does not have the shape its route takes."""

    code = "invalid_request"
    status = 400


class TooLong(PotatoError):
    """A body that no agent sends."""

    code = "too_large"
    status = 413


class BeyondEnd(PotatoError):
    """A range that begins behind the bundle's end."""

    code = "beyond_end"
    status = 416


@dataclass(frozen=True)
class DoorAnswer:
    """What goes back. Names of headers are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class _Place(bodies.Message):
    attempt: bodies.Attempt


class _PiecePlace(_Place):
    offset: Annotated[int, Field(ge=0, le=1 << 53)]


@dataclass(frozen=True)
class _Request:
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes
    parts: Mapping[str, str] = field(default_factory=dict)

    def json(self, model: type[M]) -> M:
        return _valid(lambda: model.model_validate_json(self.body))

    def place(self, model: type[M]) -> M:
        return _valid(lambda: model.model_validate(dict(self.query)))


class Door:
    """Serves one run. `desk` knows that run's assignment; `archive` is the packed bundle, `folder` the run's."""

    def __init__(self, desk: Desk, backend: str, run_id: str, folder: Path, archive: Path, offer: Offer) -> None:
        self._desk = desk
        self._backend = backend
        self._run_id = run_id
        self._folder = folder
        self._archive = archive
        self._offer = offer

    def answer(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> DoorAnswer:
        """Answer one request; whatever it is, there is an answer."""
        try:
            return self._routed(method, path, headers, body)
        except PotatoError as error:
            return _json(error.as_json(), error.status)
        except OSError as error:  # this machine's disk; the agent asks again
            _log.error("run %s: a request of its agent failed: %s", self._run_id, error)
            return _json({"error": f"The server could not store it: {error.strerror}", "code": "internal"}, 500)

    def _routed(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> DoorAnswer:
        if len(body) > MAX_BODY:
            raise TooLong(f"The body may have up to {MAX_BODY:,} bytes; this one has {len(body):,}")
        url = urllib.parse.urlsplit(path)
        query = dict(urllib.parse.parse_qsl(url.query))
        lower = {name.lower(): value for name, value in headers.items()}
        for wanted, pattern, name in _ROUTES:
            found = pattern.fullmatch(url.path.removeprefix(answers.PREFIX))
            if found and method == wanted and url.path.startswith(answers.PREFIX):
                parts = {key: urllib.parse.unquote(value) for key, value in found.groupdict().items()}
                if parts.get("run_id", self._run_id) != self._run_id:
                    raise NotYourRun
                answer: DoorAnswer = getattr(self, name)(_Request(query, lower, body, parts))
                return answer
        raise NotBehindThisDoor(method, path)

    def _claim(self, request: _Request) -> DoorAnswer:
        agent = answers.introduced(request.json(bodies.ClaimRequest))
        return _json(answers.job(dict(self._offer(agent)), 0.0))

    def _bundle(self, request: _Request) -> DoorAnswer:
        self._hear(request.place(_Place).attempt)
        size = self._archive.stat().st_size
        start = _start(request.headers.get("range", "bytes=0-"))
        if start >= size:
            raise BeyondEnd(f"The bundle has {size} bytes")
        with self._archive.open("rb") as file:
            file.seek(start)
            data = file.read(RANGE)
        where = f"bytes {start}-{start + len(data) - 1}/{size}"
        return DoorAnswer(206, {"content-type": "application/gzip", "content-range": where}, data)

    def _piece(self, request: _Request) -> DoorAnswer:
        place = request.place(_PiecePlace)
        assignment = self._hear(place.attempt)
        return _json(answers.piece(assignment, request.parts["name"], place.offset, request.body))

    def _report(self, request: _Request) -> DoorAnswer:
        body = request.json(bodies.Report)
        return _json(answers.report(self._hear(body.attempt), body))

    def _result(self, request: _Request) -> DoorAnswer:
        body = request.json(bodies.Result)
        if answers.was_taken(self._folder, body.attempt):
            return _json(answers.taken())
        return _json(answers.result(self._hear(body.attempt), body))

    def _hear(self, attempt: int) -> Assignment:
        return self._desk.hear(self._backend, self._run_id, attempt, lambda: False)


def _start(header: str) -> int:
    found = re.fullmatch(r"bytes=([0-9]{1,18})-[0-9]*", header.strip())
    if found is None:
        raise BadRequest("a range is `bytes=FIRST-LAST`")
    return int(found.group(1))


def _valid(parse: Callable[[], M]) -> M:
    try:
        return parse()
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise BadRequest(f"{where}: {first['msg']}".strip(": ")) from error


def _json(value: Mapping[str, Any], status: int = 200) -> DoorAnswer:
    return DoorAnswer(status, {"content-type": "application/json"}, json.dumps(value).encode())
