"""What opens behind a run, in a real browser: each state on each backend, many runs, keys alone, a prefix."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import httpx
import pytest
from sqlalchemy import select

import browsing
import judged_scenes as scenes
import training_scenes
from lab import Lab
from potato.store import tables
from potato.store.clock import to_text
from potato.store.training import predictions
from potato.store.training.runs import Run, State
from potato.training.contract.events import EventWriter
from potato.training.runs.folder import RunFolder
from still_server import still

pytestmark = pytest.mark.browser

SENTIMENT = {"annotation_type": "radio", "name": "sentiment", "description": "?", "labels": training_scenes.LABELS}
BACKENDS = {
    "gpu-server": {"type": "ssh", "host": "gpu.example.org"},
    "lab-workstation": {"type": "agent"},
}
SEQS = range(1, 101)
PHONE = {"viewport": {"width": 360, "height": 800}, "color_scheme": "dark"}


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    training = {"writeback": {"schemas": ["sentiment"], "include_unlabeled": True}, "backends": BACKENDS}
    lab = Lab(tmp_path / "lab", 120, annotation_schemes=[SENTIMENT], model_training=training)
    lab.label({f"i{n}": training_scenes.LABELS[n % 3] for n in range(0, 120, 2)}, user="ann")
    lab.label({f"i{n}": training_scenes.LABELS[n % 2] for n in range(0, 120, 3)}, user="Zoë")
    return lab


def _judged(lab: Lab, number: int = 500) -> tuple[Run, Run]:
    """A run with everything, its learning curve and a model's file included; and a point of the curve."""
    with lab.database.write() as connection:
        run = scenes.judged(connection, number, SEQS, started_by="ann")
        points = scenes.curve(connection, run, SEQS, [0.4, 0.6, 0.75])
        predictions.set_live(connection, run.run_id, ["sentiment"], to_text(training_scenes.NOW), {"sentiment": 96})
    folder = training_scenes.write_course(lab.project, run.run_id)
    folder.bundle.mkdir()
    (folder.artifacts / "model #1 ä.bin").write_bytes(b"weights")
    folder.stderr.write_text("a warning\n")
    folder.agent_log.write_text("connected\n")
    return run, points[0]


def _enter(tab: Any, address: str) -> None:
    browsing.enter_admin(tab, address, "lab-key")


def _open(tab: Any, address: str, path: str) -> None:
    tab.goto(f"{address}admin/training{path}")
    browsing.ready(tab)


def test_every_state_on_every_backend_has_a_page_that_says_what_to_do(lab: Lab, tabs: Any) -> None:
    runs = scenes.every_state(10)
    with lab.database.write() as connection:
        training_scenes.add(connection, *runs)
    tab = tabs.open(**PHONE)
    with still(lab.project) as address:
        _enter(tab, address)
        for run in runs:
            _open(tab, address, f"/runs/{run.run_id}")
            name = f"{run.backend_type}: {run.state.value}"
            assert tab.locator("[data-part=badge]").inner_text() == run.state.value, name
            assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth"), name
            cancel = tab.get_by_role("button", name="Cancel run")
            assert cancel.is_visible() == (not run.is_finished), name
            if run.error is not None:
                said = tab.locator("[data-part=ends]").inner_text()
                assert said.index(run.error["message"]) < said.index("are as they were") < said.index(run.error["hint"])
            elif run.step and not run.is_finished:
                assert tab.locator("[data-step]").inner_text() == run.step, name
            if (run.backend_type, run.state) in {("ssh", State.ERROR), ("slurm", State.RUNNING)}:
                browsing.check_access(tab, name)


def test_pages_with_many_runs_and_with_few_labels_are_for_everyone(lab: Lab, tabs: Any) -> None:
    with lab.database.write() as connection:
        for number in range(1, 200):
            training_scenes.add(connection, training_scenes.succeeded(number, held_out=20))
        few = scenes.judged(connection, 300, SEQS[:3], counts={"train": 14, "val": 3, "test": 3, "predict": 0})
    best, _ = _judged(lab)
    phone, desk = tabs.open(**PHONE), tabs.open()
    with still(lab.project) as address:
        for tab in (phone, desk):
            _enter(tab, address)
        _open(phone, address, "")
        assert phone.locator("tr[data-row]").count() == 50
        phone.get_by_text("As a table").first.click()
        browsing.check_access(phone, "200 runs")
        _open(phone, address, f"/runs/{few.run_id}")
        assert "on 3 held-out items" in phone.locator("main").inner_text()
        for path in (f"training/runs/{best.run_id}/items?scheme=sentiment&wrong=true", "items/5"):
            phone.goto(f"{address}admin/{path}")
            browsing.check_access(phone, path)
        _open(desk, address, f"/runs/{best.run_id}")
        desk.locator(".chart canvas").first.wait_for()
        browsing.check_access(desk, "a run with everything")
        desk.goto(f"{address}admin/training/runs/{best.run_id}/compare?with={few.run_id}")
        desk.locator("[data-fetched] .figures").wait_for()
        browsing.check_access(desk, "a comparison")


def test_by_keys_alone_a_doubtful_label_is_found_and_a_curve_is_asked_for(lab: Lab, tab: Any) -> None:
    with lab.database.write() as connection:
        run = scenes.judged(connection, 500, SEQS)
    RunFolder.of(lab.project, run.run_id).bundle.mkdir(parents=True)
    with still(lab.project) as address:
        _enter(tab, address)
        _open(tab, address, f"/runs/{run.run_id}")
        browsing.tab_to(tab, "[data-curve]")
        tab.keyboard.press("Enter")
        tab.get_by_text("3 runs of the learning curve are in the queue.").wait_for()
        tab.locator("[data-curve-waits]").wait_for()
        browsing.tab_to(tab, ".confusion td:not(.right) a")
        tab.keyboard.press("Enter")
        tab.wait_for_url(re.compile("/items\\?scheme=sentiment&human="))
        browsing.tab_to(tab, ".item-table a")
        item = tab.evaluate("document.activeElement.textContent")
        tab.keyboard.press("Enter")
        tab.wait_for_url(re.compile("/admin/items/\\d+$"))
        assert item in tab.locator("h1").inner_text()
        tab.get_by_role("heading", name="What people answered").wait_for()


def test_a_sleeping_tab_lets_its_stream_go_and_catches_up_when_it_is_looked_at(lab: Lab, tab: Any) -> None:
    run = training_scenes.run(1, State.RUNNING, step="training")
    with lab.database.write() as connection:
        training_scenes.add(connection, run)
    folder = RunFolder.of(lab.project, run.run_id)
    folder.path.mkdir(parents=True)
    ended: list[str] = []
    tab.on("requestfinished", lambda request: ended.append(request.url))
    tab.on("requestfailed", lambda request: ended.append(request.url))
    with still(lab.project) as address:
        _enter(tab, address)
        with tab.expect_request(re.compile("/stream")):
            _open(tab, address, f"/runs/{run.run_id}")
        _look_away(tab, hidden=True)
        browsing.until(tab, "() => true")
        _wait(tab, lambda: any("/stream" in url for url in ended))
        writer = EventWriter(str(folder.events))
        for step in range(1, 4):
            writer.metric("val", "accuracy", step / 4, step)
        writer.close()
        folder.log.write_text("what was said meanwhile\n")
        with tab.expect_request(re.compile("/stream")):
            _look_away(tab, hidden=False)
        tab.locator("[data-log]").get_by_text("what was said meanwhile").wait_for()
        tab.get_by_text("val accuracy 0.750 at step 3").wait_for()


def _look_away(tab: Any, hidden: bool) -> None:
    """What a browser tells a page when another tab is looked at, or this one again."""
    tab.evaluate(
        """hidden => {
            Object.defineProperty(document, "hidden", { value: hidden, configurable: true });
            document.dispatchEvent(new Event("visibilitychange"));
        }""",
        hidden,
    )


def _wait(tab: Any, condition: Any) -> None:
    for _ in range(browsing.LIMIT_S * 20):
        if condition():
            return
        tab.wait_for_timeout(50)
    raise AssertionError("it did not come about")


class Proxy:
    """In front of the application as nginx under `/a/b`: takes the prefix off, and remembers what came without it."""

    def __init__(self, app: Any) -> None:
        self._app = app
        self.seen: list[str] = []
        self.strays: list[str] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Pass a request on."""
        if scope["type"] == "http":
            path = scope["path"]
            if not path.startswith("/a/b/"):
                self.strays.append(path)
                await send({"type": "http.response.start", "status": 404, "headers": []})
                await send({"type": "http.response.body"})
                return
            self.seen.append(path)
            scope = {**scope, "path": path.removeprefix("/a/b"), "raw_path": scope["raw_path"].removeprefix(b"/a/b")}
        await self._app(scope, receive, send)


def test_under_a_prefix_every_request_stays_under_it(lab: Lab, tab: Any) -> None:
    """annotation 68"""
    run, point = _judged(lab)
    with lab.database.write() as connection:
        going = training_scenes.run(900, State.RUNNING)
        training_scenes.add(connection, going, training_scenes.run(901, State.QUEUED), *scenes.every_state(10)[:7])
    RunFolder.of(lab.project, going.run_id).path.mkdir(parents=True)
    with still(lab.project, wrap=Proxy) as (address, proxy):
        _enter(tab, f"{address}a/b/")
        key = {"X-API-Key": "lab-key"}
        page = f"{address}a/b/admin/training/runs/{run.run_id}"
        with httpx.Client(headers=key, timeout=browsing.LIMIT_S) as client:
            _crawl(client, tab, [page, f"{page}/compare?with={point.run_id}", f"{address}a/b/admin"], address)
        _open(tab, f"{address}a/b/", f"/runs/{going.run_id}")
        tab.get_by_role("button", name="Cancel run").click()
        tab.get_by_text("The run is being cancelled.").wait_for()
    assert proxy.strays == []
    wanted = ("/stream", "/artifacts/", "/compare/figures", "/admin/items/", "/curves", "/log", "/cancel", "/events")
    assert [name for name in wanted if not any(name in path for path in proxy.seen)] == []
    kept = [row for table in tables.metadata.sorted_tables for row in lab.rows(select(table))]
    assert [row for row in kept if "/a/b/" in str(row)] == []
    assert run.run_id in "".join(proxy.seen)


def _crawl(client: httpx.Client, tab: Any, start: list[str], address: str) -> None:
    """Fetch what every page of the admin links to, and open one page of each kind in the browser as well."""
    waiting, known, opened = [*start], set(start), set()
    while waiting:
        url = waiting.pop(0)
        kind = re.sub(r"\d{8}T\d{6}-\w+|\d+|\?.*", "*", url)
        if url.endswith("/stream"):
            continue
        answer = client.get(url, headers={"Accept": "text/html"}, follow_redirects=True)
        assert answer.status_code == 200, (url, answer.text[:300])
        if not answer.headers["content-type"].startswith("text/html"):
            continue
        if kind not in opened and "</html>" in answer.text:
            opened.add(kind)
            tab.goto(url)
            tab.wait_for_load_state("load")
            if "/compare" in url:
                tab.locator("[data-fetched] .figures").wait_for()
        for link in re.findall(r'(?:href|src|data-url|data-fetched)="([^"#]+)"', answer.text):
            target = str(httpx.URL(str(answer.url)).join(link.replace("&amp;", "&")))
            if target.startswith(address) and target not in known and _is_new_kind(target, known):
                known.add(target)
                waiting.append(target)


def _is_new_kind(url: str, known: set[str]) -> bool:
    """At most a few addresses of one kind: the pages of a hundred items are alike."""
    kind = re.sub(r"\d{8}T\d{6}-\w+|\d+", "*", url)
    return sum(re.sub(r"\d{8}T\d{6}-\w+|\d+", "*", each) == kind for each in known) < 3
