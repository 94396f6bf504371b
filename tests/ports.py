"""Ports of loopback for servers that tests start.

The system gives neither to a connection, as it does with those above 32767, and test processes that run side by side
count from places of their own. So a port that is free when it is chosen is free when its server listens.
"""

from __future__ import annotations

import contextlib
import os
import socket
from itertools import count

FIRST, COUNT = 10_000, 22_000
_EACH = 64
_next = count(os.getpid() * _EACH)


def free_port() -> int:
    """A port of loopback that nobody listens on, or has listened on a moment ago."""
    while True:
        port = FIRST + next(_next) % COUNT
        with contextlib.suppress(OSError), socket.socket() as probe:
            probe.bind(("127.0.0.1", port))
            return port
