"""Requests over a channel: one at a time, each with its own answer."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from potato.training.agent.channel_transport import ChannelTransport
from potato.training.agent.transport import Gone, NotStored, Unreachable
from potato.training.contract.channel import Channel, ChannelClosed


class Server:
    """The other end. `answers` makes an answer of a request's header and body; it may wait."""

    def __init__(self) -> None:
        there, self._write = os.pipe()
        self._read, back = os.pipe()
        self.transport = ChannelTransport(Channel(there, back))
        self.channel = Channel(self._read, self._write)
        self._ends = [there, back]
        self.requests: list[dict[str, Any]] = []
        self.answers: Callable[[dict[str, Any], bytes], tuple[dict[str, Any], bytes]] = lambda request, body: (
            {"status": 200, "headers": {"Content-Type": "text/plain"}},
            request["path"].encode() + body,
        )
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def _serve(self) -> None:
        try:
            while True:
                header, body = self.channel.receive(60)
                self.requests.append(header["request"])
                self.channel.send(*self.answers(header["request"], body))
        except ChannelClosed:
            return

    def hang_up(self) -> None:
        for descriptor in self._ends:
            os.close(descriptor)
        self._ends = []
        self._thread.join(90)
        for descriptor in (self._read, self._write):
            os.close(descriptor)


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()
    yield made
    if made._ends:
        made.hang_up()


def test_a_request_and_its_answer(server: Server) -> None:
    answer = server.transport.request("PUT", "/a", {"X": "1", "Authorization": "Bearer secret"}, b"body")
    assert (answer.status, answer.headers, answer.body) == (200, {"content-type": "text/plain"}, b"/abody")
    assert server.requests == [{"method": "PUT", "path": "/a", "headers": {"X": "1"}}]  # and no token


def test_the_body_goes_where_the_opener_says(server: Server) -> None:
    came: list[bytes] = []
    answer = server.transport.request("GET", "/a", {}, opener=lambda status, headers: came.append)
    assert (came, answer.body) == ([b"/a"], b"")


def test_a_disk_that_takes_nothing_is_not_taken_for_the_connection(server: Server) -> None:
    def full(piece: bytes) -> None:
        raise OSError(28, "No space left on device")

    with pytest.raises(NotStored):
        server.transport.request("GET", "/a", {}, opener=lambda status, headers: full)
    assert server.transport.request("GET", "/b", {}).body == b"/b"


def test_an_answer_that_came_too_late_is_nobody_s(server: Server) -> None:
    go_on = threading.Event()
    usual = server.answers
    server.answers = lambda request, body: (go_on.wait(30), usual(request, body))[1]
    with pytest.raises(Unreachable, match="no answer in time"):
        server.transport.request("GET", "/slow", {}, timeout=0.05)
    with pytest.raises(Unreachable, match="no answer in time"):
        server.transport.request("GET", "/never sent", {}, timeout=0.05)
    go_on.set()
    assert server.transport.request("GET", "/next", {}).body == b"/next"
    assert [request["path"] for request in server.requests] == ["/slow", "/next"]


def test_clients_take_turns(server: Server) -> None:
    wrong: list[bytes] = []

    def ask(name: str) -> None:
        for _ in range(50):
            body = server.transport.request("GET", name, {}).body
            wrong.extend([body] if body != name.encode() else [])

    threads = [threading.Thread(target=ask, args=(f"/{number}",)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_a_channel_that_is_closed_is_gone_for_good() -> None:
    there, write = os.pipe()
    read, back = os.pipe()
    transport = ChannelTransport(Channel(there, back))
    for descriptor in (write, read):
        os.close(descriptor)
    with pytest.raises(Gone):
        transport.request("GET", "/a", {})
    for descriptor in (there, back):
        os.close(descriptor)
