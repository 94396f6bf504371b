"""A stand-in for the server's side of the agent protocol: strict about it, and able to misbehave on the way."""

from __future__ import annotations

import hashlib
import io
import json
import random
import re
import socket
import ssl
import tarfile
import threading
import time
import urllib.parse
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

TOKEN = "standin-token-Zk3_uQ"
BACKEND = "lab"
PREFIX = "/training/agent/v1"
FILES = ("events.jsonl", "stderr.log", "agent.log", "predictions.jsonl")
HTML = b"<html><body><h1>502 Bad Gateway</h1></body></html>"


def pack(folder: Path) -> bytes:
    """A folder as a bundle's archive."""
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w:gz") as tar:
        for path in sorted(folder.rglob("*")):
            tar.add(path, str(path.relative_to(folder)), recursive=False)
    return target.getvalue()


class Says(Exception):
    """An error of the server's own."""

    def __init__(self, status: int, code: str, **more: Any) -> None:
        super().__init__(code)
        self.status = status
        self.body = {"error": f"the stand-in says {code}", "code": code, "hint": None, **more}


@dataclass
class Run:
    """One run as the server knows it."""

    job: dict[str, Any]
    archive: bytes
    attempt: int = 1
    files: dict[str, bytearray] = field(default_factory=lambda: {name: bytearray() for name in FILES})
    cancel: bool = False
    over: bool = False
    session: str = ""
    result: dict[str, Any] | None = None
    reports: list[dict[str, Any]] = field(default_factory=list)

    def offer(self) -> dict[str, Any]:
        bundle = {"bytes": len(self.archive), "sha256": hashlib.sha256(self.archive).hexdigest()}
        return {**self.job, "attempt": self.attempt, "bundle": bundle, "something_new": {"is": "ignored"}}


Fault = Callable[["Handler"], str]
"""What goes wrong with a request: "" for nothing."""


class StandIn:
    """The server. `fault` is asked about each request; `violations` are breaches of the protocol by the agent."""

    def __init__(self, prefix: str = "", tls: ssl.SSLContext | None = None) -> None:
        self.prefix = prefix
        self.runs: dict[str, Run] = {}
        self.fault: Fault = lambda handler: ""
        self.claim_answer: Callable[[], Any] | None = None
        self.violations: list[str] = []
        self.requests: list[str] = []
        self.claims: list[dict[str, Any]] = []
        self.token = TOKEN
        self.lock = threading.RLock()
        self.http = self._listen(0, tls)
        self._tls = tls
        self.port = self.http.server_address[1]

    @property
    def url(self) -> str:
        return f"{'https' if self._tls else 'http'}://127.0.0.1:{self.port}{self.prefix}"

    def add(self, run_id: str, archive: bytes, trainer: str = "strange", **more: Any) -> Run:
        """Queue a run."""
        params = more.pop("params", {})
        job = {
            "run_id": run_id,
            "trainer": trainer,
            "schemas": ["s"],
            "params": params,
            "seed": 0,
            "device": "cpu",
            "num_threads": 1,
            "grace_seconds": 2,
            "heartbeat_timeout_s": 120,
            "report_every_s": 0.05,
            "give_up_s": 300,
            "piece_bytes": 1 << 19,
            **more,
        }
        with self.lock:
            self.runs[run_id] = Run(job, archive)
        return self.runs[run_id]

    def stop(self) -> None:
        """Be gone: connections are refused."""
        self.http.shutdown()
        self.http.server_close()
        self.http.cut_all()

    def start_again(self) -> None:
        """Be back, at the same port."""
        self.http = self._listen(self.port, self._tls)

    def _listen(self, port: int, tls: ssl.SSLContext | None) -> Listener:
        http = Listener(("127.0.0.1", port), self)
        if tls is not None:
            http.socket = tls.wrap_socket(http.socket, server_side=True)
        threading.Thread(target=http.serve_forever, args=(0.02,), daemon=True).start()
        return http


class Listener(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def __init__(self, address: tuple[str, int], standin: StandIn) -> None:
        self.standin = standin
        self.open: set[socket.socket] = set()
        super().__init__(address, Handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        self.open.add(request)
        super().process_request(request, client_address)

    def cut_all(self) -> None:
        for connection in list(self.open):
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A connection that broke is no news here."""


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Listener

    def log_message(self, *_: Any) -> None:
        """Say nothing."""

    def do_POST(self) -> None:
        self._handle("POST")

    def do_PUT(self) -> None:
        self._handle("PUT")

    def do_GET(self) -> None:
        self._handle("GET")

    def _handle(self, method: str) -> None:
        self.method = method
        self.standin = self.server.standin
        length = int(self.headers.get("Content-Length") or 0)
        self.content = self.rfile.read(length)
        if len(self.content) < length:
            return
        with self.standin.lock:
            self.standin.requests.append(f"{method} {self.path}")
        if length > 1_000_000:
            self.standin.violations.append(f"a body of {length} bytes")
        fault = self.standin.fault(self)
        if fault == "drop":
            self.close_connection = True
            return
        if fault.startswith("html"):
            self._send(int(fault[4:]), HTML, "text/html")
            return
        status, body, headers = self._answer(method)
        if fault == "drop_after":
            self.close_connection = True
            return
        if fault == "cut":
            self._send(status, body, headers=headers, cut=True)
            return
        if fault == "twice":
            status, body, headers = self._answer(method)
        self._send(status, body, headers.pop("Content-Type", "application/json"), headers)

    def _send(
        self,
        status: int,
        body: bytes,
        kind: str = "application/json",
        headers: Mapping[str, str] | None = None,
        cut: bool = False,
    ) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": kind, "Content-Length": str(len(body)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body[: len(body) // 2] if cut else body)
        if cut:
            self.close_connection = True

    def _answer(self, method: str) -> tuple[int, bytes, dict[str, str]]:
        try:
            answer = self._route(method)
        except Says as error:
            return error.status, json.dumps(error.body).encode(), {}
        if isinstance(answer, tuple):
            return answer
        return 200, json.dumps(answer).encode(), {}

    def _route(self, method: str) -> Any:
        url = urllib.parse.urlsplit(self.path)
        query = {name: int(values[0]) for name, values in urllib.parse.parse_qs(url.query).items()}
        if self.headers.get("Authorization") != f"Bearer {self.standin.token}":
            raise Says(401, "token_not_taken")
        if not url.path.startswith(self.standin.prefix + PREFIX):
            self.standin.violations.append(f"{method} {self.path}")
            raise Says(404, "not_found")
        path = url.path[len(self.standin.prefix + PREFIX) :]
        if (method, path) == ("POST", "/claim"):
            return self._claim(self._json())
        found = re.fullmatch(r"/runs/([^/]+)/(bundle|report|result|files/([^/]+))", path)
        if found is None:
            self.standin.violations.append(f"{method} {self.path}")
            raise Says(404, "not_found")
        return self._of_run(method, urllib.parse.unquote(found[1]), found[2], query)

    def _of_run(self, method: str, run_id: str, what: str, query: dict[str, int]) -> Any:
        body = self._json() if method == "POST" else {}
        with self.standin.lock:
            run = self.standin.runs.get(run_id)
            if run is None:
                raise Says(404, "not_your_run")
            attempt = body.get("attempt") if method == "POST" else query["attempt"]
            if what == "result" and run.result is not None and run.result["attempt"] == attempt:
                return {"taken": True}
            if run.over or run.result is not None:
                raise Says(410, "run_is_over")
            if attempt != run.attempt:
                raise Says(409, "old_attempt")
            if what == "report":
                run.reports.append(body)
                return {"cancel": run.cancel, "held": {name: len(run.files[name]) for name in FILES}}
            if what == "result":
                return self._result(run, body)
            if what == "bundle":
                return self._bundle(run)
            return self._put(run, what.partition("/")[2], query["offset"])

    def _claim(self, body: dict[str, Any]) -> Any:
        standin = self.standin
        if standin.claim_answer is not None:
            return standin.claim_answer()
        assert body["protocol"] == 1 and body["backend"] == BACKEND and 8 <= len(body["agent"]["session"]) <= 64
        standin.claims.append(body)
        until = time.monotonic() + body["wait_s"]
        while True:
            with standin.lock:
                for run in standin.runs.values():
                    mine = run.session == body["agent"]["session"] or not body.get("leaving")
                    if run.result is None and not run.over and mine:
                        if run.session not in ("", body["agent"]["session"]):
                            run.attempt += 1
                            run.files = {name: bytearray() for name in FILES}
                        run.session = body["agent"]["session"]
                        return {"protocol": 1, "job": run.offer(), "poll_after_s": 0.0}
            if time.monotonic() > until:
                return {"protocol": 1, "job": None, "poll_after_s": 0.0}
            time.sleep(0.01)

    def _bundle(self, run: Run) -> Any:
        whole = run.archive
        found = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
        headers = {"Content-Type": "application/gzip"}
        if found is None:
            return 200, whole, headers
        start, end = int(found[1]), int(found[2]) + 1
        headers["Content-Range"] = f"bytes {start}-{end - 1}/{len(whole)}"
        return 206, whole[start:end], headers

    def _put(self, run: Run, name: str, offset: int) -> Any:
        held = run.files[name]
        if offset > len(held):
            raise Says(409, "wrong_offset", length=len(held))
        fresh = self.content[len(held) - offset :]
        if bytes(held[offset : offset + len(self.content)]) != self.content[: len(held) - offset]:
            self.standin.violations.append(f"{name} was sent otherwise before")
        held += fresh
        return {"length": len(held)}

    def _result(self, run: Run, body: dict[str, Any]) -> Any:
        for name, file in body["files"].items():
            held = bytes(run.files[name])
            if len(held) < file["bytes"]:
                raise Says(409, "incomplete", held={other: len(run.files[other]) for other in FILES})
            if hashlib.sha256(held).hexdigest() != file["sha256"]:
                run.files[name].clear()
                raise Says(409, "incomplete", held={other: len(run.files[other]) for other in FILES})
        run.result = body
        return {"taken": True}

    def _json(self) -> dict[str, Any]:
        body: dict[str, Any] = json.loads(self.content)
        return body


def hostile(seed: int, rate: float = 0.25) -> Fault:
    """A way on which much goes wrong, the same for the same seed."""
    chance = random.Random(seed)
    lock = threading.Lock()
    kinds = ("drop", "drop_after", "cut", "twice", "html502", "html503", "html504", "html200", "html404")

    def fault(handler: Handler) -> str:
        with lock:
            return chance.choice(kinds) if chance.random() < rate else ""

    return fault


@contextmanager
def serving(**more: Any) -> Iterator[StandIn]:
    """A stand-in that the agent must have treated by the protocol."""
    standin = StandIn(**more)
    try:
        yield standin
    finally:
        standin.stop()
    assert standin.violations == []
