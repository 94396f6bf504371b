"""The agent protocol as calls: what is asked, what comes back, and which refusals are for ever."""

import json
import urllib.parse
from dataclasses import dataclass, replace
from typing import Any, Dict, Mapping, Optional

from potato.training.agent.transport import Answer, CutOff, Opener, Sink, Transport, Unreachable

PROTOCOL = 1
PREFIX = "/training/agent/v1"


class Refused(Exception):
    """The server itself said no. `code` is stable; `body` is its whole answer."""

    def __init__(self, status: int, code: str, message: str, body: Mapping[str, Any]) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.body = body


class NotUnderstood(Exception):
    """The server answered what this agent cannot make sense of: their versions do not fit."""


@dataclass(frozen=True)
class Job:
    """A claimed job. Durations are seconds; `raw` is the server's own words."""

    run_id: str
    attempt: int
    bundle_bytes: int
    bundle_sha256: str
    grace_s: float
    heartbeat_timeout_s: float
    report_every_s: float
    give_up_s: float
    piece_bytes: int
    raw: Mapping[str, Any]


@dataclass(frozen=True)
class Claim:
    """The answer to a claim: a job, or how long to wait before asking again."""

    job: Optional[Job]
    poll_after_s: float


class TooLarge(Unreachable):
    """Something on the way takes no body as large as this one."""


class Client:
    """One agent's calls. Every call may raise `Unreachable` (ask again), `Gone` or `Refused`.

    `limit_s` shortens every wait for an answer where it is set.
    """

    limit_s: Optional[float] = None

    def __init__(self, transport: Transport, token: str, backend: str) -> None:
        self._transport = transport
        self.longest_range = transport.longest_range
        self._token = token.encode()
        self._backend = backend

    def __repr__(self) -> str:
        return "Client(backend=%r)" % self._backend  # never the token

    def claim(self, agent: Mapping[str, Any], wait_s: float, leaving: bool = False) -> Claim:
        """Wait for work, at most `wait_s`; or take leave. Raises `NotUnderstood` too."""
        asked = {"protocol": PROTOCOL, "backend": self._backend, "agent": dict(agent), "wait_s": wait_s}
        if leaving:
            asked["leaving"] = True
        answer = self._call("POST", "/claim", json_body=asked, timeout=wait_s + 30)
        if "protocol" not in answer:
            raise Unreachable("an answer came back that is not Potato's")
        if answer["protocol"] != PROTOCOL:
            raise NotUnderstood(
                "the server speaks version %.20r of the agent protocol, and this agent version %d"
                % (answer["protocol"], PROTOCOL)
            )
        try:
            job = answer.get("job")
            return Claim(read_job(job) if job else None, float(answer.get("poll_after_s") or 0.0))
        except (KeyError, TypeError, ValueError) as error:
            raise NotUnderstood("the server offered a job that this agent cannot read: %r" % error) from error

    def bundle(self, job: Job, start: int, end: int, sink: Sink) -> None:
        """The bundle archive's bytes from `start` up to `end`, into `sink`."""
        headers = {"Range": "bytes=%d-%d" % (start, end - 1)}
        answer = self._ask("GET", _path(job, "bundle"), headers=headers, timeout=60, opener=_from(start, sink))
        if answer.body or answer.status not in (200, 206):
            raise CutOff("something on the way did not answer with the part of the bundle that was asked for")

    def put(self, job: Job, name: str, offset: int, piece: bytes) -> int:
        """Append `piece` to the run's file `name` at `offset`; how many bytes the server holds now. A piece that it
        holds already changes nothing."""
        path = _path(job, "files/" + urllib.parse.quote(name), offset=offset)
        headers = {"Content-Type": "application/octet-stream"}
        try:
            return _number(self._call("PUT", path, headers=headers, body=piece, timeout=60), "length")
        except Refused as refused:
            if refused.code != "wrong_offset":
                raise
            return _number(refused.body, "length")

    def report(self, job: Job, step: str, now: float) -> bool:
        """A word from the agent; whether to cancel. `now` is this machine's clock, which decides nothing; the server
        says once when it is far off."""
        asked = {"attempt": job.attempt, "step": step, "clock": now}
        answer = self._call("POST", "/runs/%s/report" % urllib.parse.quote(job.run_id), json_body=asked)
        if "cancel" not in answer:
            raise Unreachable("an answer came back that is not Potato's")
        return bool(answer["cancel"])

    def result(self, job: Job, ended: Mapping[str, Any]) -> None:
        """How the job ended; the server answers once it holds every file whole. Safe to repeat."""
        asked = dict(ended, attempt=job.attempt)
        path = "/runs/%s/result" % urllib.parse.quote(job.run_id)
        if "taken" not in self._call("POST", path, json_body=asked, timeout=60):
            raise Unreachable("an answer came back that is not Potato's")

    def close(self) -> None:
        """Let go of the connection."""
        self._transport.close()

    def _call(
        self,
        method: str,
        path: str,
        json_body: Optional[Mapping[str, Any]] = None,
        headers: Optional[Mapping[str, str]] = None,
        body: bytes = b"",
        timeout: float = 30.0,
    ) -> Dict[str, Any]:
        whole = dict(headers or {})
        if json_body is not None:
            whole["Content-Type"] = "application/json"
            body = json.dumps(json_body).encode()
        answer = self._ask(method, path, whole, body, timeout)
        parsed = _parsed(answer)
        if parsed is None:
            raise Unreachable("an answer came back that is not Potato's (status %d)" % answer.status)
        return parsed

    def _ask(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str],
        body: bytes = b"",
        timeout: float = 30.0,
        opener: Optional[Opener] = None,
    ) -> Answer:
        whole = dict(headers, Authorization="Bearer " + self._token.decode(), Accept="application/json")
        timeout = timeout if self.limit_s is None else min(timeout, self.limit_s)
        answer = self._without_token(self._transport.request(method, PREFIX + path, whole, body, timeout, opener))
        if answer.status < 400:
            return answer
        parsed = _parsed(answer)
        if parsed is None or "error" not in parsed or "code" not in parsed:
            if answer.status == 413:
                raise TooLarge("something on the way takes no piece of %d bytes" % len(body))
            raise Unreachable("status %d came back, with a page that is not Potato's" % answer.status)
        if answer.status >= 500 or answer.status == 429:
            raise Unreachable("the server answered %d: %.300s" % (answer.status, parsed["error"]))
        raise Refused(answer.status, str(parsed["code"]), str(parsed["error"]), parsed)

    def _without_token(self, answer: Answer) -> Answer:
        """Something on the way may show what it was sent; no text that is made of it is to tell the token."""
        return replace(answer, body=answer.body.replace(self._token, b"<token>")) if self._token else answer


def _path(job: Job, rest: str, **query: int) -> str:
    query = dict(query, attempt=job.attempt)
    return "/runs/%s/%s?%s" % (urllib.parse.quote(job.run_id), rest, urllib.parse.urlencode(sorted(query.items())))


def _parsed(answer: Answer) -> Optional[Dict[str, Any]]:
    if "json" not in answer.headers.get("content-type", ""):
        return None
    try:
        parsed = json.loads(answer.body)
    except ValueError:
        return None
    return parsed if isinstance(parsed, dict) else None


def _number(answer: Mapping[str, Any], name: str) -> int:
    value = answer.get(name)
    if not isinstance(value, int) or value < 0:
        raise Unreachable("an answer came back that is not Potato's")
    return value


def _from(start: int, sink: Sink) -> Opener:
    """Takes an answer that begins at byte `start` of the bundle; any other is kept away from `sink`."""

    def opener(status: int, headers: Mapping[str, str]) -> Optional[Sink]:
        if status == 206:
            return sink if headers.get("content-range", "").startswith("bytes %d-" % start) else None
        whole = status == 200 and start == 0 and not headers.get("content-type", "").startswith("text/")
        return sink if whole else None

    return opener


def read_job(raw: Mapping[str, Any]) -> Job:
    """A job in the server's words. Raises `KeyError`, `TypeError` or `ValueError` for one that is none."""
    run_id = str(raw["run_id"])
    if not 0 < len(run_id.encode()) <= 200 or run_id.startswith(".") or any(char in run_id for char in "/\\\0"):
        raise ValueError("the run id %.100r is no name for a folder" % run_id)
    for name, kind in (("trainer", str), ("schemas", list), ("params", dict), ("seed", int)):
        if not isinstance(raw[name], kind):
            raise TypeError("the job's %s is %.80r" % (name, raw[name]))
    return Job(
        run_id=run_id,
        attempt=int(raw["attempt"]),
        bundle_bytes=int(raw["bundle"]["bytes"]),
        bundle_sha256=str(raw["bundle"]["sha256"]),
        grace_s=float(raw.get("grace_seconds", 20.0)),
        heartbeat_timeout_s=float(raw.get("heartbeat_timeout_s", 120.0)),
        report_every_s=max(0.05, float(raw.get("report_every_s", 1.0))),
        give_up_s=float(raw.get("give_up_s", 300.0)),
        piece_bytes=max(1024, min(1 << 20, int(raw.get("piece_bytes", 1 << 19)))),
        raw=raw,
    )
