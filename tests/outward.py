"""A machine that nobody can reach, for tests: its network is its own, and one way leads out of it, to one server.

The way is a unix socket, which both sides see in the file system: the machine's end takes connections of programs on
it, and `WayOut`, the far end, makes connections to the server. Nothing takes connections toward the machine. Where
the system gives no network of its own, the machine is a mere process, and the rest is the same.

As a program it is that machine: `python outward.py SOCKET HOST PORT COMMAND...` runs COMMAND behind such a way.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import socket
import socketserver
import struct
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

from ports import free_port

HOST = "10.99.0.1"
"""Where the server seems to be, seen from a machine with a network of its own."""
PORT = 8000

_SIOCSIFFLAGS, _SIOCSIFADDR, _UP = 0x8914, 0x8916, 0x1
_OWN_NETWORK = ("unshare", "--net", "--")


@cache
def own_networks() -> bool:
    """Whether this system gives a process a network of its own."""
    if shutil.which("unshare") is None:
        return False
    return subprocess.run([*_OWN_NETWORK, "true"], capture_output=True, check=False).returncode == 0


class WayOut:
    """The far end of the way: whatever comes to the unix socket goes to the server at `port` of this machine."""

    def __init__(self, folder: Path, port: int) -> None:
        self._socket = folder / "way.sock"
        self._host, self._port = (HOST, PORT) if own_networks() else ("127.0.0.1", free_port())
        self.connections = 0
        outer = self

        class Handler(socketserver.BaseRequestHandler):
            def handle(self) -> None:
                outer.connections += 1
                with contextlib.suppress(ConnectionRefusedError), socket.create_connection(("127.0.0.1", port)) as far:
                    _join(self.request, far)

        self._listener = _UnixListener(str(self._socket), Handler)
        threading.Thread(target=self._listener.serve_forever, args=(0.05,), daemon=True).start()

    @property
    def url(self) -> str:
        """The server's address, seen from that machine."""
        return f"http://{self._host}:{self._port}"

    def behind(self) -> Sequence[str]:
        """What stands before a command line that is to run on that machine."""
        own = _OWN_NETWORK if own_networks() else ()
        return [*own, sys.executable, __file__, str(self._socket), self._host, str(self._port)]

    def close(self) -> None:
        """No way any more."""
        self._listener.shutdown()
        self._listener.server_close()


@contextlib.contextmanager
def way_out(port: int) -> Iterator[WayOut]:
    """A way to the server at `port`, until the block ends."""
    with tempfile.TemporaryDirectory(prefix="way-") as folder:  # a unix socket's path is short
        way = WayOut(Path(folder), port)
        try:
            yield way
        finally:
            way.close()


class _UnixListener(socketserver.ThreadingUnixStreamServer):
    daemon_threads = True
    request_queue_size = 32


class _TcpListener(socketserver.ThreadingTCPServer):
    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 32


def _join(one: socket.socket, other: socket.socket) -> None:
    """Carry bytes both ways until both have ended."""
    back = threading.Thread(target=_carry, args=(other, one))
    back.start()
    _carry(one, other)
    back.join()


def _carry(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(1 << 16):
            target.sendall(data)
    with contextlib.suppress(OSError):
        target.shutdown(socket.SHUT_WR)


# That machine


def _bring_up(address: str) -> None:
    """Give the machine's network its one interface, with the server's seeming address on it."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        fcntl.ioctl(control, _SIOCSIFFLAGS, struct.pack("16sh22x", b"lo", _UP))
        packed = struct.pack("16sHH4s16x", b"lo:1", socket.AF_INET, 0, socket.inet_aton(address))
        fcntl.ioctl(control, _SIOCSIFADDR, packed)


def _near_end(way: str, listener: socketserver.TCPServer, ends: int) -> None:
    """Take connections until nobody holds the other end of the pipe `ends`, which the command does."""
    threading.Thread(target=listener.serve_forever, args=(0.05,), daemon=True).start()
    os.read(ends, 1)


def main(way: str, host: str, port: str, *command: str) -> None:
    """Be that machine, and become `command`."""

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            with socket.socket(socket.AF_UNIX) as far:
                far.connect(way)
                _join(self.request, far)

    if host == HOST:
        _bring_up(host)
    listener = _TcpListener((host, int(port)), Handler)
    reader, writer = os.pipe()
    if os.fork() == 0:
        os.close(writer)
        _near_end(way, listener, reader)
        os._exit(0)
    os.close(reader)
    listener.server_close()
    os.set_inheritable(writer, True)  # by the command, and by nothing that it starts in turn
    os.execvp(command[0], command)


if __name__ == "__main__":
    main(*sys.argv[1:])
