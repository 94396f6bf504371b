"""What the benchmarks share: a project to serve, a server to measure, a client that costs little, a table."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import random
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

ADMIN_KEY = "benchmark-admin-key"

VOCABULARY = (
    "the a this my our camera phone player menu screen sound battery picture button manual price works broke arrived "
    "good great bad awful fine slow fast heavy light cheap clear never always quite very really after before with for"
)

PROJECT = """\
annotation_task_name: Benchmark
data_files: [items.jsonl]
output_annotation_dir: output
admin_api_key: {key}
annotation_schemes:
  - annotation_type: radio
    name: sentiment
    description: How does the writer feel?
    labels: [positive, negative]
{more}"""

TRAINING = """\
model_training:
  enabled: true
"""


Command = Callable[[int], Sequence[str]]
"""Port → the command line that serves there."""


def make_project(folder: Path, items: int, more: str = "") -> Path:
    """A project of `items` short texts in `folder`; its project file."""
    source, words = random.Random(0), VOCABULARY.split()
    with (folder / "items.jsonl").open("w") as file:
        for number in range(items):
            text = " ".join(source.choices(words, k=15))
            file.write(json.dumps({"id": f"item-{number}", "text": f"{text} {number}"}) + "\n")
    config = folder / "config.yaml"
    config.write_text(PROJECT.format(key=ADMIN_KEY, more=more))
    return config


def free_port() -> int:
    """A TCP port that nobody listens on."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


@dataclass
class Server:
    """A server process and its address."""

    process: subprocess.Popen[bytes]
    port: int
    log: Path

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def peak_rss_mb(self) -> float:
        """The most memory that the server itself has held."""
        return _high_water_mb(psutil.Process(self.process.pid))


def _high_water_mb(process: psutil.Process) -> float:
    status = Path(f"/proc/{process.pid}/status")
    if status.exists():
        for line in status.read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
    return float(process.memory_info().rss / 2**20)


@contextlib.contextmanager
def serving(command: Command, folder: Path, limit_s: float = 600, ready: str = "/") -> Iterator[tuple[Server, float]]:
    """A server, started and answering at `ready`, and the seconds that took. `command` gets its port."""
    port = free_port()
    log = folder / "server.log"
    with log.open("ab") as output:
        started = time.perf_counter()
        process = subprocess.Popen(
            list(command(port)), cwd=folder, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
        )
        server = Server(process, port, log)
        try:
            _wait_until_it_answers(server, ready, limit_s)
            yield server, time.perf_counter() - started
        finally:
            _stop(process)


def potato(config: Path) -> Command:
    """The command that serves a project."""
    return lambda port: [sys.executable, "-m", "potato", "start", str(config), "--port", str(port)]


def _wait_until_it_answers(server: Server, path: str, limit_s: float) -> None:
    deadline = time.monotonic() + limit_s
    while time.monotonic() < deadline:
        if server.process.poll() is not None:
            raise SystemExit(f"the server ended with {server.process.returncode}:\n{server.log.read_text()[-3000:]}")
        try:
            with urllib.request.urlopen(server.url + path, timeout=5):
                return
        except urllib.error.HTTPError:
            return
        except OSError:
            time.sleep(0.02)
    raise SystemExit(f"the server did not answer within {limit_s:.0f} seconds:\n{server.log.read_text()[-3000:]}")


def _stop(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(20)
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def api(server: Server, method: str, path: str, body: Any = None) -> Any:
    """The JSON that the admin API answers."""
    request = urllib.request.Request(
        server.url + path,
        method=method,
        data=None if body is None else json.dumps(body).encode(),
        headers={"X-API-Key": ADMIN_KEY, "Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=60) as response:
        return json.load(response)


@dataclass(frozen=True)
class Reply:
    """An HTTP reply."""

    status: int
    headers: dict[str, str]
    body: bytes


class Client:
    """One annotator's browser: a kept-open HTTP/1.1 connection with cookies, cheap enough to run fifty of."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._cookies: dict[str, str] = {}
        self._open = False

    async def request(self, method: str, path: str, body: bytes = b"", content_type: str = "") -> Reply:
        """Send a request and read the whole reply."""
        if not self._open:
            self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port, limit=2**22)
            self._open = True
        lines = [f"{method} {path} HTTP/1.1", f"Host: 127.0.0.1:{self._port}", f"Content-Length: {len(body)}"]
        if content_type:
            lines += [f"Content-Type: {content_type}", f"Origin: http://127.0.0.1:{self._port}"]
        if self._cookies:
            lines.append("Cookie: " + "; ".join(f"{name}={value}" for name, value in self._cookies.items()))
        self._writer.write("\r\n".join([*lines, "", ""]).encode() + body)
        return await self._reply()

    async def _reply(self) -> Reply:
        head = (await self._reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        headers: dict[str, str] = {}
        for line in head[1:-2]:
            name, _, value = line.partition(": ")
            headers[name.lower()] = value
            if name.lower() == "set-cookie":
                cookie, _, content = value.partition(";")[0].partition("=")
                self._cookies[cookie] = content
        reply = Reply(int(head[0].split()[1]), headers, await self._body(headers))
        if headers.get("connection") == "close":
            self.close()
        return reply

    async def _body(self, headers: dict[str, str]) -> bytes:
        if headers.get("transfer-encoding") != "chunked":
            return await self._reader.readexactly(int(headers.get("content-length", 0)))
        body = b""
        while size := int(await self._reader.readuntil(b"\r\n"), 16):
            body += (await self._reader.readexactly(size + 2))[:-2]
        await self._reader.readexactly(2)
        return body

    def close(self) -> None:
        """Hang up."""
        self._writer.close()
        self._open = False


def percentile(values: Sequence[float], share: float) -> float:
    """The value that `share` of `values` do not exceed."""
    ranked = sorted(values)
    return ranked[min(len(ranked) - 1, int(share * len(ranked)))]


def print_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table: names left, figures right."""
    widths = [max(len(row[place]) for row in [columns, *rows]) for place in range(len(columns))]
    print(f"\n{title}\n")
    for row in [columns, ["-" * width for width in widths], *rows]:
        cells = (
            cell.ljust(width) if place == 0 else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        print("  ".join(cells).rstrip())


def machine() -> str:
    """What it was measured on."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return f"{cores} cores, Python {sys.version.split()[0]}, load {os.getloadavg()[0]:.1f} at the end"
