"""Programs that a call starts: bounded in time, ended with the connection, never waited for without end."""

import os
import select
import signal
import subprocess
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence

from potato.training.host.session import Session

WORD_EVERY_S = 3.0
"""The server hears that the call still works at least this often."""
MOST = 4 << 20
"""Bytes kept of what a program prints."""
_KILLED_S = 1.0
_TICK_S = 0.25

OnLine = Callable[[str], None]


@dataclass(frozen=True)
class Done:
    """How a program ended. `code` is None for one that was killed because its time was up."""

    code: Optional[int]
    out: str
    err: str

    @property
    def said(self) -> str:
        """The last line that it printed, on stderr where there is one; empty where it printed none."""
        lines = [line.strip() for text in (self.out, self.err) for line in text.splitlines() if line.strip()]
        return lines[-1] if lines else ""


def run(
    session: Session,
    command: Sequence[str],
    doing: str,
    limit_s: Optional[float] = None,
    env: Optional[Mapping[str, str]] = None,
    cwd: Optional[str] = None,
    on_line: Optional[OnLine] = None,
    holding: Sequence[int] = (),
) -> Done:
    """Run a program to its end, at most `limit_s`, and say `doing` to the server meanwhile.

    One that cannot be killed, because a driver hangs, is left behind. `on_line` gets each line of stdout; `holding`
    are descriptors that it inherits. Raises `OSError` where it cannot be started, `ChannelClosed`.
    """
    with session.hangup.starting:
        child = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=None if env is None else dict(env),
            cwd=cwd or session.remote_dir,
            start_new_session=True,
            pass_fds=tuple(holding),
            bufsize=0,
        )

        def end() -> None:
            _kill(child)

        session.hangup.on_leaving(end)
    try:
        return _Follower(session, child, doing, on_line).follow(limit_s)
    finally:
        end()
        session.hangup.forget(end)


class _Follower:
    """Reads what a child prints until it ends."""

    def __init__(
        self, session: Session, child: "subprocess.Popen[bytes]", doing: str, on_line: Optional[OnLine]
    ) -> None:
        self._session = session
        self._child = child
        self._doing = doing
        self._on_line = on_line
        self._line = b""
        assert child.stdout is not None and child.stderr is not None
        self._pipes: Dict[int, Any] = {child.stdout.fileno(): child.stdout, child.stderr.fileno(): child.stderr}
        self._out = child.stdout.fileno()
        self._kept: Dict[int, bytearray] = {descriptor: bytearray() for descriptor in self._pipes}

    def follow(self, limit_s: Optional[float]) -> Done:
        began = word = time.monotonic()
        code: Optional[int] = None
        try:
            while code is None:
                code = self._child.poll()
                self._read(0.0 if code is not None else _TICK_S)
                now = time.monotonic()
                if code is None and limit_s is not None and now - began > limit_s:
                    _kill(self._child)
                    break
                if now - word >= WORD_EVERY_S:
                    word = now
                    self._session.progress(self._doing)
        finally:
            for pipe in self._pipes.values():
                pipe.close()
        if self._line and self._on_line is not None:
            self._on_line(self._line.decode("utf-8", "replace"))
        out, err = (bytes(kept).decode("utf-8", "replace") for kept in self._kept.values())
        return Done(code, out, err)

    def _read(self, wait_s: float) -> None:
        """Take what is there. A grandchild may hold the pipe when the child has ended: it is not waited for."""
        poll = select.poll()
        open_pipes = [descriptor for descriptor, pipe in self._pipes.items() if not pipe.closed]
        for descriptor in open_pipes:
            poll.register(descriptor, select.POLLIN)
        if not open_pipes:
            time.sleep(min(wait_s, 0.02))
        while open_pipes:
            ready = poll.poll(wait_s * 1000)
            if not ready:
                return
            wait_s = 0.0
            for descriptor, _ in ready:
                piece = os.read(descriptor, 1 << 16)
                if not piece:
                    poll.unregister(descriptor)
                    open_pipes.remove(descriptor)
                    self._pipes[descriptor].close()
                self._keep(descriptor, piece)

    def _keep(self, descriptor: int, piece: bytes) -> None:
        kept = self._kept[descriptor]
        kept += piece
        del kept[: max(0, len(kept) - MOST)]
        if descriptor == self._out and self._on_line is not None:
            lines: List[bytes] = (self._line + piece).split(b"\n")
            self._line = lines.pop()[-4096:]
            for line in lines:
                self._on_line(line.decode("utf-8", "replace"))


def _kill(child: "subprocess.Popen[bytes]") -> None:
    """End it and what it started. One in the hands of a driver that hangs dies when that lets go of it."""
    if child.poll() is not None:
        return
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)
    try:
        child.wait(_KILLED_S)
    except subprocess.TimeoutExpired:
        threading.Thread(target=child.wait, name="abandoned", daemon=True).start()
