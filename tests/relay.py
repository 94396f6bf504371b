"""A way to a host for ssh's `ProxyCommand`: `python relay.py SECONDS RATE HOST PORT`.

It takes SECONDS to begin, and carries at most RATE bytes a second each way; as fast as it can where RATE is 0.
"""

from __future__ import annotations

import os
import socket
import sys
import threading
import time


def option(seconds: float = 0, rate: int = 0) -> str:
    """The line for a client's configuration."""
    return f"ProxyCommand {sys.executable} -SE {__file__} {seconds} {rate} %h %p"


def carry(source: int, target: int, rate: int) -> None:
    """Bytes from one descriptor to another, until there are no more."""
    most = min(1 << 16, rate // 20) if rate else 1 << 16
    while piece := os.read(source, most):
        view = memoryview(piece)
        while view:
            view = view[os.write(target, view) :]
        if rate:
            time.sleep(len(piece) / rate)


def main(seconds: float, rate: int, host: str, port: int) -> None:
    """Wait, then carry both ways until the host has no more to say."""
    time.sleep(seconds)
    with socket.create_connection((host, port)) as way:
        threading.Thread(target=carry, args=(0, way.fileno(), rate), daemon=True).start()
        carry(way.fileno(), 1, rate)


if __name__ == "__main__":
    main(float(sys.argv[1]), int(sys.argv[2]), sys.argv[3], int(sys.argv[4]))
