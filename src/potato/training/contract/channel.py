"""A byte stream cut into frames: a JSON header and a body, either way, over two file descriptors.

A frame is the header's length (4 bytes, big-endian), the body's (8 bytes), the header in UTF-8, the body. Nothing is
read ahead: what follows a frame stays in the pipe.
"""

import contextlib
import fcntl
import json
import os
import select
import struct
import threading
import time
from functools import partial
from typing import Any, Callable, Dict, Mapping, Optional, Tuple, TypeVar, Union

PREFIX = struct.Struct(">IQ")
MAX_HEADER = 8 << 20
MAX_BODY = 8 << 20
"""A longer body is taken by `read_into` alone."""
PIECE = 1 << 20
MOMENT_S = 0.25
F_SETPIPE_SZ = 1031

Read = TypeVar("Read", int, bytes)
Source = Callable[[int], Union[bytes, memoryview]]


class ChannelClosed(Exception):
    """Nothing more comes or goes: the other side has left, or the way there is gone."""


class NotAFrame(ChannelClosed):
    """What came is no frame, so nothing that follows can be understood either."""


class ChannelSilent(Exception):
    """Not one byte came, or went, for as long as the caller would wait.

    What had come of a frame is kept, so asking again goes on; what had gone of one is half a frame, and the caller is
    to close the stream.
    """


class Channel:
    """One end of the stream. Sending is safe from several threads; one thread at a time receives.

    The descriptors become non-blocking, and their pipes as large as the system allows. `send_timeout_s` is how long
    the other side may take nothing before `ChannelSilent` is raised; for ever where it is None.
    """

    def __init__(self, read_fd: int, write_fd: int, send_timeout_s: Optional[float] = None) -> None:
        self._read_fd = read_fd
        self._write_fd = write_fd
        self._send_timeout_s = send_timeout_s
        self._pending = bytearray()
        self._sending = threading.Lock()
        for descriptor in (read_fd, write_fd):
            os.set_blocking(descriptor, False)
            with contextlib.suppress(OSError, ValueError):  # no pipe, or not Linux
                fcntl.fcntl(descriptor, F_SETPIPE_SZ, PIECE)

    def send(self, header: Mapping[str, Any], body: bytes = b"") -> None:
        """Send one frame. Raises `ChannelClosed`, `ChannelSilent`."""
        with self._sending:
            self._write(_head(header, len(body)) + body)

    def send_stream(self, header: Mapping[str, Any], length: int, read: Source) -> None:
        """Send a frame whose body of `length` bytes comes from `read(at most)`, piece by piece.

        Raises `ChannelClosed`, `ChannelSilent`, and whatever `read` raises; a body that ends early or breaks off
        leaves a stream that is good for nothing, and the caller is to close it.
        """
        with self._sending:
            self._write(_head(header, length))
            while length:
                piece = read(min(length, PIECE))
                if not piece:
                    raise NotAFrame("the body ended %d bytes early" % length)
                self._write(piece)
                length -= len(piece)

    def receive(self, timeout_s: Optional[float] = None) -> Tuple[Dict[str, Any], bytes]:
        """The next frame: its header and its body, which is at most `MAX_BODY` bytes.

        Raises `ChannelClosed`, and `ChannelSilent` when no byte came for `timeout_s`.
        """
        header_length, body_length = self._lengths(timeout_s)
        if body_length > MAX_BODY:
            raise NotAFrame("a body of %d bytes came where a short one was due" % body_length)
        start = PREFIX.size + header_length
        self._fill(start + body_length, timeout_s)
        header, body = _parsed(bytes(self._pending[PREFIX.size : start])), bytes(self._pending[start:])
        self._pending.clear()
        return header, body

    def receive_header(self, timeout_s: Optional[float] = None) -> Tuple[Dict[str, Any], int]:
        """The next frame's header, and the length of the body, which the caller takes with `read_into`."""
        header_length, body_length = self._lengths(timeout_s)
        self._fill(PREFIX.size + header_length, timeout_s)
        header = _parsed(bytes(self._pending[PREFIX.size :]))
        self._pending.clear()
        return header, body_length

    def read_into(self, view: memoryview, timeout_s: Optional[float] = None) -> int:
        """Fill `view` with what comes next of a body, as far as it comes within a moment of its first byte; how many
        bytes that were, at least one.

        Raises `ChannelClosed`, and `ChannelSilent` when no byte came for `timeout_s`.
        """
        count, until, left = 0, None, timeout_s
        while count < len(view):
            try:
                count += self._read(partial(os.readv, self._read_fd, [view[count:]]), left)
            except (ChannelSilent, ChannelClosed):
                if not count:
                    raise
                break  # the end is told next time
            until = until or time.monotonic() + MOMENT_S
            left = max(0.0, until - time.monotonic())
        return count

    def _lengths(self, timeout_s: Optional[float]) -> Tuple[int, int]:
        self._fill(PREFIX.size, timeout_s)
        header_length, body_length = PREFIX.unpack_from(self._pending)
        if header_length > MAX_HEADER:
            raise NotAFrame("a header of %d bytes came, which is no frame's" % header_length)
        return header_length, body_length

    def _fill(self, length: int, timeout_s: Optional[float]) -> None:
        """Have at least `length` bytes of the present frame, and not one of the next."""
        while len(self._pending) < length:
            most = min(length - len(self._pending), PIECE)
            self._pending += self._read(partial(os.read, self._read_fd, most), timeout_s)

    def _read(self, read: Callable[[], Read], timeout_s: Optional[float]) -> Read:
        """What `read` reads, at least one byte, once there is one."""
        while True:
            try:
                came = read()
                break
            except BlockingIOError:
                _wait(self._read_fd, select.POLLIN, timeout_s, "came")
            except OSError as error:
                raise ChannelClosed("the connection broke: %s" % error) from error
        if not came:
            raise ChannelClosed("the connection was closed")
        return came

    def _write(self, data: Union[bytes, memoryview]) -> None:
        left = memoryview(data)
        while left:
            try:
                left = left[os.write(self._write_fd, left) :]
            except BlockingIOError:
                _wait(self._write_fd, select.POLLOUT, self._send_timeout_s, "was taken")
            except OSError as error:
                raise ChannelClosed("the connection broke: %s" % error) from error


def _head(header: Mapping[str, Any], body_length: int) -> bytes:
    text = json.dumps(header).encode()
    return PREFIX.pack(len(text), body_length) + text


def _parsed(text: bytes) -> Dict[str, Any]:
    try:
        header = json.loads(text.decode("utf-8"))
    except ValueError as error:
        raise NotAFrame("what came is no frame: %.100r" % text) from error
    if not isinstance(header, dict):
        raise NotAFrame("what came is no frame's header: %.100r" % text)
    return header


def _wait(descriptor: int, event: int, timeout_s: Optional[float], what: str) -> None:
    """Wait until the descriptor is ready. Raises `ChannelSilent`. Not by `select`, which knows low numbers alone."""
    poll = select.poll()
    poll.register(descriptor, event)
    if not poll.poll(None if timeout_s is None else timeout_s * 1000):
        raise ChannelSilent("nothing %s for %g seconds" % (what, timeout_s or 0.0))
