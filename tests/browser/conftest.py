"""A real server and a real browser."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psutil
import pytest

import site_scenes as scenes
from conftest import missing
from ports import free_port
from potato.project import Project
from potato.store import Database

LIMIT_S = 120


class Live:
    """`potato start` on a project, on one port for as long as the test lasts, however often it is killed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}/"
        self.project: Project
        self._process: subprocess.Popen[bytes] | None = None

    def serve(self, texts: list[str] | None = None, **config: Any) -> None:
        """Make the project and start its server."""
        self.open(scenes.project(self.folder, texts, **config))

    def open(self, project: Project) -> None:
        """Start the server of a project that is there."""
        self.project = project
        self.start()

    def start(self) -> None:
        """Start the server and wait until it answers."""
        with (self.folder / "server.log").open("ab") as log:
            command = [sys.executable, "-m", "potato", "start", str(self.project.file), "--port", str(self.port)]
            self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        deadline = time.monotonic() + LIMIT_S
        while "Admin: http" not in self.log():
            assert self._process.poll() is None, self.log()
            assert time.monotonic() < deadline, self.log()
            time.sleep(0.05)

    def stop(self, *, kill: bool = False) -> int:
        """End the server, with `kill` as `kill -9` does; its exit code."""
        assert self._process
        self._process.kill() if kill else self._process.terminate()
        code = self._process.wait(30)
        self._process = None
        (self.folder / "server.log").rename(self.folder / f"server-{time.monotonic_ns()}.log")
        return code

    def close(self) -> None:
        """End the server if it is there, and the workers, which outlive it."""
        if self._process is not None:
            self.stop()
        for process in psutil.process_iter(["cmdline"]):
            if any(f"{self.folder}{os.sep}" in argument for argument in process.info["cmdline"] or ()):
                with contextlib.suppress(psutil.NoSuchProcess):
                    process.kill()

    def log(self) -> str:
        """What the server has printed since it was last started."""
        return (self.folder / "server.log").read_text("utf-8")

    def rows(self, statement: Any) -> list[Any]:
        """Rows of the store."""
        database = Database(self.project.database_url)
        try:
            with database.read() as connection:
                return list(connection.execute(statement).all())
        finally:
            database.close()


@pytest.fixture
def live(tmp_path: Path) -> Iterator[Live]:
    """A server to be started by the test."""
    live = Live(tmp_path)
    yield live
    live.close()


@pytest.fixture(scope="session")
def how() -> dict[str, Any]:
    """How Chromium is launched."""
    names = ("chromium", "chromium-browser", "google-chrome")
    path = os.environ.get("POTATO_CHROMIUM") or next(filter(None, map(shutil.which, names)), None)
    if path is None:
        missing("Chromium")
    return {"executable_path": path, "args": ["--no-sandbox"]}


@pytest.fixture(scope="session")
def chromium(how: dict[str, Any]) -> Iterator[Any]:
    """A real Chromium, and the only driver of one in this process: a second cannot start beside it."""
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as play:
        browser = play.chromium.launch(**how)
        yield browser
        browser.close()


class Profile:
    """A Chromium of its own, whose profile stays on the disk when it ends."""

    def __init__(self, kind: Any, how: dict[str, Any], folder: Path) -> None:
        self._launch = lambda: kind.launch_persistent_context(folder, **how)
        self._folder = str(folder)
        self._context: Any = None

    def open(self) -> Any:
        """Start it, with one tab."""
        self._context = self._launch()
        tab = self._context.new_page()
        tab.set_default_timeout(LIMIT_S * 1000)
        return tab

    def kill(self) -> None:
        """End it with all its processes, as `kill -9` does."""
        for process in psutil.process_iter(["cmdline"]):
            if any(self._folder in argument for argument in process.info["cmdline"] or ()):
                with contextlib.suppress(psutil.NoSuchProcess):
                    process.kill()
        with contextlib.suppress(Exception):  # it is gone, which Playwright takes for an error
            self._context.close()


@pytest.fixture
def profile(chromium: Any, how: dict[str, Any], tmp_path: Path) -> Iterator[Profile]:
    """A browser to be killed by the test."""
    profile = Profile(chromium.browser_type, how, tmp_path / "profile")
    yield profile
    profile.kill()


class Tabs:
    """Opens tabs of fresh profiles. A dialog box that nobody waits for, a script's error, and a request to another host
    or one that the CSP refused are troubles."""

    def __init__(self, chromium: Any) -> None:
        self.expected: list[str] = []
        """Beginnings of what a dialog box may ask; it is answered with yes."""
        self.troubles: list[str] = []
        self._chromium = chromium
        self._contexts: list[Any] = []

    def open(self, **context: Any) -> Any:
        """A tab; `context` as Playwright's `new_context` takes it."""
        made = self._chromium.new_context(**{"viewport": {"width": 1280, "height": 800}, "locale": "en-GB", **context})
        self._contexts.append(made)
        made.on("request", self._asked)
        tab = made.new_page()
        tab.set_default_timeout(LIMIT_S * 1000)
        tab.on("dialog", self._answer)
        tab.on("pageerror", lambda error: self.troubles.append(str(error)))
        tab.on("console", self._heard)
        return tab

    def close(self) -> None:
        """Close every tab."""
        for context in self._contexts:
            context.close()

    def _answer(self, dialog: Any) -> None:
        # "beforeunload" is as it should be while something is unsaved
        if dialog.type != "beforeunload" and not dialog.message.startswith(tuple(self.expected)):
            self.troubles.append(dialog.message)
        dialog.accept()

    def _asked(self, request: Any) -> None:
        if urlsplit(request.url).hostname not in (None, "127.0.0.1", "localhost"):
            self.troubles.append(request.url)

    def _heard(self, said: Any) -> None:
        if re.search("Content.Security", said.text):
            self.troubles.append(said.text)


@pytest.fixture
def tabs(chromium: Any) -> Iterator[Tabs]:
    """Tabs of fresh profiles; a trouble in one fails the test."""
    tabs = Tabs(chromium)
    yield tabs
    tabs.close()
    assert tabs.troubles == []


@pytest.fixture
def tab(tabs: Tabs) -> Any:
    """One tab."""
    return tabs.open()
