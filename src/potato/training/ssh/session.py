"""One connection: Potato's own program at the other end of an ssh, called and answered in frames."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from potato.training.contract.channel import Channel, ChannelClosed, ChannelSilent, NotAFrame
from potato.training.host import bootstrap
from potato.training.ssh import diagnosis
from potato.training.ssh.code import code
from potato.training.ssh.command import Destination, log_in
from potato.training.ssh.errors import (
    OLDEST,
    Disturbed,
    HostFailed,
    HostSilent,
    Lost,
    PythonBroken,
    PythonNotFound,
    PythonTooOld,
    SshFailed,
)
from potato.training.ssh.process import Heard, SshProcess
from potato.training.ssh.text import clean, clean_path
from potato.training.ssh.timing import SshTiming

NOISE_BYTES = 2048
"""What is kept of what a login shell prints."""
MOST_NOISE = 4 << 20

Progress = Callable[[Mapping[str, Any]], None]
"""Told of each sign of life of a call that is going: `progress`, and perhaps `done` and `of`."""


class Session:
    """Opened by `open`. `end` may be called from any thread, and makes whatever waits here raise `Lost`.

    `version` and `executable` are the Python's that answers, the latter as the host said it; `noise` is what the login
    shell printed.
    """

    def __init__(self, destination: Destination, timing: SshTiming, heard: Heard = lambda line: None) -> None:
        self.host = destination.host
        self.version = ""
        self.executable = ""
        self.noise = ""
        self.remote_dir = ""
        self._destination = destination
        self._timing = timing
        self._heard = heard
        self._lock = threading.Lock()
        self._process: SshProcess | None = None
        self._ended = threading.Event()
        self._buffer = b""

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def open(self, python: str, variables: Mapping[str, str]) -> None:
        """Log in, and have `python` there listen. `variables` are set there first, so that a PATH counts.

        Raises `SshFailed`, `PythonNotFound`, `PythonTooOld`, `PythonBroken`, `NoSsh`, and `Lost` where it was ended.
        """
        pause = self._timing.first_pause
        for left in reversed(range(self._timing.log_ins)):
            try:
                self._open(python, variables)
                return
            except SshFailed as error:
                if not left or not error.busy:
                    raise
            self._ended.wait(pause)
            pause *= 2

    def bring_code(self, remote_dir: str, on_copying: Callable[[], None]) -> None:
        """Have this very Potato there, under `remote_dir`; `on_copying` is called where it has to be copied.
        Raises `HostFailed`, `Lost`, `HostSilent`."""
        mine = code()
        answer = self.call("code", remote_dir=remote_dir, hash=mine.hash)
        self.remote_dir = clean_path(answer.get("remote_dir"))
        if not answer.get("have"):
            on_copying()
            self.send({"code": True}, mine.packed)
            self._answer("code", lambda frame: None)

    def call(self, name: str, progress: Progress = lambda frame: None, **fields: Any) -> dict[str, Any]:
        """Have the host do something, and wait for its answer.

        Raises `HostFailed` with what it says, `HostSilent` where it shows no sign of life, and `Lost`.
        """
        self.send({"call": name, **fields})
        return self._answer(name, progress)

    def send(self, header: Mapping[str, Any], body: bytes = b"") -> None:
        """Send one frame. Raises `Lost`, also where nothing could be sent for too long."""
        try:
            with self.talking("it was sent something"):
                self.channel.send(header, body)
        except HostSilent as error:
            raise Lost(f"nothing could be sent for {self._timing.silence:g} seconds") from error

    def receive(self, doing: str, limit: float | None = None) -> tuple[dict[str, Any], bytes]:
        """The next frame. Raises `Lost`, and `HostSilent` after `limit` seconds."""
        limit = self._timing.silence if limit is None else limit
        with self.talking(doing, limit):
            return self.channel.receive(limit)

    @contextlib.contextmanager
    def talking(self, doing: str, limit: float = 0.0) -> Iterator[None]:
        """While the channel is used: what it raises becomes `Lost`, `HostSilent` or `Disturbed`."""
        try:
            yield
        except ChannelSilent as error:
            self.end()  # what comes late would be taken for the answer to something else
            raise HostSilent(self.host, doing, limit) from error
        except NotAFrame as error:
            self.end()
            raise Disturbed(self.host, clean(error, 200)) from error
        except ChannelClosed as error:
            raise Lost(self._last_words() or str(error)) from error

    def end(self) -> None:
        """End the connection at once."""
        with self._lock:
            self._ended.set()
            if self._process is not None:
                self._process.end()

    def close(self) -> None:
        """Take leave: the host's program ends as its stdin does."""
        with self._lock:
            self._ended.set()
            process, self._process = self._process, None
        if process is not None:
            process.close(self._timing.leave)

    def _answer(self, name: str, progress: Progress) -> dict[str, Any]:
        while True:
            header, _ = self.receive(f"it was to do `{name}`")
            if header.get("ok"):
                return header
            if "progress" in header:
                progress(header)
            elif "error" in header:
                hint = clean(header.get("hint") or "", 1000) or None
                raise HostFailed(self.host, clean(header.get("code"), 60), clean(header["error"], 1000), hint, header)

    # Logging in

    def _open(self, python: str, variables: Mapping[str, str]) -> None:
        nonce = secrets.token_hex(8)
        script = bootstrap.script(nonce, python, variables)
        process = self._start()
        self._buffer = b""
        deadline = time.monotonic() + self._timing.log_in
        with contextlib.suppress(BrokenPipeError):  # it has ended: the next line tells why
            _write(process.write_fd, script)
        shell, python_line = (bootstrap.marker(nonce, name).encode() for name in (bootstrap.SHELL, ""))
        said, _ = self._until(process, shell, deadline, python=None)
        self.noise = said[:NOISE_BYTES].decode("utf-8", "replace").strip()
        _, line = self._until(process, python_line, deadline, python)
        self._read_version(line.decode("utf-8", "surrogateescape"), python)
        self.channel = Channel(process.read_fd, process.write_fd, self._timing.silence)

    def _start(self) -> SshProcess:
        command = log_in(self._destination, self._timing)
        with self._lock:
            if self._ended.is_set():
                raise Lost("it was ended here")
            if self._process is not None:
                self._process.close(0.0)
            self._process = SshProcess(command, self._heard)
            return self._process

    def _until(self, process: SshProcess, mark: bytes, deadline: float, python: str | None) -> tuple[bytes, bytes]:
        """What comes before a line that begins with `mark`, and the rest of that line."""
        pattern = re.compile(rb"(?:^|\n)" + re.escape(mark) + rb"([^\n]*)\n")
        while True:
            found = pattern.search(self._buffer)
            if found:
                said, self._buffer = self._buffer[: found.start()], self._buffer[found.end() :]
                return said, found.group(1)
            piece = process.read(deadline) if len(self._buffer) < MOST_NOISE else None
            if not piece:
                raise self._not_begun(process, piece is None, python)
            self._buffer += piece

    def _not_begun(self, process: SshProcess, slow: bool, python: str | None) -> Exception:
        if slow:
            process.end()
        stderr, exit_code = process.words()
        if self._ended.is_set():
            return Lost("it was ended here")
        if slow:
            return diagnosis.too_slow(self._destination, stderr, self._timing.log_in)
        if python is None or exit_code == 255:
            return diagnosis.failed(self._destination, stderr, self._buffer, exit_code)
        return PythonBroken(python, self.host, diagnosis.last_line(stderr) or f"it ended with exit code {exit_code}")

    def _read_version(self, line: str, python: str) -> None:
        kind, _, rest = line.partition(" ")
        if kind == bootstrap.NO_PYTHON:
            raise PythonNotFound(python, self.host)
        version, _, executable = rest.partition(" ")
        self.version, self.executable = clean(version, 30), executable
        numbers = re.match(r"(\d+)\.(\d+)", version)
        if not numbers or (int(numbers.group(1)), int(numbers.group(2))) < OLDEST:
            raise PythonTooOld(python, self.host, self.version, clean(executable))

    def _last_words(self) -> str:
        process = self._process
        if process is None or self._ended.is_set():
            return ""
        stderr, exit_code = process.words()
        line = diagnosis.last_line(stderr)
        return line or (f"ssh ended with exit code {exit_code}" if exit_code is not None else "")


def _write(descriptor: int, data: bytes) -> None:
    left = memoryview(data)
    while left:
        left = left[os.write(descriptor, left) :]
