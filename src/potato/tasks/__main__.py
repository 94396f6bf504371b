"""`python -m potato.tasks`: the child. It ends as soon as its stdin does: with the server, however that died."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import queue
import signal
import sys
import threading
import traceback
from typing import Any, BinaryIO

from potato.errors import PotatoError
from potato.project import Project
from potato.store import Database
from potato.store.election import check
from potato.tasks import registry, wire

NICE = 10


def main() -> None:
    """Answer requests until stdin ends."""
    os.nice(NICE)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)  # Ctrl-C and a service's stop are the server's to act on; it closes stdin
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever a library prints is no answer
    requests: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(sys.stdin.buffer, requests), daemon=True).start()
    first = requests.get()
    project, epoch = wire.read_project(first), wire.read_epoch(first)
    guard = functools.partial(check, epoch=epoch) if epoch is not None else None
    database = Database(project.database_url, guard)
    while True:
        if requests.empty():  # a server that starts has asked already, and waits
            registry.warm()
        answer = wire.line(_perform(project, database, requests.get()))
        try:
            answers.write(answer)
            answers.flush()
        except BrokenPipeError:
            os._exit(0)  # as in `_listen`: nobody is left to be answered


def _listen(stdin: BinaryIO, requests: queue.SimpleQueue[bytes]) -> None:
    for request in stdin:
        requests.put(request)
    os._exit(0)  # the server is gone or has closed: what was begun is repeated by the next one


def _perform(project: Project, database: Database, request: bytes) -> dict[str, Any]:
    asked = json.loads(request)
    try:
        return {"answer": registry.find(asked["name"])(project, database, asked["args"])}
    except PotatoError as error:
        return {"refused": wire.refused(error)}
    except Exception as error:  # the child goes on: the next task may be sound
        with contextlib.suppress(OSError):
            traceback.print_exc()
        return {"crashed": f"{type(error).__name__}: {error}"}


if __name__ == "__main__":
    main()
