"""A server whose supervisor rests: runs stay in the state in which a test has written them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn

from potato.app import create_app
from potato.project import Project
from potato.store import Database, Writer
from potato.tasks import TaskRunner
from potato.training.runs import open_supervisor
from potato.training.runs.notifier import Notifier

LIMIT_S = 120


@contextmanager
def still(project: Project, wrap: Callable[[Any], Any] | None = None) -> Iterator[Any]:
    """Serve the project from a thread of this process; the address, with its closing slash. `wrap` puts another ASGI
    application in front; then it comes along as a second value."""
    database = Database(project.database_url)
    database.migrate()
    writer, notifier, tasks = Writer(database), Notifier(), TaskRunner(project)
    writer.start()
    tasks.start()
    supervisor = open_supervisor(project, database, writer, notifier, tasks)
    app = create_app(project, supervisor=supervisor, tasks=tasks, notifier=notifier)
    front = app if wrap is None else wrap(app)
    server = uvicorn.Server(uvicorn.Config(front, port=0, log_level="error", timeout_graceful_shutdown=5))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    try:
        _until_it_serves(server, thread)
        [socket] = server.servers[0].sockets
        address = f"http://127.0.0.1:{socket.getsockname()[1]}/"
        yield address if wrap is None else (address, front)
    finally:
        notifier.close()  # whoever streams goes, so that the server can
        server.should_exit = True
        thread.join(LIMIT_S)
        tasks.close()
        writer.close()
        database.close()


def _until_it_serves(server: uvicorn.Server, thread: threading.Thread) -> None:
    deadline = time.monotonic() + LIMIT_S
    while not server.started:
        assert thread.is_alive(), "the server ended before it served"
        assert time.monotonic() < deadline, "the server does not serve"
        time.sleep(0.01)
