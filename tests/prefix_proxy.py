"""A proxy as nginx is one: it serves a server of this machine below a path, takes that path away on the way there, and
sends on what comes as it comes. What is asked for beside the path is noted, and answered 404."""

from __future__ import annotations

import http.client
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

HOP_BY_HOP = {"connection", "keep-alive", "transfer-encoding", "te", "trailer", "upgrade"}


class PrefixProxy:
    """Serves the server at `port` under `url`; `strays` are the paths that lay beside it."""

    def __init__(self, port: int, prefix: str) -> None:
        self.strays: list[str] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def _answer(self) -> None:
                if not self.path.startswith(f"{prefix}/"):
                    outer.strays.append(self.path)
                    self.send_error(404)
                    return
                with suppress(ConnectionError):  # the browser, or the server, has gone
                    self._pass_on(self.path.removeprefix(prefix))

            do_GET = do_POST = do_DELETE = _answer  # noqa: N815 - so http.server calls them

            def _pass_on(self, path: str) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                headers = {name: value for name, value in self.headers.items() if name.lower() not in HOP_BY_HOP}
                headers |= {"X-Forwarded-For": self.client_address[0], "X-Forwarded-Proto": "http"}
                server = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
                try:
                    server.request(self.command, path, body or None, headers)
                    self._send_back(server.getresponse())
                finally:
                    server.close()

            def _send_back(self, answer: http.client.HTTPResponse) -> None:
                self.send_response_only(answer.status, answer.reason)
                for name, value in answer.getheaders():
                    if name.lower() not in HOP_BY_HOP:
                        self.send_header(name, value)
                self.send_header("Connection", "close")
                self.end_headers()
                while piece := answer.read1(1 << 16):
                    self.wfile.write(piece)
                self.close_connection = True

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        self._listener = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._listener.server_port}{prefix}/"
        self._thread = Thread(target=self._listener.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Serve no longer."""
        self._listener.shutdown()
        self._listener.server_close()
        self._thread.join()


@contextmanager
def prefix_proxy(port: int, prefix: str) -> Iterator[PrefixProxy]:
    """A proxy before the server at `port`, until the block ends."""
    proxy = PrefixProxy(port, prefix)
    try:
        yield proxy
    finally:
        proxy.close()
