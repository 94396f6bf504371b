"""The panels that stand beside a run's figures: publishing, webhooks, thresholds, the learning curve and the log of
retraining, all shown at once; for everyone, on every screen, and by keys alone."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import browsing
import hub_standin
import judged_scenes as scenes
import training_scenes
from conftest import missing
from lab import Lab
from potato.store import Connection
from potato.store.clock import to_text
from potato.store.training import deliveries, predictions, publications, retraining
from potato.store.training.predictions import Stored
from potato.store.training.retraining import Decision
from potato.store.training.runs import Run, State
from potato.training.contract.files import slug
from potato.training.runs.folder import RunFolder
from potato.training.webhooks.hooks import hooks_of
from receivers import Receiver, receiving

pytestmark = pytest.mark.browser

AT = to_text(training_scenes.NOW)
SENTIMENT = {"annotation_type": "radio", "name": "sentiment", "description": "?", "labels": training_scenes.LABELS}
LOOKS = (("light", 1280), ("dark", 1280), ("light", 360), ("dark", 360))
SEQS = range(1, 101)
CALIBRATED = {
    "judged": 140.0,
    "nll_before": 0.9,
    "nll_after": 0.4,
    "ece_before": 0.21,
    "ece_after": 0.034,
    "threshold_0": 0.8,
    "threshold_0_judged": 60.0,
    "threshold_0_right": 59.0,
}
REFUSED = "sentiment: the held-out macro F1 of 0.793 does not reach min_score 0.99"
NOT_THERE = {
    "message": "The account 'ada' is not 'google', and is no member of it",
    "hint": "give the name of an account or an organisation that 'ada' may write to",
}
STRAYS = """() => [...document.querySelectorAll("main *")].filter(each => {
    const box = each.getBoundingClientRect();
    if (!each.checkVisibility() || each.closest("svg svg, .unseen") || box.right <= innerWidth + 1) return false;
    for (let above = each.parentElement; above; above = above.parentElement)
        if (getComputedStyle(above).overflowX !== "visible") return false;
    return true;
}).map(each => each.outerHTML.slice(0, 120))"""
CUT = """panels => [...document.querySelectorAll(panels)].flatMap(panel => [...panel.querySelectorAll(".table-frame")])
    .filter(frame => frame.checkVisibility() && frame.scrollWidth > frame.clientWidth)
    .map(frame => frame.getAttribute("aria-label"))"""
PANELS = "#runs, #retraining, #webhooks, #publish, [data-part=decisions], [data-part=curve], [data-part=record]"


@dataclass(frozen=True)
class Scene:
    """A project whose pages show every panel, and the two programs that it talks to."""

    lab: Lab
    run: Run
    hub: hub_standin.Hub
    receiver: Receiver


@pytest.fixture
def scene(tmp_path: Path, monkeypatch: Any) -> Iterator[Scene]:
    with hub_standin.serving() as hub, receiving() as receiver:
        monkeypatch.setenv("HF_ENDPOINT", hub.url)
        monkeypatch.setenv("HF_TOKEN", hub_standin.TOKEN)
        monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
        monkeypatch.setenv("HF_HUB_DISABLE_XET", "1")
        hooks = [{"url": receiver.url, "secret": "s"}, {"url": "https://a-bot-with-a-long-name.example.org/hooks"}]
        training = {
            "writeback": {"schemas": ["sentiment"], "include_unlabeled": True},
            "auto_retrain": {"enabled": True, "schemas": ["sentiment"], "update_frequency": 5000},
            "webhooks": hooks,
            "backends": {"lab-workstation": {"type": "agent"}},
        }
        lab = Lab(tmp_path / "lab", 120, annotation_schemes=[SENTIMENT], model_training=training)
        yield Scene(lab, _fill(lab), hub, receiver)


def _fill(lab: Lab) -> Run:
    with lab.database.write() as connection:
        run = scenes.judged(
            connection,
            90,
            SEQS,
            params={"precision": 0.95},
            metrics={"sentiment": CALIBRATED},
            label_order={"sentiment": training_scenes.LABELS},
            artifact_uri=None,
        )
        refused = {"read": 231, "written": 0, "skipped": {"low_score": 231}, "by_scheme": {}, "reason": REFUSED}
        scenes.judged(connection, 80, SEQS, writeback=refused, device="cuda:0 NVIDIA A100-SXM4-80GB")
        waits = training_scenes.run(94, State.QUEUED, backend="lab-workstation", backend_type="agent")
        training_scenes.add(connection, waits)
        scenes.curve(connection, run, SEQS, [0.4, 0.6, 0.75])
        predictions.add(connection, run.run_id, [Stored(n, "sentiment", "positive", 0.9, None, None) for n in SEQS])
        predictions.set_live(connection, run.run_id, ["sentiment"], AT, {"sentiment": len(SEQS)})
        _publish(connection, run)
        _decide(connection, run)
        _tell(connection, lab)
    _leave_model(lab, run)
    return run


def _publish(connection: Connection, run: Run) -> None:
    there = publications.begin(connection, run.run_id, "sentiment", "acme/review-sentiment-model", True, "ann", AT)
    publications.finish(connection, there, "https://huggingface.co/acme/review-sentiment-model", "5f2d" * 10, True, AT)
    failed = publications.begin(connection, run.run_id, "sentiment", "google/kinds", False, "ann", AT)
    publications.fail(connection, failed, NOT_THERE, AT)


def _decide(connection: Connection, run: Run) -> None:
    why = "its macro F1 of 0.71 is below that of the model whose suggestions are shown, 0.78 on the same 100 items"
    for kind, sentence in (("started", "40 annotations came in since the last run"), ("not_taken_over", why)):
        retraining.log(connection, Decision(AT, kind, sentence, run.run_id))


def _tell(connection: Connection, lab: Lab) -> None:
    for nth, hook in enumerate(hooks_of(lab.project)):
        for event in ("run.succeeded", "prelabels.shown"):
            deliveries.add(connection, hook.key, f"{event}-{nth}", event, "{}", AT)
        deliveries.delivered(connection, f"run.succeeded-{nth}", 204, AT)
        error = "a-bot-with-a-long-name.example.org could not be reached: Connection refused"
        deliveries.give_up(connection, f"prelabels.shown-{nth}", None, error, AT)


def _leave_model(lab: Lab, run: Run) -> None:
    training_scenes.write_course(lab.project, run.run_id)
    folder = RunFolder.of(lab.project, run.run_id).artifacts / slug("sentiment", 1)
    folder.mkdir()
    (folder / "potato.json").write_text(json.dumps({"classes": training_scenes.LABELS}), "utf-8")
    (folder / "model.skops").write_bytes(b"weights")


def _open(tab: Any, address: str, part: str) -> None:
    tab.goto(address)
    browsing.ready(tab)
    tab.locator(part).wait_for()


def _check(tab: Any, name: str) -> None:
    """Axe finds nothing, of its advice neither, and nothing stands out of the screen."""
    try:
        from axe_playwright_python.sync_playwright import Axe
    except ImportError:
        missing("axe-playwright-python")
    found = Axe().run(tab)
    assert found.violations_count == 0, f"{name}: {found.generate_report()}"
    assert tab.evaluate(STRAYS) == [], name
    assert tab.evaluate(CUT, PANELS) == [], name
    assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth"), name


def test_pages_with_every_panel_are_for_everyone(scene: Scene, live: Any, tab: Any) -> None:
    live.open(scene.lab.project)
    pages = {"training": f"{live.url}admin/training", "run": f"{live.url}admin/training/runs/{scene.run.run_id}"}
    parts = {"training": "#webhooks", "run": "form[data-publish]"}
    browsing.enter_admin(tab, live.url, "lab-key")
    for page, address in pages.items():
        for scheme, width in LOOKS:
            tab.emulate_media(color_scheme=scheme)
            tab.set_viewport_size({"width": width, "height": 800})
            _open(tab, address, parts[page])
            if shots := os.environ.get("POTATO_SCREENSHOTS"):
                tab.screenshot(path=f"{shots}/panels-{page}-{scheme}-{width}.png", full_page=True)
            _check(tab, f"{page}, {scheme}, {width}")


def test_by_keys_alone_a_webhook_is_tried_and_a_model_is_published(scene: Scene, live: Any, tab: Any) -> None:
    live.open(scene.lab.project)
    browsing.enter_admin(tab, live.url, "lab-key")
    _open(tab, f"{live.url}admin/training", "#webhooks")
    browsing.tab_to(tab, "[data-try-webhook='1']")
    tab.keyboard.press("Enter")
    tab.get_by_text("The webhook took the test event: it answered 204.").wait_for()
    tab.locator("#webhooks th[scope=row]").get_by_text("test", exact=True).wait_for()
    tab.locator("[data-try-webhook='1']:focus").wait_for()  # who has no mouse goes on from there
    assert scene.receiver.events() == ["test"]
    _open(tab, f"{live.url}admin/training/runs/{scene.run.run_id}", "form[data-publish]")
    browsing.tab_to(tab, "#publish-repo")
    tab.keyboard.type("kinds")
    tab.keyboard.press("Enter")
    tab.locator("[data-said]").get_by_text("is no name of a repository").wait_for()
    browsing.tab_to(tab, "#publish-repo")
    tab.keyboard.press("ControlOrMeta+a")
    tab.keyboard.type("google/others")
    tab.keyboard.press("Enter")
    tab.locator("#publish th[scope=row]").get_by_text("google/others").wait_for()
    browsing.until(tab, "() => document.querySelector('#publish-repo')?.value === 'google/others'")  # to be mended
    browsing.tab_to(tab, "#publish-repo")
    tab.keyboard.press("ControlOrMeta+a")
    tab.keyboard.type("acme/kinds")
    tab.keyboard.press("Tab")
    tab.keyboard.press("Space")
    tab.keyboard.press("Tab")
    tab.keyboard.press("Enter")
    tab.locator(f"#publish a[href='{scene.hub.url}/acme/kinds']").wait_for()
    tab.locator("#publish-repo:focus").wait_for()
    assert not scene.hub.repos["acme/kinds"].private
    assert "model.skops" in scene.hub.repos["acme/kinds"].files
