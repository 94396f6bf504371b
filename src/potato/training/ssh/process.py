"""The ssh process of one connection: its streams, its last words, and its end."""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Sequence

from potato.training.ssh.text import clean

PIPE_BYTES = 1 << 20
KEPT_BYTES = 64 << 10
"""What is kept of its stderr."""

Heard = Callable[[str], None]
"""Told of each line that ssh, or what runs there, writes to stderr; called in a thread of its own."""


class SshProcess:
    """A started ssh. `end` may be called from any thread, and ends it at once; all else belongs to its owner."""

    def __init__(self, command: Sequence[str], heard: Heard) -> None:
        self._heard = heard
        self._stderr = bytearray()
        self._process = subprocess.Popen(
            list(command),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            env={**os.environ, "SSH_ASKPASS_REQUIRE": "never"},
            start_new_session=True,  # Ctrl-C at the server's terminal is the server's
        )
        assert self._process.stdin and self._process.stdout and self._process.stderr
        self._streams = (self._process.stdin, self._process.stdout, self._process.stderr)
        self.write_fd, self.read_fd = self._process.stdin.fileno(), self._process.stdout.fileno()
        for descriptor in (self.write_fd, self.read_fd):
            with contextlib.suppress(OSError, AttributeError):  # only a matter of speed
                fcntl.fcntl(descriptor, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
        self._listener = threading.Thread(target=self._listen, name="ssh-stderr", daemon=True)
        self._listener.start()

    def read(self, deadline: float) -> bytes | None:
        """What comes next on stdout, empty at its end; None where nothing came until `deadline` (monotonic)."""
        poll = select.poll()
        poll.register(self.read_fd, select.POLLIN)
        while not poll.poll(max(0.0, deadline - time.monotonic()) * 1000):
            if time.monotonic() >= deadline:
                return None
        return os.read(self.read_fd, 1 << 16)

    def words(self) -> tuple[bytes, int | None]:
        """What it wrote to stderr last, and its exit code; called once it ends, or where that is not known."""
        code = self._wait(1.0)
        if code is not None:
            self._listener.join(1.0)  # what it wrote at its end is read
        return bytes(self._stderr), code

    def end(self) -> None:
        """Kill it, and whatever it started here; reading and writing end at once."""
        if self._process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)

    def close(self, leave_s: float) -> None:
        """Let it end by itself, as its stdin does; after `leave_s` seconds it is killed."""
        stdin, stdout, _ = self._streams
        with contextlib.suppress(OSError):
            stdin.close()
        if self._wait(leave_s) is None:
            self.end()
            self._process.wait()
        self._listener.join(1.0)  # longer, where something that it started holds its stderr open
        stdout.close()

    def _wait(self, seconds: float) -> int | None:
        try:
            return self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None

    def _listen(self) -> None:
        rest = b""
        with self._streams[2] as stderr:
            while piece := _read(stderr.fileno()):
                self._stderr = (self._stderr + piece)[-KEPT_BYTES:]
                *whole, rest = (rest + piece).split(b"\n")
                rest = rest[-KEPT_BYTES:]
                for line in whole:
                    self._say(line)
        self._say(rest)

    def _say(self, line: bytes) -> None:
        text = clean(line, 2000)
        if text:
            self._heard(text)


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 1 << 16)
    except OSError:
        return b""
