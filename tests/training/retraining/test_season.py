"""A whole season on real reviews, before a real server: every number on the pages agrees with the store and the export.

200 labels, a model, 50 reviewed suggestions, 100 more labels, a model that is trained by itself, a worse one that is
refused, all of it withdrawn; and the same numbers again after the server was started anew.
"""

from __future__ import annotations

import html
import json
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from sqlalchemy import func, select

from lab import Lab, wait_for
from ports import free_port
from potato.items.exporting import export_file
from potato.store import tables
from potato.store.training import predictions, verdicts

pytestmark = [pytest.mark.computes, pytest.mark.timeout(1200)]

ITEMS = 600
CHANGES = 130
"""`update_frequency`: the 30 answers that reviews give, and 100 labels more."""
SAME_ORIGIN = {"Sec-Fetch-Site": "same-origin"}
LIMIT_S = 240.0


class Season:
    """The project, its server, and what people do to it."""

    def __init__(self, folder: Path, rows: list[dict[str, str]], truth: dict[str, str]) -> None:
        self.truth = truth
        self.lab = Lab(folder, rows, annotation_schemes=[self.question()], model_training=self.training(auto=False))
        self.folder = folder
        self.url = ""
        self.admin: httpx.Client

    @staticmethod
    def question() -> dict[str, Any]:
        labels = ["positive", "negative"]
        return {"annotation_type": "radio", "name": "sentiment", "description": "Which?", "labels": labels}

    @staticmethod
    def training(*, auto: bool) -> dict[str, Any]:
        writeback = {"schemas": ["sentiment"], "include_unlabeled": True, "hide_share": 0.2, "max_drop": 0.05}
        retrain = {"schemas": ["sentiment"], "update_frequency": CHANGES, "min_interval_s": 1, "enabled": auto}
        return {"writeback": writeback, "auto_retrain": retrain, "num_threads": 1}

    @contextmanager
    def serving(self, *, auto: bool) -> Iterator[None]:
        """`potato start`, and an admin before it."""
        self.lab.write({**self.lab.config, "model_training": {"enabled": True, **self.training(auto=auto)}})
        port = free_port()
        command = [sys.executable, "-m", "potato", "start", str(self.lab.project.file), "--port", str(port)]
        with (self.folder / f"server-{port}.log").open("wb") as log:
            server = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self.url = f"http://127.0.0.1:{port}"
        said = self.folder / f"server-{port}.log"
        try:
            wait_for(lambda: b"Admin: http" in said.read_bytes() or server.poll() is not None, LIMIT_S)
            assert server.poll() is None, said.read_text()
            with httpx.Client(base_url=self.url, headers={"X-API-Key": "lab-key"}, timeout=60) as self.admin:
                yield
        finally:
            server.send_signal(signal.SIGTERM)
            server.wait(60)

    # What people do

    def label(self, name: str, count: int, *, wrong: int = 10) -> None:
        """Label so many items as the page does: one of `wrong` is answered falsely, seen suggestions are noted."""
        with httpx.Client(base_url=self.url, timeout=60, headers=SAME_ORIGIN) as client:
            client.post("/sign-in", data={"name": name}).raise_for_status()
            for number in range(count):
                self._label_one(client, name, mistaken=number % wrong == wrong - 1)

    def _label_one(self, client: httpx.Client, name: str, *, mistaken: bool) -> None:
        page = client.get("/annotate", follow_redirects=True, headers={"Accept": "text/html"})
        item = int(str(page.url).rsplit("/", 1)[1])
        identifier = _one(r'aria-label="Item ([^"]+)"', page.text)
        right = self.truth[identifier]
        answer = right if not mistaken else {"positive": "negative", "negative": "positive"}[right]
        body = {
            "request_id": f"{name}-{item:08}",
            "annotator": name,
            "answers": {"sentiment": answer},
            "elapsed_ms": 900 if "data-suggested" in page.text else 1500,
            "shown": html.unescape(_one(r'data-shown="([^"]*)"', page.text)),
        }
        client.post(f"/annotate/{item}/answers", json=body).raise_for_status()

    def train(self, **params: Any) -> dict[str, Any]:
        body = {"trainer": "sklearn-text", "schemas": ["sentiment"], "params": params}
        return self.ended(self.api("POST", "runs", body)["run_id"])

    def ended(self, run_id: str) -> dict[str, Any]:
        def look() -> dict[str, Any] | None:
            run = self.api("GET", f"runs/{run_id}")
            return run if run["state"] in ("success", "error", "cancelled") else None

        run: dict[str, Any] = wait_for(look, LIMIT_S)
        assert run["state"] == "success", run["error"]
        return run

    def review(self, count: int, answered: int) -> None:
        """Judge the least confident: `answered` are accepted or corrected by the truth, the others rejected."""
        queue = self.api("GET", f"reviews/queue?scheme=sentiment&limit={count}")
        sure = [entry["confidence"] for entry in queue["waiting"]]
        assert sure == sorted(sure)
        assert len(sure) == count
        for number, entry in enumerate(queue["waiting"]):
            right = self.truth[entry["item"]]
            body = {"run_id": queue["run_id"], "scheme": "sentiment", "item": entry["item"], "reviewer": "mira"}
            if number >= answered:
                verdict = {"verdict": "reject"}
            elif entry["answer"] == right:
                verdict = {"verdict": "accept"}
            else:
                verdict = {"verdict": "correct", "answer": right}
            assert not self.api("POST", "reviews", {**body, **verdict})["repeated"]

    # What is told

    def api(self, method: str, path: str, body: Any = None) -> Any:
        answer = self.admin.request(method, f"/admin/training/api/{path}", json=body)
        assert answer.is_success, answer.text
        return answer.json()

    def page(self, path: str) -> str:
        answer = self.admin.get(path, headers={"Accept": "text/html"})
        assert answer.is_success, answer.text
        text = re.sub(r"<[^>]+>", " ", re.sub(r"<script.*?</script>", "", answer.text, flags=re.DOTALL))
        return re.sub(r"\s+", " ", html.unescape(text)).replace("\N{NO-BREAK SPACE}", " ")

    def waits(self) -> list[str]:
        return [wait["sentence"] for wait in self.api("GET", "retraining")["waits"]]

    def told(self) -> dict[str, Any]:
        """Everything that the pages and the API tell of runs, suggestions, reviews and decisions."""
        runs = self.api("GET", "runs")["runs"]
        return {
            "runs": runs,
            "one": [self.api("GET", f"runs/{run['run_id']}") for run in runs],
            "use": [self.api("GET", f"runs/{run['run_id']}/use") for run in runs],
            "schemas": self.api("GET", "schemas"),
            "queue": self.api("GET", "reviews/queue?scheme=sentiment&limit=200"),
            "decisions": [d for d in self.api("GET", "retraining")["decisions"] if d["kind"] != "waiting"],
        }

    def check(self) -> dict[str, Any]:
        """Every number that is told agrees with the store and with the export; what was told."""
        told = self.told()
        assert told["one"] == told["runs"]
        export = self._export()
        self._check_labels(told, export)
        for run, use in zip(told["runs"], told["use"], strict=True):
            self._check_run(run, use, export)
        live = [run for run in told["runs"] if run["live_schemas"]]
        pre_labels = [line["pre_labels"]["sentiment"] for line in export["lines"] if "pre_labels" in line]
        assert {said["run_id"] for said in pre_labels} == {run["run_id"] for run in live}
        shown = sum(not said.get("hidden") for said in pre_labels)
        assert sum(run["live_prelabels"] for run in live) == shown
        assert export["manifest"]["pre_labels"] == ({"sentiment": len(pre_labels)} if pre_labels else {})
        assert told["queue"]["count"] == self._waiting(live)
        training = self.page("/admin/training")
        for run in told["runs"]:
            row = training[training.index(run["run_id"]) :]
            assert f"{run['counts']['train']} {run['scores']['sentiment']['primary']['value']:.3f} Macro F1" in row
        return told

    def _check_labels(self, told: dict[str, Any], export: dict[str, Any]) -> None:
        with self.lab.database.read() as connection:
            a = tables.annotations
            answers = connection.execute(select(func.count()).select_from(a)).scalar_one()
            items = connection.execute(select(func.count(a.c.item.distinct()))).scalar_one()
        assert export["manifest"]["annotations"] == len(export["answers"]) == answers
        assert export["manifest"]["items"] == items == told["schemas"]["schemas"][0]["labelled_items"]
        overview = self.page("/admin")
        assert f"{items} of {ITEMS}" in overview.replace(",", "") or f"{items}" in overview
        assert all(f" {name} " in overview for name in {line["annotator"] for line in export["answers"]})

    def _check_run(self, run: dict[str, Any], use: dict[str, Any], export: dict[str, Any]) -> None:
        run_id, report = run["run_id"], run["writeback"]
        with self.lab.database.read() as connection:
            p = tables.predictions.c
            gates = connection.execute(select(p.gate, func.count()).where(p.run_id == run_id).group_by(p.gate)).all()
            given = verdicts.reviewed(connection, run_id).get("sentiment")
            live = predictions.live(connection).get("sentiment") == run_id
            recounted = predictions.recount(connection, "sentiment", self.lab.project.schemes) if live else 0
        by_gate = dict(tuple(row) for row in gates)
        assert sum(by_gate.values()) == report["read"] == sum(run["counts"][s] for s in ("val", "test", "predict"))
        assert report["written"] + sum(report["skipped"].values()) == report["read"]
        assert by_gate.get(None, 0) == report["by_scheme"]["sentiment"]["passed"]
        assert by_gate.get("held_out", 0) == report["skipped"]["held_out"]
        assert run["live_prelabels"] == recounted
        page = self.page(f"/admin/training/runs/{run_id}")
        assert (f"{recounted} pre-labels are live now" in page) is live
        assert f"{run['scores']['sentiment']['primary']['value']:.3f} Macro F1" in page
        if given:
            counts = use["reviews"]["sentiment"]
            assert (counts["accepted"], counts["corrected"], counts["rejected"]) == (
                given.accepted,
                given.corrected,
                given.rejected,
            )
            assert f"of {given.total} reviewed suggestions, {given.accepted} were accepted" in page
            assert f"{given.corrected} corrected and {given.rejected} rejected" in page
        self._check_use(run_id, use, export, page)

    def _check_use(self, run_id: str, use: dict[str, Any], export: dict[str, Any], page: str) -> None:
        beside = [
            line["details"]["sentiment"] | {"answer": line["annotations"]["sentiment"]}
            for line in export["answers"]
            if line["annotator"] != "mira"
            and line.get("details", {}).get("sentiment", {}).get("suggestion", {}).get("run_id") == run_id
        ]
        seen = [each for each in beside if not each["suggestion"].get("hidden")]
        unseen = [each for each in beside if each["suggestion"].get("hidden")]
        told = use["annotators"].get("sentiment", {"shown": 0, "accepted": 0, "hidden": 0, "agreed": 0})
        assert told["shown"] == len(seen)
        assert told["accepted"] == sum(each["origin"] == "accepted" for each in seen)
        assert told["hidden"] == len(unseen)
        assert told["agreed"] == sum(each["answer"] == each["suggestion"]["payload"] for each in unseen)
        if seen and unseen:
            assert (told["shown_ms"], told["hidden_ms"]) == (900, 1500)
            assert f"Suggestion shown {told['shown']} {told['accepted']} " in page
            assert f"Suggestion hidden {told['hidden']} {told['agreed']} " in page

    def _waiting(self, live: list[dict[str, Any]]) -> int:
        if not live:
            return 0
        with self.lab.database.read() as connection:
            answered = set(connection.execute(select(tables.annotations.c.item)).scalars())
            judged = set(
                connection.execute(
                    select(tables.verdicts.c.item).where(tables.verdicts.c.run_id == live[0]["run_id"])
                ).scalars()
            )
            shown = predictions.all_suggestions(connection, "sentiment", self.lab.project.schemes)
            return sum(not said.hidden and seq not in answered | judged for seq, _, _, said in shown)

    def _export(self) -> dict[str, Any]:
        out = self.folder / "export.jsonl"
        export_file(self.lab.project, self.lab.database, out)
        lines = [json.loads(line) for line in out.read_text("utf-8").splitlines()]
        manifest = json.loads(Path(f"{out}.manifest.json").read_text("utf-8"))
        answers = [line for line in lines if "annotator" in line]
        return {"lines": lines, "answers": answers, "manifest": manifest}


def _one(pattern: str, text: str) -> str:
    found = re.search(pattern, text)
    assert found, pattern
    return found[1]


@pytest.fixture
def season(reviews: Path, tmp_path: Path) -> Season:
    """Reviews that most of 20 raters agree on, and what they say of them."""
    texts = [json.loads(line) for line in (reviews / "reviews.jsonl").read_text("utf-8").splitlines()]
    ratings = (json.loads(line) for line in (reviews / "ratings.jsonl").read_text("utf-8").splitlines())
    means = {line["id"]: sum(line["ratings"]) / len(line["ratings"]) for line in ratings}
    rows = [row for row in texts if abs(means[row["id"]]) > 0.5][:ITEMS]
    truth = {row["id"]: "positive" if means[row["id"]] > 0 else "negative" for row in rows}
    return Season(tmp_path / "season", rows, truth)


def test_a_whole_season(season: Season) -> None:
    """annotation 37, 52, 56, 59, 61, 62, 65"""
    with season.serving(auto=False):
        for name in ("ann", "bob"):
            season.label(name, 100)
        first = season.train()
        assert first["live_schemas"] == ["sentiment"]
        assert sum(first["counts"][split] for split in ("train", "val", "test")) == 200
        before = season.check()
    with season.serving(auto=True):
        assert season.check() == before
        assert season.waits() == [f"waiting for {CHANGES} more annotations"]
        season.review(50, answered=30)
        after_review = season.check()
        assert len(after_review["runs"]) == 1
        assert after_review["use"][0]["reviews"]["sentiment"]["reviewed"] == 50
        assert season.waits() == ["waiting for 100 more annotations"]
        season.label("ann", 99, wrong=20)
        assert season.waits() == ["waiting for 1 more annotation"]
        assert len(season.api("GET", "runs")["runs"]) == 1  # no save has trained anything
        season.label("bob", 1)
        second_id = wait_for(lambda: [r for r in season.api("GET", "runs")["runs"] if r["trigger"] == "auto"], LIMIT_S)
        second = season.ended(second_id[0]["run_id"])
        assert sum(second["counts"][split] for split in ("train", "val", "test")) == 330
        verdict = second["writeback"]["by_scheme"]["sentiment"]
        assert verdict["compared"]["live_run"] == first["run_id"]
        assert verdict["takes_over"] == (verdict["compared"]["new"] >= verdict["compared"]["live"] - 0.05)
        season.check()
        assert season.waits()[0] == f"waiting for {CHANGES} more annotations"
        worse = season.train(word_ngrams=1, char_ngrams=0, max_features=10)
        assert worse["live_schemas"] == []
        assert "max_drop allows 0.05" in worse["writeback"]["reason"]
        kinds = [each["kind"] for each in season.check()["decisions"]]
        assert kinds[0] == "not_taken_over"
        assert kinds[2] == "started"
        live = next(run for run in season.api("GET", "runs")["runs"] if run["live_schemas"])
        assert season.api("DELETE", f"runs/{live['run_id']}/predictions")["withdrawn"] == live["live_prelabels"] > 0
        withdrawn = season.check()
        assert not [run for run in withdrawn["runs"] if run["live_schemas"]]
    with season.serving(auto=True):
        assert season.check() == withdrawn
