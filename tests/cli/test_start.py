"""`potato start`: what stops it, what it says, and that it ends cleanly."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

import site_scenes as scenes

Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts `potato start` with arguments; what is left of it ends with the test."""
    started: list[subprocess.Popen[str]] = []

    def run(*arguments: object) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "potato", "start", *map(str, arguments)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        started.append(process)
        return process

    yield run
    for process in started:
        process.kill()
        process.communicate()


def _address(process: subprocess.Popen[str]) -> str:
    assert process.stdout
    seen = []
    for line in process.stdout:
        seen.append(line)
        if found := re.search(r"http://[\d.]+:\d+/", line):
            return found[0]
    raise AssertionError("".join(seen))


def _ended(process: subprocess.Popen[str]) -> str:
    out, _ = process.communicate(timeout=60)
    return out


def test_it_serves_and_ends_cleanly_on_either_signal(tmp_path: Path, start: Start) -> None:
    file = scenes.project(tmp_path).file
    for number in (signal.SIGTERM, signal.SIGINT):
        process = start(file, "--port", 0)
        with urllib.request.urlopen(_address(process), timeout=30) as page:
            assert b"Your name" in page.read()
        children = psutil.Process(process.pid).children(recursive=True)
        process.send_signal(number)
        assert "Stopped. Every answer is kept." in _ended(process)
        assert process.returncode == 0
        assert not psutil.wait_procs(children, timeout=10)[1]


def test_an_error_in_the_project_stops_it_before_it_binds(tmp_path: Path, start: Start) -> None:
    file = scenes.project(tmp_path).file
    file.write_text(file.read_text("utf-8").replace('"data_files"', '"data_filse"'), "utf-8")
    with socket.socket() as taken:  # a bound port would be complained of instead
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        process = start(file, "--port", taken.getsockname()[1])
        out = _ended(process)
    assert process.returncode == 1
    assert "unknown key `data_filse`; did you mean `data_files`?" in out
    assert "Traceback" not in out


def test_an_error_in_the_data_stops_it_and_names_the_line(tmp_path: Path, start: Start) -> None:
    file = scenes.project(tmp_path).file
    (tmp_path / "items.jsonl").write_text('{"id": "i1", "text": "one"}\n{"id": "i1", "text": "other"}\n', "utf-8")
    process = start(file, "--port", 0)
    out = _ended(process)
    assert process.returncode == 1
    assert re.search(r"items\.jsonl:2", out), out
    assert "is served at" not in out
    assert "Traceback" not in out


def test_a_port_in_use_is_said_in_a_sentence(tmp_path: Path, start: Start) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        process = start(scenes.project(tmp_path).file, "--port", port)
        out = _ended(process)
    assert process.returncode == 1
    assert f"potato: cannot listen on 127.0.0.1, port {port}: address already in use" in out
    assert "Choose another with --port." in out


def test_an_address_that_is_none_is_said_in_a_sentence(tmp_path: Path, start: Start) -> None:
    process = start(scenes.project(tmp_path).file, "--port", 0, "--address", "http://10.0.0.5:8001")
    out = _ended(process)
    assert process.returncode == 1
    assert "potato: 'http://10.0.0.5:8001' is no address at which other servers reach this one" in out
    assert "as HOST:PORT" in out


@pytest.mark.sqlite("several servers may share a project in PostgreSQL")
def test_a_second_server_of_one_project_says_so_and_stops(tmp_path: Path, start: Start) -> None:
    file = scenes.project(tmp_path).file
    first = start(file, "--port", 0)
    _address(first)
    second = start(file, "--port", 0)
    assert f"another server (process {first.pid}) is serving" in _ended(second)
    assert second.returncode == 1


def test_a_killed_server_leaves_no_process_and_no_lock(tmp_path: Path, start: Start) -> None:
    file = scenes.project(tmp_path).file
    first = start(file, "--port", 0)
    _address(first)
    children = psutil.Process(first.pid).children(recursive=True)
    first.kill()
    first.wait()
    assert not psutil.wait_procs(children, timeout=10)[1]
    _address(start(file, "--port", 0))


def test_a_kept_open_connection_does_not_hold_up_the_end(tmp_path: Path, start: Start) -> None:
    file = scenes.project(tmp_path, model_training={"enabled": True}).file
    process = start(file, "--port", 0)
    address = _address(process)
    with socket.create_connection(("127.0.0.1", int(address.rsplit(":", 1)[1].strip("/")))) as idle:
        idle.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")  # kept open, as a browser does
        idle.recv(100)
        begun = time.monotonic()
        process.terminate()
        _ended(process)
    assert process.returncode == 0
    assert time.monotonic() - begun < 8


def test_a_file_that_is_not_there_is_a_sentence(tmp_path: Path, start: Start) -> None:
    process = start(tmp_path / "nothing.yaml")
    out = _ended(process)
    assert process.returncode != 0
    assert "nothing.yaml" in out
    assert "Traceback" not in out
