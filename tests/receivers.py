"""A program that is told, and what it was told."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Receiver:
    """`answer(body)` gives the status for each request."""

    url: str = ""
    requests: list[tuple[dict[str, str], bytes]] = field(default_factory=list)
    answer: Callable[[dict[str, Any]], int] = lambda body: 204

    def bodies(self) -> list[dict[str, Any]]:
        """What came, parsed."""
        return [json.loads(body) for _, body in list(self.requests)]

    def events(self) -> list[str]:
        """The events that came."""
        return [body["event"] for body in self.bodies()]


class _Handler(BaseHTTPRequestHandler):
    server: Any

    def log_message(self, *args: Any) -> None:
        pass

    def do_POST(self) -> None:
        receiver: Receiver = self.server.receiver
        body = self.rfile.read(int(self.headers["content-length"]))
        receiver.requests.append((dict(self.headers), body))
        status = receiver.answer(json.loads(body))
        if status:
            self.send_response(status)
            if 300 <= status < 400:
                self.send_header("Location", f"{receiver.url}elsewhere")
            self.send_header("Content-Length", "0")
            self.end_headers()


@contextmanager
def receiving() -> Iterator[Receiver]:
    """A receiver, until the block ends."""
    server: Any = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.daemon_threads = True
    server.receiver = Receiver(f"http://127.0.0.1:{server.server_address[1]}/s3cret-path/")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield server.receiver
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
