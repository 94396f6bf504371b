"""The training page and the run page, as HTML."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from starlette.testclient import TestClient

import training_scenes as scenes
from potato.project import Project
from potato.store import Database
from potato.store.training.runs import Run, State
from potato.store.training.suggestion_use import Use

MINUS = "\u2212"
EVIL = "<img src=x onerror=alert(1)> a<b && c </script>"
ESCAPED = "&lt;img src=x onerror=alert(1)&gt; a&lt;b &amp;&amp; c &lt;/script&gt;"


def _page(client: TestClient, path: str) -> str:
    answer = client.get(path, headers={"Accept": "text/html"})
    assert answer.status_code == 200, answer.text
    return answer.text


def _run_page(client: TestClient, database: Database, run: Run, live: Run | None = None) -> str:
    with database.write() as connection:
        scenes.add(connection, run, live=live)
    return _page(client, f"/admin/training/runs/{run.run_id}")


def _text(html: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", html))


def test_the_empty_page_says_what_to_do(client: TestClient) -> None:
    text = _text(_page(client, "/admin/training"))
    assert "No run yet. Choose a scheme and a trainer under New run, and start one." in text
    assert "Label some items, or bring labels in with potato import" in text


def test_the_menu_names_every_backend_with_its_type_and_host(client: TestClient) -> None:
    html = _page(client, "/admin/training")
    for label in ("gpu-server (ssh to gpu.example.org)", "lab-workstation (agent", "local (this machine)"):
        assert label in html
    assert re.search(r'<option value="local"[^>]* selected>', html)


def test_the_form_offers_each_trainers_params_with_their_defaults(client: TestClient) -> None:
    html = _page(client, "/admin/training")
    assert 'data-params-of="sklearn-text"' in html
    assert re.search(r'data-param="word_ngrams"[^>]*value="2"', html)


def test_the_table_tells_every_run_with_its_score_and_live_prelabels(client: TestClient, database: Database) -> None:
    best = scenes.succeeded(5)
    with database.write() as connection:
        scenes.add(connection, scenes.run(3, State.ERROR), best, scenes.run(6, State.QUEUED), live=best)
    html = _page(client, "/admin/training")
    [row] = re.findall(rf'<tr data-row="{best.run_id}">.*?</tr>', html, re.DOTALL)
    assert f"{best.scores['sentiment']['primary']['value']:.3f}" in row
    assert "1 min 14 s" in row
    assert _text(row).split()[-1] == "96"
    assert "1 waiting" in _text(html)


def test_a_queued_run_can_be_cancelled_from_the_table(client: TestClient, database: Database) -> None:
    queued = scenes.run(6, State.QUEUED)
    with database.write() as connection:
        scenes.add(connection, queued)
    assert f'data-cancel="{queued.run_id}"' in _page(client, "/admin/training")


def test_older_runs_are_a_page_further(client: TestClient, database: Database) -> None:
    with database.write() as connection:
        scenes.add(connection, *(scenes.run(number, State.ERROR) for number in range(60)))
    first = _page(client, "/admin/training")
    [before] = re.findall(r"\?before=([^\"]+)", first)
    second = _page(client, f"/admin/training?before={before}")
    assert len(re.findall("<tr data-row", first)) == 50
    assert len(re.findall("<tr data-row", second)) == 10


def test_the_run_page_shows_every_figure_with_its_yardsticks(client: TestClient, database: Database) -> None:
    run = scenes.succeeded(5)
    text = _text(_run_page(client, database, run))
    score = run.scores["sentiment"]
    for value in (
        score["test"]["accuracy"],
        score["test"]["macro_f1"],
        score["test"]["kappa"],
        score["baseline"]["accuracy"],
        score["val"]["accuracy"],
        *score["primary"]["interval"],
    ):
        assert f"{value:.3f}" in text
    assert "majority class 'positive'" in text.replace("&#39;", "'")
    assert f"{score['agreement']['raw']:.1%}" in text
    assert "was used to choose the model" in text


def test_the_confusion_matrix_has_a_cell_for_each_pair(client: TestClient, database: Database) -> None:
    run = scenes.succeeded(5)
    html = _run_page(client, database, run)
    [table] = re.findall(r'<table class="confusion">.*?</table>', html, re.DOTALL)
    cells = [int(cell) for cell in re.findall(r'<td class="num heat-\d[^>]*>(\d+)</td>', table)]
    assert cells == [count for row in run.scores["sentiment"]["test"]["confusion"]["matrix"] for count in row]


def test_a_run_that_was_not_evaluated_shows_no_figure(client: TestClient, database: Database) -> None:
    """annotation 43"""
    text = _text(_run_page(client, database, scenes.succeeded(5, held_out=0)))
    assert "Not evaluated: no held-out item." in text
    assert "0.000" not in text
    assert "1.000" not in text


def test_a_class_without_held_out_example_has_no_score(client: TestClient, database: Database) -> None:
    """annotation 39"""
    run = scenes.succeeded(5)
    row = {"precision": None, "recall": None, "f1": None, "support": 0}
    run.scores["sentiment"]["test"]["per_class"]["mixed"] = row
    assert "no held-out example" in _text(_run_page(client, database, run))


def test_the_writeback_report_counts_every_gate(client: TestClient, database: Database) -> None:
    run = scenes.succeeded(5)
    text = _text(_run_page(client, database, run, live=run))
    assert "Predictions read 231" in text
    assert f"measured by {MINUS}51" in text
    assert f"less sure than min_confidence (0.6) {MINUS}84" in text
    assert "May be shown as suggestions 96" in text
    assert "96 pre-labels are live now" in text


def test_a_failed_run_says_what_happened_what_is_kept_and_what_to_do(client: TestClient, database: Database) -> None:
    error = {
        "code": "wall_time",
        "message": "The run was stopped after 60 seconds (max_wall_seconds)",
        "hint": "raise it",
    }
    text = _text(_run_page(client, database, scenes.run(5, State.ERROR, error=error)))
    order = [text.index(part) for part in (error["message"], "are as they were", "raise it")]
    assert order == sorted(order)


@pytest.mark.parametrize("state", list(State))
def test_every_state_has_a_page(client: TestClient, database: Database, state: State) -> None:
    html = _run_page(client, database, scenes.run(5, state))
    assert f">{state.value}</span>" in html
    assert ("Cancel run" in html) == (state in (State.QUEUED, State.BUILDING, State.RUNNING, State.EVALUATING))


def test_a_run_whose_backend_left_the_project_still_has_a_page(client: TestClient, database: Database) -> None:
    run = scenes.run(5, State.ERROR, backend="old-gpu", backend_type="ssh")
    assert "old-gpu (ssh), no longer in the project" in _text(_run_page(client, database, run))


def test_markup_is_shown_as_it_is_written(client: TestClient, database: Database, project: Project) -> None:
    """annotation 17"""
    run = replace(
        scenes.succeeded(5),
        step=EVIL,
        device=EVIL,
        host=EVIL,
        started_by=EVIL,
        params={EVIL: EVIL},
        metrics={EVIL: 1.5},
        model_version=EVIL,
        warnings=[EVIL],
        error={"code": "x", "message": EVIL, "hint": EVIL},
    )
    test = run.scores["sentiment"]["test"]
    test["per_class"] = {EVIL: test["per_class"]["positive"]}
    test["confusion"]["labels"] = [EVIL, "a", "b"]
    run.scores["sentiment"]["baseline"]["name"] = EVIL
    folder = scenes.write_course(project, run.run_id, lines=[EVIL])
    (folder.artifacts / "a<b>.bin").write_bytes(b"")
    for path in (f"/admin/training/runs/{run.run_id}", "/admin/training"):
        html = _run_page(client, database, run) if "runs/" in path else _page(client, path)
        assert "<img" not in html
        assert ESCAPED in html


def test_pages_under_a_prefix_name_no_address_from_the_root(client: TestClient, database: Database) -> None:
    run = scenes.succeeded(5)
    html = _run_page(client, database, run) + _page(client, "/admin/training")
    assert not re.findall(r'(?:href|src|action|data-api)="/', html)


def test_without_admin_rights_there_is_no_page(client: TestClient) -> None:
    del client.headers["X-API-Key"]
    for path in ("/admin/training", "/admin/training/runs/x"):
        assert client.get(path, headers={"Accept": "text/html"}).status_code == 401


def test_a_model_that_stayed_elsewhere_can_be_copied_from_its_page(
    client: TestClient, database: Database, project: Project
) -> None:
    run = scenes.succeeded(5)
    assert "Copy the model again" not in _run_page(client, database, run)
    folder = scenes.write_course(project, run.run_id)
    folder.copy_note.write_text('{"warnings": []}', "ascii")
    assert f'data-copy="{run.run_id}"' in _page(client, f"/admin/training/runs/{run.run_id}")


def test_the_run_page_says_how_annotators_answered_with_and_without_the_suggestion(
    client: TestClient, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted = {"sentiment": Use(shown=1200, accepted=1050, hidden=10, agreed=6)}
    monkeypatch.setattr("potato.training.web.use.use_of", lambda *_: counted)
    text = _text(_run_page(client, database, scenes.succeeded(5)))
    text = text.replace("\N{NO-BREAK SPACE}", " ").replace("\N{EN DASH}", "-")
    assert "Suggestion shown 1,200 1,050 88 % 86 % to 89 % -" in text
    assert "Suggestion hidden 10 6 60 % 31 % to 83 % -" in text
    assert "Pull +28 points (95 % interval +4 to +56)" in text


@pytest.mark.parametrize(
    ("use", "hide_share", "hint"),
    [
        (Use(shown=12, accepted=10), 0.0, "once some are hidden: writeback.hide_share: 0.1 ."),
        (Use(shown=12, accepted=10), 0.2, "( hide_share ) are answered: no hidden item has been answered yet."),
        (Use(hidden=3, agreed=2), 0.2, "once somebody has answered beside one."),
    ],
)
def test_what_the_pull_still_lacks_is_said(
    client: TestClient,
    database: Database,
    project: Project,
    monkeypatch: pytest.MonkeyPatch,
    use: Use,
    hide_share: float,
    hint: str,
) -> None:
    monkeypatch.setattr("potato.training.web.use.use_of", lambda *_: {"sentiment": use})
    monkeypatch.setitem(vars(project.config.model_training.writeback), "hide_share", hide_share)
    assert hint in _text(_run_page(client, database, scenes.succeeded(5)))
