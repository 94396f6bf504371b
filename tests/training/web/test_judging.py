"""What opens behind a run's figures: its items, its learning curve, its comparison; page, API and store agree."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

import judged_scenes as scenes
import training_scenes
from lab import Lab
from potato.app import create_app
from potato.store import tables
from potato.store.clock import to_text
from potato.store.training import held_out, predictions, runs
from potato.store.training.held_out import HeldOut, Which
from potato.store.training.predictions import HIDDEN, Stored
from potato.store.training.runs import Run, State
from potato.tasks import TaskRunner
from potato.training.results.comparison import compare
from potato.training.runs.folder import RunFolder
from potato.training.web.curve import gain_sentence
from potato.training.web.judging_pages import compared_sentence
from potato.web.render import signed

API = "/admin/training/api"
SENTIMENT = {"annotation_type": "radio", "name": "sentiment", "description": "?", "labels": training_scenes.LABELS}
SEQS = range(1, 101)


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    return Lab(tmp_path / "lab", 120, annotation_schemes=[SENTIMENT])


@contextmanager
def served(lab: Lab) -> Iterator[TestClient]:
    """An admin by key; the child process works, the supervisor's thread does not."""
    tasks = TaskRunner(lab.project)
    tasks.start()
    with lab.supervisor(start=False, tasks=False) as supervisor:
        app = create_app(lab.project, supervisor=supervisor, tasks=tasks, clock=lambda: training_scenes.NOW)
        with TestClient(app, headers={"X-API-Key": "lab-key"}, follow_redirects=False) as client:
            yield client
    tasks.close()


@pytest.fixture
def client(lab: Lab) -> Iterator[TestClient]:
    with served(lab) as client:
        yield client


@pytest.fixture
def judged(lab: Lab) -> Run:
    with lab.database.write() as connection:
        run = scenes.judged(connection, 5, SEQS)
    RunFolder.of(lab.project, run.run_id).bundle.mkdir(parents=True)
    return run


def _page(client: TestClient, path: str) -> str:
    answer = client.get(path, headers={"Accept": "text/html"})
    assert answer.status_code == 200, answer.text
    return unescape(re.sub(r"\s+", " ", answer.text))


def _text(html: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", html))


def test_every_cell_of_the_confusion_matrix_opens_as_many_items_as_it_says(
    client: TestClient, judged: Run, lab: Lab
) -> None:
    html = _page(client, f"/admin/training/runs/{judged.run_id}")
    cells = re.findall(r'<a href="([^"]+/items\?[^"]+)" aria-label="(\d+) of', html)
    assert sum(int(count) for _, count in cells) == len(SEQS)
    for link, count in cells:
        listed = _page(client, f"/admin/training/runs/{link}")
        assert len(re.findall(r"/admin/items/|items/\d+\"", listed)) >= min(int(count), 50)
        assert f"{count} test item" in _text(listed)
        query = link.partition("?")[2]
        api = client.get(f"{API}/runs/{judged.run_id}/held-out?{query}").json()
        assert api["count"] == int(count)
        assert {row["said"] for row in api["items"]} == set(re.findall(r"model=(\w+)", query))
    with lab.database.read() as connection:
        assert held_out.count(connection, Which(judged.run_id, "sentiment")) == len(SEQS)


def test_the_most_confidently_wrong_items_come_first_and_lead_to_their_page(client: TestClient, judged: Run) -> None:
    api = client.get(f"{API}/runs/{judged.run_id}/held-out", params={"scheme": "sentiment", "wrong": True}).json()
    sure = [row["confidence"] for row in api["items"]]
    assert sure == sorted(sure, reverse=True)
    assert all(row["target"] != row["said"] and row["off"] == 1 for row in api["items"])
    html = _page(client, f"/admin/training/runs/{judged.run_id}")
    section = html[html.index("Most confidently wrong") :]
    linked = [int(seq) for seq in re.findall(r'href="[^"]*items/(\d+)"', section)]
    assert linked[:8] == [row["item"] for row in api["items"][:8]]
    assert f"All {api['count']} wrong items" in _text(section)
    right = 1 - judged.scores["sentiment"]["test"]["accuracy"]
    assert api["count"] == pytest.approx(right * len(SEQS))


def test_items_are_listed_in_pages_that_miss_and_repeat_none(client: TestClient, judged: Run) -> None:
    seen, offset = [], 0
    while offset is not None:
        params = {"scheme": "sentiment", "limit": 30, "offset": offset}
        answer = client.get(f"{API}/runs/{judged.run_id}/held-out", params=params).json()
        seen += [row["item"] for row in answer["items"]]
        offset = answer["next"]
    assert sorted(seen) == list(SEQS)
    first = _page(client, f"/admin/training/runs/{judged.run_id}/items?scheme=sentiment")
    [more] = re.findall(r'href="(\?[^"]+)">More', first)
    assert "Before" in _text(_page(client, f"/admin/training/runs/{judged.run_id}/items{more}"))


def test_a_scheme_that_the_run_has_not_is_refused(client: TestClient, judged: Run) -> None:
    answer = client.get(f"{API}/runs/{judged.run_id}/held-out", params={"scheme": "mood"})
    assert (answer.status_code, answer.json()["code"]) == (400, "unknown_scheme")


def test_an_items_page_tells_what_people_and_models_said_of_it(client: TestClient, judged: Run, lab: Lab) -> None:
    lab.label({"i3": "mixed"}, user="ann")
    lab.label({"i3": "negative"}, user="<b>Zoë</b>")
    text = _text(_page(client, "/admin/items/4"))
    assert "text 3" in text
    assert "sentiment ann mixed" in text
    html = client.get("/admin/items/4", headers={"Accept": "text/html"}).text
    assert "&lt;b&gt;Zoë&lt;/b&gt;" in html
    assert judged.run_id in html
    with lab.database.read() as connection:
        [row] = [row for row in held_out.page(connection, Which(judged.run_id, "sentiment"), 100) if row.item == 4]
    assert f"{row.said} {row.confidence:.0%}".replace("%", "") in text.replace("\u00a0%", "")
    assert "held out for scoring" in text


def test_an_item_is_found_by_its_id_and_an_unknown_one_is_said_to_be_none(client: TestClient) -> None:
    assert client.get("/admin/item", params={"id": "i3"}).headers["location"].endswith("items/4")
    for path in ("/admin/item?id=nobody", "/admin/items/999", "/admin/items/0"):
        assert client.get(path, headers={"Accept": "text/html"}).status_code == 404
    del client.headers["X-API-Key"]
    assert client.get("/admin/items/4").status_code == 401


def test_a_curve_is_asked_for_from_the_page_and_waits_in_the_queue(client: TestClient, judged: Run, lab: Lab) -> None:
    path = f"/admin/training/runs/{judged.run_id}"
    assert f'data-curve="{judged.run_id}"' in _page(client, path)
    answer = client.post(f"{API}/runs/{judged.run_id}/learning-curve")
    assert answer.status_code == 202
    with lab.database.read() as connection:
        assert [run.run_id for run in runs.queue(connection)] == answer.json()["runs"]
    text = _text(_page(client, path))
    assert "3 of its runs have not ended yet" in text
    assert "data-curve=" not in _page(client, path)
    assert "learning curve, 25 % of the labels" in _text(_page(client, "/admin/training"))
    again = client.post(f"{API}/runs/{judged.run_id}/learning-curve")
    assert (again.status_code, again.json()["code"]) == (409, "no_curve")


def test_the_curve_is_drawn_with_its_verdict_and_its_table(client: TestClient, judged: Run, lab: Lab) -> None:
    with lab.database.write() as connection:
        points = scenes.curve(connection, judged, SEQS, [0.4, 0.5, 0.6])
    html = _page(client, f"/admin/training/runs/{judged.run_id}")
    section = html[html.index('aria-label="Learning curve"') :]
    for run in (*points, judged):
        primary = run.scores["sentiment"]["primary"]
        low, high = primary["interval"]
        assert f"{primary['value']:.3f} {low:.3f} to {high:.3f}" in _text(section).replace("  ", " ")
    gain = points[-1].scores["sentiment"]["to_whole"]
    assert f"{signed(gain['interval'][0])} to {signed(gain['interval'][1])}" in _text(section)
    assert "A point of a learning curve: trained on 25" in _text(
        _page(client, f"/admin/training/runs/{points[0].run_id}")
    )


@pytest.mark.parametrize(
    ("name", "interval", "better", "says"),
    [
        (
            "macro_f1",
            [0.01, 0.05],
            "higher",
            "Yes, the last quarter of the labels still gained: macro F1 got better by 0.03",
        ),
        ("kappa", [-0.01, 0.07], "higher", "Not measurably: with the last quarter of the labels Cohen's kappa changed"),
        ("mae", [0.01, 0.05], "lower", "No, with the last quarter of the labels mean absolute error got worse by 0.03"),
    ],
)
def test_the_verdict_says_whether_the_last_quarter_still_gained(
    name: str, interval: Any, better: str, says: str
) -> None:
    gain = {"name": name, "better": better, "difference": 0.03, "interval": interval, "items": 150, "reason": None}
    assert gain_sentence(gain).startswith(says)


def test_two_runs_are_compared_on_the_items_that_both_were_scored_on(client: TestClient, judged: Run, lab: Lab) -> None:
    with lab.database.write() as connection:
        other = scenes.judged(connection, 6, range(31, 121), right=0.5)
    assert f'<option value="{other.run_id}"' in _page(client, f"/admin/training/runs/{judged.run_id}")
    answer = client.get(f"{API}/runs/{judged.run_id}/comparison", params={"with": other.run_id}).json()
    found = answer["schemas"]["sentiment"]
    said = [{row.item: row for row in scenes.answers(*args)} for args in ((SEQS, 0.8, 5), (range(31, 121), 0.5, 6))]
    shared = sorted(said[0].keys() & said[1].keys())
    assert found["items"] == len(shared) == 70
    differing = [seq for seq in shared if said[0][seq].said != said[1][seq].said]
    assert found["differing"] == len(differing)
    assert {row["item"] for row in found["differ"]} <= set(differing)
    part = _text(_page(client, f"/admin/training/runs/{judged.run_id}/compare/figures?with={other.run_id}"))
    for figure in (f"{found['one']:.3f}", f"{found['other']:.3f}", signed(found["difference"])):
        assert figure in part
    assert compared_sentence(found).replace("\u00a0", " ") in part
    turned = client.get(f"{API}/runs/{other.run_id}/comparison", params={"with": judged.run_id}).json()
    assert turned["schemas"]["sentiment"]["difference"] == pytest.approx(-found["difference"])


def test_runs_that_share_no_scheme_are_not_compared(client: TestClient, judged: Run, lab: Lab) -> None:
    with lab.database.write() as connection:
        training_scenes.add(connection, training_scenes.run(9, State.SUCCESS, schemas=["topics"]))
    answer = client.get(
        f"{API}/runs/{judged.run_id}/comparison",
        params={"with": training_scenes.run(9, State.SUCCESS).run_id},
    )
    assert (answer.status_code, answer.json()["code"]) == (409, "not_comparable")


class TestAfterTheSchemeHasChanged:
    """What models said is stored as it was; it is compared and told in the scheme as it is now."""

    def compared(self, lab: Lab, one: list[tuple[Any, Any]], other: list[tuple[Any, Any]]) -> dict[str, Any]:
        """Two runs, the other one newer, with what people and they said of the first items."""
        made = [training_scenes.run(number, State.SUCCESS) for number in (5, 6)]
        with lab.database.write() as connection:
            for run, said in zip(made, (one, other), strict=True):
                rows = [HeldOut(seq, *pair, None, None, 7.0, None) for seq, pair in enumerate(said, 1)]
                training_scenes.add(connection, run)
                held_out.put(connection, run.run_id, "sentiment", rows)
        args = {"one": made[0].run_id, "other": made[1].run_id}
        found: dict[str, Any] = compare(lab.project, lab.database, args)["sentiment"]
        return found

    def asking(self, folder: Path, **scheme: Any) -> Lab:
        return Lab(folder / "other", 20, annotation_schemes=[{"name": "sentiment", "description": "?", **scheme}])

    def test_old_names_are_right_where_the_new_ones_are(self, tmp_path: Path) -> None:
        lab = self.asking(
            tmp_path, annotation_type="radio", labels=["good", "bad"], label_renames={"fine": "good", "poor": "bad"}
        )
        old = [("fine", "fine"), ("poor", "poor"), ("fine", "poor")]
        new = [("good", "good"), ("bad", "bad"), ("good", "good")]
        found = self.compared(lab, old, new)
        assert (found["items"], found["differing"], found["other"]) == (3, 1, 1.0)
        [row] = found["differ"]
        assert (row["target"], row["one"], row["other"]) == ("good", "bad", "good")
        assert (row["one_off"], row["other_off"]) == (1, 0)

    def test_answers_that_do_not_fit_any_more_are_left_out(self, tmp_path: Path) -> None:
        lab = self.asking(tmp_path, annotation_type="likert")
        found = self.compared(lab, [("good", "good"), ("good", "bad")], [(3, 3), (4, 5)])
        assert (found["items"], found["difference"], found["differ"]) == (0, None, [])
        assert "no item was held out from both" in compared_sentence(found)

    def test_how_far_off_is_measured_from_the_answer_that_is_shown(self, tmp_path: Path) -> None:
        """People's answer was 1 when the older run was scored, and is 5 now."""
        lab = self.asking(tmp_path, annotation_type="likert")
        found = self.compared(lab, [(1, 1), (3, 4), (2, 2)], [(5, 5), (3, 3), (2, 2)])
        listed = [(row["item"], row["target"], row["one_off"], row["other_off"]) for row in found["differ"]]
        assert listed == [(1, 5, 4, 0), (2, 3, 1, 0)]

    def test_another_order_is_no_other_answer(self, tmp_path: Path) -> None:
        lab = self.asking(tmp_path, annotation_type="multiselect", labels=["x", "y"])
        both, turned = ["x", "y"], ["y", "x"]
        found = self.compared(lab, [(both, turned), (["x"], ["x"])], [(both, both), (["x"], ["y"])])
        assert (found["items"], found["differing"], [row["item"] for row in found["differ"]]) == (2, 1, [2])

    @pytest.mark.parametrize(
        "scheme",
        [
            {"annotation_type": "span", "labels": ["positive"]},
            {"annotation_type": "slider"},
            {"annotation_type": "multiselect", "labels": ["positive"]},
            {"annotation_type": "pairwise"},
        ],
    )
    def test_every_page_opens_still(self, lab: Lab, judged: Run, scheme: dict[str, Any]) -> None:
        with lab.database.write() as connection:
            other = scenes.judged(connection, 6, SEQS, right=0.5)
            stored = [Stored(4, "sentiment", "mixed", 0.9, None, None)]
            predictions.add(connection, other.run_id, stored)
        lab.label({"i3": "mixed"}, user="ann")
        lab.write({**lab.config, "annotation_schemes": [{"name": "sentiment", "description": "?", **scheme}]})
        run = f"/admin/training/runs/{judged.run_id}"
        with served(lab) as client:
            for path in (run, f"{run}/items?scheme=sentiment"):
                assert "negative" in _page(client, path)
            assert "no item was held out from both" in _page(client, f"{run}/compare/figures?with={other.run_id}")
            assert "sentiment ann mixed" in _text(_page(client, "/admin/items/4"))


def test_an_items_page_says_live_only_of_what_annotators_are_shown(client: TestClient, lab: Lab) -> None:
    at = to_text(training_scenes.NOW)
    run = training_scenes.succeeded(5)
    with lab.database.write() as connection:
        training_scenes.add(connection, run)
        said = {1: "positive", 2: "positive", 3: "positive", 4: "positive", 5: "gone"}
        gates = {4: HIDDEN}
        rows = [Stored(item, "sentiment", answer, 0.9, None, gates.get(item)) for item, answer in said.items()]
        predictions.add(connection, run.run_id, rows)
        predictions.set_live(connection, run.run_id, ["sentiment"], at)
        verdict = {"run_id": run.run_id, "scheme": "sentiment", "payload": "positive", "verdict": "reject"}
        connection.execute(tables.verdicts.insert().values(item=2, user="rev", at=at, **verdict))
        predictions.record_trained(connection, run.run_id, "sentiment", ["i2"])
    wanted = ["live", "a reviewer rejected", "was trained on", "hidden, to measure", "does not take this answer"]
    for item, words in enumerate(wanted, 1):
        text = _text(_page(client, f"/admin/items/{item}"))
        row = text[text.index("What models said") :]
        assert words in row
        assert item == 1 or " live " not in row
