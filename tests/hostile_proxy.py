"""A way between an agent and a server on which much goes wrong: by a seed, or held at one spot where a test wants it.

It takes whole requests, and answers with whole answers, of the HTTP that the two speak: HTTP/1.1 with Content-Length.
"""

from __future__ import annotations

import random
import re
import select
import socket
import socketserver
import struct
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

PAGE = b"<!DOCTYPE html><html><head><title>%d</title></head><body><h1>Something on the way says %d</h1></body></html>"
MAX_BODY = 1_000_000
SILENCE_S = 90.0


@dataclass(frozen=True)
class Message:
    """A request or an answer: its head, up to and with the empty line, and its body."""

    head: bytes
    body: bytes

    @property
    def whole(self) -> bytes:
        return self.head + self.body

    @property
    def route(self) -> str:
        """Which of the protocol's routes a request asks: `claim`, `bundle`, `report`, `result`, or a file's name."""
        path = self.head.split(b" ", 2)[1].partition(b"?")[0].decode()
        return path.rpartition("/")[2]


@dataclass(frozen=True)
class Fault:
    """What happens to one exchange. `share` (0 to 1) says where in a message, or how long, it happens."""

    kind: str = ""
    share: float = 0.0


Faults = Callable[[Message], Fault]
NONE = Fault()

KINDS = {
    "cut request": 3,  # the server gets a part of it
    "cut answer": 4,  # the agent gets a part of it
    "drop": 2,  # the server hears nothing
    "drop answer": 4,  # the server has acted
    "502": 1,
    "503": 1,
    "504": 1,
    "page": 2,  # 200, and it is somebody else's page
    "504 late": 2,  # the server has acted
    "repeat": 4,
    "repeat at once": 3,
    "slow": 3,
    "trickle": 2,
    "reset": 1,
}

PAGES = {"413": 413, "502": 502, "503": 503, "504": 504, "page": 200}
"""What is answered on the way, by its status."""


class Seeded:
    """Faults by a seed: the same questions in the same order get the same."""

    def __init__(self, seed: int, rate: float = 0.3) -> None:
        self._chance = random.Random(seed)
        self._rate = rate
        self._lock = threading.Lock()

    def __call__(self, request: Message) -> Fault:
        with self._lock:
            if self._chance.random() >= self._rate:
                return NONE
            return Fault(self._chance.choices(list(KINDS), list(KINDS.values()))[0], self._chance.random())


@dataclass
class Hold:
    """One exchange that is held. `spot` is `request` (the server has nothing of it), `half request`, `answer` (the
    agent has nothing of it) or `half answer`; `wanted` chooses by request and answer."""

    route: str
    spot: str
    wanted: Callable[[Message], bool] = lambda message: True
    reached: threading.Event = field(default_factory=threading.Event)
    let_go: threading.Event = field(default_factory=threading.Event)

    def wait(self, spot: str, request: Message, message: Message) -> None:
        """Hold the exchange, where it is the one."""
        if (spot, request.route) == (self.spot, self.route) and not self.reached.is_set() and self.wanted(message):
            self.reached.set()
            self.let_go.wait(SILENCE_S)


class _Cut(Exception):
    """The agent's connection ends here."""


class HostileProxy:
    """Takes the agent's connections at `url`, and makes its own to the server at `port` of this machine.

    `faults` is asked about each request; `count` says what happened how often. A body above `max_body` is answered
    413 with a page, as proxies do.
    """

    def __init__(self, port: int, faults: Faults = lambda request: NONE, max_body: int = MAX_BODY) -> None:
        self.port = port
        self.faults = faults
        self.max_body = max_body
        self.count: Counter[str] = Counter()
        self.holds: list[Hold] = []
        self._lock = threading.Lock()
        outer = self

        class Handler(socketserver.BaseRequestHandler):
            def handle(self) -> None:
                with suppress(OSError, _Cut):
                    while True:
                        outer._exchange(self.request)

        self._listener = _Listener(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._listener.server_address[1]}"
        self._thread = threading.Thread(target=self._listener.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()

    def hold(self, route: str, spot: str, wanted: Callable[[Message], bool] = lambda message: True) -> Hold:
        """Hold the next such exchange."""
        self.holds.append(Hold(route, spot, wanted))
        return self.holds[-1]

    def let_go(self) -> None:
        """Hold nothing any more."""
        while self.holds:
            self.holds.pop().let_go.set()

    def close(self) -> None:
        """No way any more."""
        self.let_go()
        self._listener.shutdown()
        self._listener.server_close()
        self._thread.join()

    # One exchange

    def _exchange(self, agent: socket.socket) -> None:
        request = _read(agent)
        self._held("request", request, request)
        fault = self.faults(request) if len(request.body) <= self.max_body else Fault("413")
        self._note(fault.kind)
        if fault.kind in PAGES:
            agent.sendall(_page(PAGES[fault.kind]))
        else:
            self._cut_before(agent, request, fault)
            answer = self._asked(agent, request, fault)
            self._held("answer", request, answer)
            if fault.kind == "504 late":
                answer = Message(_page(504), b"")
            self._answer(agent, request, answer, fault)

    def _cut_before(self, agent: socket.socket, request: Message, fault: Fault) -> None:
        """Cut the connection where the server is to get nothing of the request, or a part."""
        if fault.kind == "slow":
            time.sleep(0.4 * fault.share)
        elif fault.kind == "reset":
            agent.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            agent.close()
            raise _Cut
        elif fault.kind == "drop":
            raise _Cut
        elif fault.kind == "cut request":
            with self._server() as server:
                server.sendall(request.whole[: int(fault.share * len(request.whole))])
            raise _Cut

    def _asked(self, agent: socket.socket, request: Message, fault: Fault) -> Message:
        """The server's answer; where the request is repeated, that to the last."""
        if fault.kind == "repeat":
            self._ask(agent, request)
        if fault.kind == "repeat at once":
            twin = threading.Thread(target=self._ask_aside, args=(agent, request))
            twin.start()
            try:
                return self._ask(agent, request)
            finally:
                twin.join()
        return self._ask(agent, request)

    def _ask_aside(self, agent: socket.socket, request: Message) -> None:
        with suppress(OSError, _Cut):
            self._ask(agent, request)

    def _ask(self, agent: socket.socket, request: Message) -> Message:
        with self._server() as server:
            half = len(request.head) + len(request.body) // 2
            server.sendall(request.whole[:half])
            self._held("half request", request, request)
            server.sendall(request.whole[half:])
            _await(server, agent)
            return _read(server)

    def _answer(self, agent: socket.socket, request: Message, answer: Message, fault: Fault) -> None:
        if fault.kind == "drop answer":
            raise _Cut
        if fault.kind == "cut answer":
            agent.sendall(answer.whole[: int(fault.share * len(answer.whole))])
            raise _Cut
        half = len(answer.head) + len(answer.body) // 2
        agent.sendall(answer.whole[:half])
        self._held("half answer", request, answer)
        if fault.kind == "trickle":
            time.sleep(0.2 * fault.share)
        agent.sendall(answer.whole[half:])

    def _server(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), SILENCE_S)

    def _held(self, spot: str, request: Message, message: Message) -> None:
        for hold in list(self.holds):
            hold.wait(spot, request, message)

    def _note(self, kind: str) -> None:
        with self._lock:
            self.count[kind] += 1


class _Listener(socketserver.ThreadingTCPServer):
    daemon_threads = True
    request_queue_size = 64

    def handle_error(self, request: object, client_address: object) -> None:
        raise  # in a thread: pytest tells of it


def _read(connection: socket.socket) -> Message:
    """The next message. Raises `_Cut` where the connection ended."""
    data = bytearray()
    while (end := data.find(b"\r\n\r\n")) < 0:
        data += _some(connection)
    head = bytes(data[: end + 4])
    assert b"chunked" not in head.lower(), head
    found = re.search(rb"\r\ncontent-length: *(\d+)\r\n", head, re.IGNORECASE)
    size = int(found[1]) if found else 0
    while len(data) < len(head) + size:
        data += _some(connection)
    return Message(head, bytes(data[len(head) :]))


def _some(connection: socket.socket) -> bytes:
    data = connection.recv(1 << 18)
    if not data:
        raise _Cut
    return data


def _await(server: socket.socket, agent: socket.socket) -> None:
    """Wait until the server answers. Raises `_Cut` where the agent goes first: then the server is hung up on too."""
    end = time.monotonic() + SILENCE_S
    while time.monotonic() < end:
        ready = select.select([server, agent], [], [], 1.0)[0]
        if server in ready:
            return
        if agent in ready and not agent.recv(1, socket.MSG_PEEK):
            raise _Cut
    raise _Cut


def _page(status: int) -> bytes:
    body = PAGE % (status, status)
    head = f"HTTP/1.1 {status} Somebody Else\r\nContent-Type: text/html\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


@contextmanager
def hostile_proxy(port: int, faults: Faults = lambda request: NONE, max_body: int = MAX_BODY) -> Iterator[HostileProxy]:
    """A way to the server at `port` until the block ends."""
    proxy = HostileProxy(port, faults, max_body)
    try:
        yield proxy
    finally:
        proxy.close()
