"""Which model's suggestions are shown, by which rule, and the admin's way past it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lab import Lab, finished, wait_for
from potato.store import tables
from potato.store.training import predictions, retraining
from potato.store.training.runs import Run, State
from potato.training.runs.model import as_json
from potato.training.runs.request import RunRequest
from potato.training.runs.showing import NothingToShow
from potato.training.runs.supervisor import Supervisor

WRITEBACK = {"schemas": ["sentiment"], "include_unlabeled": True}


def train(supervisor: Supervisor, **params: Any) -> Run:
    """A run of the trainer that says the same of every item; items may hold a better guess."""
    return finished(supervisor, supervisor.submit(RunRequest("fake", ["sentiment"], params=params)).run_id)


def log(lab: Lab) -> list[tuple[str, str, str | None]]:
    with lab.database.read() as connection:
        return [(each.kind, each.sentence, each.run_id) for each in reversed(retraining.decided(connection))]


def shown(lab: Lab) -> dict[str, str]:
    """Item → whose suggestion an annotator would see."""
    with lab.database.read() as connection:
        return {
            name: said.run_id
            for _, name, _, said in predictions.all_suggestions(connection, "sentiment", lab.project.schemes)
        }


def guessing(count: int) -> list[dict[str, str]]:
    """Items that tell the fake trainer the right answer, by turns."""
    return [{"id": f"i{n}", "text": f"text {n}", "guess": ("positive", "negative")[n % 2]} for n in range(count)]


def test_a_model_that_is_refused_says_by_which_rule_and_the_live_one_stays(make_lab: Callable[..., Lab]) -> None:
    """annotation 52: both scores on the same held-out items, the rule, and the verdict."""
    lab = make_lab(guessing(60), model_training={"writeback": {**WRITEBACK, "max_drop": 0.1}})
    with lab.supervisor() as supervisor:
        good = train(supervisor)
        with lab.database.write() as connection:  # the next model guesses worse
            connection.execute(tables.items.update().values(fields={}))
        bad = train(supervisor)
    assert (good.live, bad.live) == (["sentiment"], [])
    assert set(shown(lab).values()) == {good.run_id}
    entry = as_json(bad)["writeback"]["by_scheme"]["sentiment"]
    assert entry["takes_over"] is False
    assert entry["rule"] == {"figure": "macro_f1", "min_score": None, "max_drop": 0.1}
    compared = entry["compared"]
    assert (compared["live_run"], compared["figure"], compared["live"]) == (good.run_id, "macro_f1", 1.0)
    assert compared["items"] == bad.scores["sentiment"]["test"]["n"]
    assert compared["new"] == pytest.approx(bad.scores["sentiment"]["primary"]["value"])
    [first, second] = log(lab)
    assert first == (
        "took_over",
        "'sentiment': this model's suggestions are shown from now on: its macro f1 is 1.000",
        good.run_id,
    )
    assert second[0::2] == ("not_taken_over", bad.run_id)
    assert f"max_drop allows 0.1; those of run {good.run_id} stay" in second[1]


def test_an_admin_may_show_a_refused_run_anyway_and_it_is_recorded(make_lab: Callable[..., Lab]) -> None:
    """annotation 52: the override."""
    lab = make_lab(model_training={"writeback": {**WRITEBACK, "min_score": 0.99}})
    with lab.supervisor() as supervisor:
        run = train(supervisor)
        assert (run.live, run.shown, shown(lab)) == ([], 0, {})
        refused = as_json(run)["writeback"]
        after = supervisor.show(run.run_id, "mira")
        again = supervisor.show(run.run_id, "someone else")
    passed = refused["by_scheme"]["sentiment"]["passed"]
    assert after.live == ["sentiment"]
    assert after.shown == len(shown(lab)) == passed > 0
    report = as_json(again)["writeback"]
    assert report["written"] == passed
    assert report["skipped"]["low_score"] == 0
    assert report["written"] + sum(report["skipped"].values()) == report["read"]
    assert report["reason"] == refused["reason"]
    assert report["by_scheme"]["sentiment"]["shown_anyway"]["by"] == "mira"
    assert [kind for kind, *_ in log(lab)] == ["not_taken_over", "shown_anyway"]
    assert "mira had this model's suggestions shown although the macro f1 of 'sentiment' is" in log(lab)[1][1]


def test_an_earlier_models_suggestions_come_back_by_one_action(make_lab: Callable[..., Lab]) -> None:
    """annotation 62: withdrawn, and rolled back, by version."""
    lab = make_lab(model_training={"writeback": WRITEBACK})
    with lab.supervisor() as supervisor:
        first, second = train(supervisor), train(supervisor)
        assert first.model_version != second.model_version
        assert set(shown(lab).values()) == {second.run_id}
        assert supervisor.show(first.run_id, "mira").live == ["sentiment"]
        assert set(shown(lab).values()) == {first.run_id}
        assert supervisor.withdraw(first.run_id) == first.writeback["written"]  # type: ignore[index]
        assert shown(lab) == {}
        assert supervisor.show(second.run_id, "mira").shown == len(shown(lab)) > 0


@pytest.mark.parametrize(
    ("training", "params", "reason"),
    [
        ({"writeback": {}}, {}, "its schemes are not listed under writeback.schemas"),
        ({"writeback": WRITEBACK}, {"does": "fail"}, "it is 'error'"),
        ({"writeback": {**WRITEBACK, "min_confidence": 1.0}}, {}, "none of its predictions passed the other gates"),
    ],
)
def test_a_run_without_suggestions_is_not_shown(
    make_lab: Callable[..., Lab], training: dict[str, Any], params: dict[str, Any], reason: str
) -> None:
    lab = make_lab(model_training=training)
    with lab.supervisor() as supervisor:
        run = train(supervisor, **params)
        with pytest.raises(NothingToShow, match=reason):
            supervisor.show(run.run_id, "mira")
    assert shown(lab) == {}
    assert "shown_anyway" not in [kind for kind, *_ in log(lab)]


@pytest.mark.filterwarnings("ignore:subprocess .* is still running")  # that is what it is about
def test_a_long_prediction_is_work_in_the_background_that_a_restart_takes_up(
    make_lab: Callable[..., Lab], tmp_path: Path
) -> None:
    """annotation 60: asked for in a moment, with its progress, and nothing is predicted twice."""
    lab = make_lab(model_training={"writeback": WRITEBACK})
    go_on = tmp_path / "go-on"
    with lab.supervisor() as supervisor:
        request = RunRequest("fake", ["sentiment"], params={"predict_when": str(go_on)})
        run_id = supervisor.submit(request).run_id
        wait_for(lambda: supervisor.get(run_id).state is State.RUNNING, 60)
        assert shown(lab) == {}
    with lab.supervisor() as supervisor:
        go_on.touch()
        run = finished(supervisor, run_id)
    assert (run.state, run.attempt) == (State.SUCCESS, 1)
    assert run.progress is not None
    assert run.progress["current"] == run.progress["total"] == run.writeback["read"]  # type: ignore[index]
    stored = lab.rows(tables.predictions.select())
    assert len(stored) == len({row.item for row in stored}) == run.progress["total"]
