"""The image: what its Dockerfile says is true of the program, and the program can be a container's first process."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest
import typer.main

from potato import cli

ROOT = Path(__file__).parents[2]
DOCKERFILE = (ROOT / "Dockerfile").read_text("utf-8").replace("\\\n", "")

CHILD = """
import os, signal, subprocess, sys, time
from potato.cli.first_process import run_in_child
run_in_child()
def stop(*_):
    sys.exit(int(sys.argv[1]))
signal.signal(signal.SIGTERM, stop)
orphan = subprocess.run(["sh", "-c", "sleep 0 & echo $!"], capture_output=True, text=True).stdout.strip()
while os.path.exists("/proc/" + orphan) and sys.argv[2] == "reaped":
    time.sleep(0.01)
print("ready", flush=True)
while True:
    time.sleep(1)
"""


def instruction(name: str) -> list[str]:
    """The last list that an instruction of the Dockerfile has."""
    words: list[str] = json.loads(re.findall(rf"^{name}\b[^\[\n]*(\[.*\])$", DOCKERFILE, re.MULTILINE)[-1])
    return words


def test_what_it_starts_exists() -> None:
    assert instruction("ENTRYPOINT") == ["potato"]
    command: list[str] = json.loads(re.findall(r"^CMD (\[.*\])$", DOCKERFILE, re.MULTILINE)[-1])
    found = typer.main.get_command(cli.build()).commands[command[0]]  # type: ignore[attr-defined]
    options = {option for param in found.params for option in param.opts}
    assert {word for word in command if word.startswith("--")} <= options
    assert command[-2:] == ["--host", "0.0.0.0"]


def test_all_that_it_copies_is_there_and_let_in() -> None:
    let_in = re.findall(r"^!(.+)$", (ROOT / ".dockerignore").read_text("utf-8"), re.MULTILINE)
    assert [name for name in let_in if not (ROOT / name).exists()] == []
    assert {"src", "pyproject.toml", "README.md", "LICENSE", "constraints.txt"} <= set(let_in)


@pytest.mark.parametrize("status", [200, 503])
def test_the_health_check_tells_as_the_server_does(status: int) -> None:
    asked = []

    class Healthz(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(status)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with HTTPServer(("127.0.0.1", 0), Healthz) as server:
        answering = Thread(target=server.serve_forever)
        answering.start()
        _, option, code = instruction("HEALTHCHECK")
        code = code.replace("8000", str(server.server_port))
        done = subprocess.run([sys.executable, option, code], capture_output=True, timeout=60, check=False)
        server.shutdown()
        answering.join()
    assert (done.returncode == 0, asked) == (status == 200, ["/healthz"]), done.stderr


@pytest.mark.skipif(not sys.platform.startswith("linux") or os.getuid() != 0, reason="makes a process namespace")
@pytest.mark.parametrize("code", [0, 3])
def test_as_the_first_process_it_passes_signals_on_and_leaves_no_zombie(code: int) -> None:
    inside = [sys.executable, "-c", CHILD, str(code), "reaped"]
    command = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child", *inside]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as outer:
        assert outer.stdout is not None
        assert outer.stdout.readline() == "ready\n"
        children = Path(f"/proc/{outer.pid}/task/{outer.pid}/children").read_text().split()
        os.kill(int(children[0]), signal.SIGTERM)
        assert outer.wait(timeout=60) == code
