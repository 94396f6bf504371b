"""Frames over pipes: whole or not at all, whatever the pieces are that they come in."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from host_scene import taken
from lab import wait_for
from potato.training.contract import channel
from potato.training.contract.channel import PREFIX, Channel, ChannelClosed, ChannelSilent, NotAFrame


class Pair:
    """Two channels that lead to each other, and the raw ends of the second's."""

    def __init__(self) -> None:
        there, self.write = os.pipe()
        self.read, back = os.pipe()
        self.here = Channel(there, back, send_timeout_s=0.1)
        self.open = {there, self.write, self.read, back}
        self.ends = (there, back)

    def far(self) -> Channel:
        return Channel(self.read, self.write)

    def close(self, *descriptors: int) -> None:
        for descriptor in descriptors or tuple(self.open):
            self.open.discard(descriptor)
            os.close(descriptor)


@pytest.fixture
def pair() -> Iterator[Pair]:
    made = Pair()
    yield made
    made.close()


def frame(header: bytes, body: bytes = b"") -> bytes:
    return PREFIX.pack(len(header), len(body)) + header + body


@pytest.mark.parametrize("header", [{}, {"call": "ä 好", "n": 1, "deep": [{"x": None}]}, {"half": "\udcff"}])
@pytest.mark.parametrize("body", [b"", b"\x00\xff\n", b"x" * 3_000_000])
def test_a_frame_comes_as_it_was_sent(pair: Pair, header: dict[str, Any], body: bytes) -> None:
    sender = threading.Thread(target=pair.far().send, args=(header, body))
    sender.start()
    assert pair.here.receive(30) == (header, body)
    sender.join()


def test_frames_may_come_byte_by_byte_or_together(pair: Pair) -> None:
    two = frame(b'{"a": 1}', b"body") + frame(b'{"b": 2}')
    threading.Thread(target=lambda: [os.write(pair.write, bytes([byte])) for byte in two + two]).start()
    assert [pair.here.receive(30) for _ in range(4)] == [({"a": 1}, b"body"), ({"b": 2}, b"")] * 2
    os.write(pair.write, two)
    assert pair.here.receive_header(30) == ({"a": 1}, 4)
    assert taken(pair.here, 4) == b"body"
    assert pair.here.receive(30) == ({"b": 2}, b"")


def test_nothing_is_read_ahead(pair: Pair) -> None:
    os.write(pair.write, frame(b"{}", b"body") + b"the rest")
    assert pair.here.receive(30) == ({}, b"body")
    assert os.read(pair.ends[0], 100) == b"the rest"


def test_silence_amid_a_frame_loses_nothing_of_it(pair: Pair) -> None:
    whole = frame(b'{"a": 1}', b"body")
    for cut in range(len(whole)):
        os.write(pair.write, whole[:cut])
        with pytest.raises(ChannelSilent):
            pair.here.receive(0.001)
        os.write(pair.write, whole[cut:])
        assert pair.here.receive(30) == ({"a": 1}, b"body")


def test_a_body_in_pieces(pair: Pair) -> None:
    data = os.urandom(5_000_000)
    left = bytearray(data)

    def read(most: int) -> bytes:
        piece = bytes(left[: min(most, 300_000)])
        del left[: len(piece)]
        return piece

    sender = threading.Thread(target=pair.far().send_stream, args=({"ok": True}, len(data), read))
    sender.start()
    assert pair.here.receive_header(30) == ({"ok": True}, len(data))
    came = taken(pair.here, len(data))
    sender.join()
    assert came == data


def test_a_body_that_stops_is_taken_as_far_as_it_came(pair: Pair) -> None:
    """What has come counts; that no more comes is told by the next look."""
    room = memoryview(bytearray(100))
    os.write(pair.write, frame(b"{}", b"x" * 100)[:-70])
    assert pair.here.receive_header(30) == ({}, 100)
    before = time.monotonic()
    assert pair.here.read_into(room, 30) == 30
    assert time.monotonic() - before < 20, "it does not wait for the rest"
    with pytest.raises(ChannelSilent):
        pair.here.read_into(room, 0.01)
    os.write(pair.write, b"y" * 7)
    pair.close(pair.write)
    assert pair.here.read_into(room, 30) == 7
    assert bytes(room[:8]) == b"yyyyyyyx"
    with pytest.raises(ChannelClosed):
        pair.here.read_into(room, 30)


def test_a_source_that_ends_early_is_no_frame(pair: Pair) -> None:
    with pytest.raises(NotAFrame, match="the body ended 6 bytes early"):
        pair.far().send_stream({}, 10, lambda most: b"" if not parts else parts.pop())


parts = [b"four"]


@pytest.mark.parametrize("cut", [0, 5, 12, 15, 22])
def test_the_end_of_the_connection_is_told_amid_a_frame_too(pair: Pair, cut: int) -> None:
    os.write(pair.write, frame(b'{"a": 1}', b"body")[:cut])
    pair.close(pair.write)
    with pytest.raises(ChannelClosed):
        pair.here.receive()


def test_sending_to_nobody(pair: Pair) -> None:
    pair.close(pair.read)
    with pytest.raises(ChannelClosed, match="Broken pipe"):
        pair.here.send({})


def test_a_reader_that_takes_nothing_is_not_waited_for_without_end(pair: Pair) -> None:
    with pytest.raises(ChannelSilent, match=r"nothing was taken for 0\.1 seconds"):
        pair.here.send({}, b"x" * 8_000_000)


@pytest.mark.parametrize(
    "came",
    [
        b"Last login: Sun Nov 29 14:15:00 on pts/0\n",
        frame(b"no json"),
        frame(b"[1]"),
        frame(b"\xff\xfe"),
        PREFIX.pack(2, channel.MAX_BODY + 1) + b"{}",
        PREFIX.pack(channel.MAX_HEADER + 1, 0),
    ],
)
def test_what_is_no_frame_is_refused(pair: Pair, came: bytes) -> None:
    os.write(pair.write, came)
    with pytest.raises(NotAFrame):
        pair.here.receive(30)


def test_several_threads_may_send(pair: Pair) -> None:
    far = pair.far()
    threads = [
        threading.Thread(target=lambda n=n: [far.send({"n": n}, bytes([n]) * 70_000) for _ in range(5)])
        for n in range(4)
    ]
    for thread in threads:
        thread.start()
    for _ in range(20):
        header, body = pair.here.receive(30)
        assert body == bytes([header["n"]]) * 70_000
    for thread in threads:
        thread.join()


def test_high_descriptors_will_do(pair: Pair) -> None:
    """`select` knows 1024; a server with many pages open has more."""
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < 2000:
        pytest.skip("this account may not have so many")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 2000), hard))
    try:
        os.dup2(pair.ends[0], 1500)
        pair.open.add(1500)
        high = Channel(1500, pair.ends[1])
        with pytest.raises(ChannelSilent):
            high.receive(0.01)
        os.write(pair.write, frame(b"{}"))
        assert high.receive(30) == ({}, b"")
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_a_wait_without_limit_ends_when_something_comes(pair: Pair) -> None:
    came: list[Any] = []
    thread = threading.Thread(target=lambda: came.append(pair.here.receive()))
    thread.start()
    os.write(pair.write, frame(b"{}"))
    wait_for(lambda: came)
    thread.join()
