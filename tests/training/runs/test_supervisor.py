"""Runs from the request to their end, with a fake trainer in a real worker."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest

from lab import FAST, SENTIMENT, Lab, finished, wait_for
from potato.errors import PotatoError
from potato.store import tables
from potato.store.training import predictions
from potato.store.training.runs import Run, State, UnknownRun
from potato.training.backends import UnknownBackend
from potato.training.bundle.enough import NotEnoughLabels
from potato.training.contract.events import read_lines
from potato.training.runs.journal import Journal
from potato.training.runs.model import as_json
from potato.training.runs.request import BadParam, RunRequest, TrainerDoesNotFit, UnknownScheme, UnknownTrainer
from potato.training.runs.supervisor import RunIsOver, Supervisor
from potato.training.worker import launch

WRITEBACK = {"writeback": {"schemas": ["sentiment"], "include_unlabeled": True}}


def start(supervisor: Supervisor, trainer: str = "fake", **params: Any) -> str:
    return supervisor.submit(RunRequest(trainer, ["sentiment"], params=params)).run_id


def error_of(run: Run) -> dict[str, Any]:
    assert run.state is State.ERROR
    assert run.error is not None
    return run.error


class TestARequestThatDoesNotHold:
    """Refused before anything is started."""

    @pytest.mark.parametrize(
        ("request_", "refusal", "sentence", "status"),
        [
            (RunRequest("magic", ["sentiment"]), UnknownTrainer, "there is no trainer 'magic'", 400),
            (RunRequest("fake", ["mood"]), UnknownScheme, "there is no scheme 'mood'; the project has sentiment", 400),
            (RunRequest("fake", []), UnknownScheme, "a run needs at least one scheme", 400),
            (RunRequest("fake", ["sentiment"], params={"sed": 1}), BadParam, "has no param 'sed'", 400),
            (RunRequest("fake", ["sentiment"], params={"seconds": -1}), BadParam, "is at least 0", 400),
            (RunRequest("fake-picky", ["stars"]), TrainerDoesNotFit, "it learns nominal schemes", 400),
            (RunRequest("fake-picky", ["sentiment"]), TrainerDoesNotFit, "cannot run on 'local' (local)", 400),
            (RunRequest("fake", ["sentiment"], "nowhere"), UnknownBackend, "There is no backend 'nowhere'", 409),
            (RunRequest("fake", ["stars"]), NotEnoughLabels, "Not enough labels to train 'stars': 0 of 4", 400),
        ],
    )
    def test_is_refused_with_a_sentence(
        self, make_lab: Callable[..., Lab], request_: RunRequest, refusal: type[PotatoError], sentence: str, status: int
    ) -> None:
        stars = {"annotation_type": "likert", "name": "stars", "description": "How many?"}
        lab = make_lab(annotation_schemes=[SENTIMENT, stars])
        with lab.supervisor(start=False, tasks=False) as supervisor:
            with pytest.raises(refusal) as caught:
                supervisor.submit(request_)
            assert sentence in caught.value.message
            assert caught.value.status == status
            assert supervisor.list() == []

    def test_one_class_is_refused_within_a_second(self, make_lab: Callable[..., Lab]) -> None:
        """annotation 40"""
        lab = make_lab(labelled=None)
        lab.label(dict.fromkeys(lab.ids, "positive"))
        with lab.supervisor(start=False, tasks=False) as supervisor:
            began = time.process_time()
            with pytest.raises(NotEnoughLabels, match="labels in the training split are 'positive', and at least 2"):
                start(supervisor)
            assert time.process_time() - began < 1.0


def test_a_run_records_everything(make_lab: Callable[..., Lab]) -> None:
    lab = make_lab(60, 40, model_training=WRITEBACK)
    with lab.supervisor() as supervisor:
        request = RunRequest("fake", ["sentiment"], params={"does": "succeed"}, trigger="manual", started_by="ann")
        run_id = supervisor.submit(request).run_id
        run = as_json(finished(supervisor, run_id))
    assert run["state"] == "success"
    assert run["error"] is None
    assert (run["trigger"], run["started_by"], run["backend"], run["backend_type"]) == (
        "manual",
        "ann",
        "local",
        "local",
    )
    assert run["created_at"] <= run["started_at"] <= run["finished_at"]
    assert run["params"]["seconds"] == 0.0  # the default is recorded too
    assert run["counts"]["train"] + run["counts"]["val"] + run["counts"]["test"] == 40
    assert run["counts"]["predict"] == 20
    assert len(run["bundle_digest"]) == 64
    assert run["model_version"].endswith(run_id)
    assert run["label_order"] == {"sentiment": ["positive", "negative"]}
    assert run["device"] == "cpu"
    assert run["progress"]["current"] == run["progress"]["total"] == run["writeback"]["read"]
    assert run["live_schemas"] == ["sentiment"]
    assert run["live_prelabels"] == run["writeback"]["written"] > 0
    json.dumps(run)
    folder = lab.project.runs_dir / run_id
    for name in ("spec.json", "bundle/manifest.json", "events.jsonl", "run.log", "stderr.log", "predictions.jsonl"):
        assert (folder / name).is_file(), name
    assert list((folder / "artifacts").rglob("model.txt"))
    log = (folder / "run.log").read_text("utf-8")
    assert "building the bundle" in log
    assert "the fake begins: succeed" in log


def test_runs_go_one_at_a_time_in_order(make_lab: Callable[..., Lab]) -> None:
    """annotation 48: every run has an id and a folder of its own."""
    lab = make_lab()
    with lab.supervisor() as supervisor:
        run_ids = [start(supervisor, seconds=0.1) for _ in range(3)]
        assert [run.run_id for run in supervisor.list()] == run_ids[::-1]
        runs = [finished(supervisor, run_id) for run_id in run_ids]
        assert len({supervisor.folder(run_id).path for run_id in run_ids}) == 3
        assert [run.run_id for run in supervisor.list(limit=1, before=run_ids[1])] == [run_ids[0]]
    assert all(run.state is State.SUCCESS for run in runs)
    for earlier, later in pairwise(runs):
        assert earlier.finished_at <= later.started_at  # type: ignore[operator]


def test_every_end_has_its_reason(make_lab: Callable[..., Lab]) -> None:
    """annotation 51: a failed run says why, and the queue goes on."""
    lab = make_lab()
    with lab.supervisor() as supervisor:
        failing = start(supervisor, does="fail")
        silent = start(supervisor, does="exit_0")
        killed = start(supervisor, does="killed")
        sound = start(supervisor)
        assert error_of(finished(supervisor, failing)) == {
            "code": "trainer_failed",
            "message": "the fake was told to fail",
            "hint": None,
        }
        error = error_of(finished(supervisor, silent))
        assert error["message"] == "The worker ended with exit code 0 and without a result"
        error = error_of(finished(supervisor, killed))
        assert error["message"] == "The worker was killed by signal 9 (SIGKILL)"
        assert finished(supervisor, sound).state is State.SUCCESS
        log = supervisor.folder(failing).log.read_text("utf-8")
    assert "the fake was told to fail" in log


class TestCancel:
    """annotation 50: at each stage; nothing is left over, and the next run starts."""

    def test_in_the_queue_while_building_and_while_running(self, make_lab: Callable[..., Lab]) -> None:
        lab = make_lab()
        with lab.supervisor() as supervisor:
            running = start(supervisor, seconds=60.0)
            queued = start(supervisor)
            assert supervisor.cancel(queued).state is State.CANCELLED
            wait_for(lambda: supervisor.get(running).progress)
            began = time.monotonic()
            supervisor.cancel(running)
            supervisor.cancel(running)  # repeating is harmless
            assert finished(supervisor, running).state is State.CANCELLED
            assert time.monotonic() - began < 30  # it would have trained for a minute
            assert launch.find_marked(running) == []
            building = start(supervisor)
            wait_for(lambda: supervisor.get(building).state is not State.QUEUED)
            supervisor.cancel(building)
            assert finished(supervisor, building).state is State.CANCELLED
            after = finished(supervisor, start(supervisor))
            assert after.state is State.SUCCESS
            assert supervisor.get(queued).started_at is None
            assert supervisor.cancel(queued).state is State.CANCELLED
            with pytest.raises(RunIsOver):
                supervisor.cancel(after.run_id)
            with pytest.raises(UnknownRun):
                supervisor.cancel("nosuch")

    def test_a_worker_that_does_not_listen_is_killed_after_the_grace(self, make_lab: Callable[..., Lab]) -> None:
        lab = make_lab(model_training={"grace_seconds": 0.5})
        with lab.supervisor() as supervisor:
            deaf = start(supervisor, does="deaf", seconds=60.0)
            wait_for(lambda: supervisor.get(deaf).progress)
            supervisor.cancel(deaf)
            run = finished(supervisor, deaf)
        assert run.state is State.CANCELLED
        assert run.error is None
        assert launch.find_marked(deaf) == []

    def test_its_children_go_with_it(self, make_lab: Callable[..., Lab]) -> None:
        lab = make_lab(model_training={"grace_seconds": 0.5})
        with lab.supervisor() as supervisor:
            run_id = start(supervisor, does="child", seconds=60.0)
            wait_for(lambda: len(launch.find_marked(run_id)) == 2)
            supervisor.cancel(run_id)
            assert finished(supervisor, run_id).state is State.CANCELLED
        assert launch.find_marked(run_id) == []

    def test_while_predictions_are_taken_in_shows_nothing(self, make_lab: Callable[..., Lab]) -> None:
        lab = make_lab(6000, 500, model_training=WRITEBACK)
        with lab.supervisor() as supervisor:
            run_id = start(supervisor)
            wait_for(lambda: supervisor.get(run_id).state is State.EVALUATING or supervisor.get(run_id).is_finished)
            supervisor.cancel(run_id)
            assert finished(supervisor, run_id).state is State.CANCELLED
            assert lab.rows(tables.live_runs.select()) == []
            wait_for(lambda: lab.rows(tables.predictions.select().limit(1)) == [])  # leftovers go


class TestLimits:
    """A run that passes one is stopped as by a cancel, and says which."""

    def test_max_wall_seconds(self, make_lab: Callable[..., Lab]) -> None:
        lab = make_lab(model_training={"max_wall_seconds": 3, "grace_seconds": 0.5})
        with lab.supervisor() as supervisor:
            run_id = start(supervisor, does="deaf", seconds=600.0)
            error = error_of(finished(supervisor, run_id))
        assert error["code"] == "wall_time"
        assert error["message"] == "The run was stopped after 3 seconds (max_wall_seconds)"
        assert launch.find_marked(run_id) == []

    def test_max_ram_mb(self, make_lab: Callable[..., Lab]) -> None:
        lab = make_lab(model_training={"max_ram_mb": 200})
        with lab.supervisor() as supervisor:
            error = error_of(finished(supervisor, start(supervisor, does="eat", seconds=60.0)))
        assert error["code"] == "max_ram"
        assert "more than 200 MB (max_ram_mb)" in error["message"]

    def test_max_predictions_mb(self, make_lab: Callable[..., Lab]) -> None:
        lab = make_lab(400, 60, model_training={**WRITEBACK, "max_predictions_mb": 1})
        with lab.supervisor() as supervisor:
            error = error_of(finished(supervisor, start(supervisor, says="long")))
        assert error["code"] == "predictions_too_large"
        assert "more than 1 MB (max_predictions_mb)" in error["message"]


class TestPredictionsThatAreNotRight:
    """Taken in whole, or not at all."""

    @pytest.mark.parametrize(
        ("says", "sentence"),
        [
            ("other_scheme", "the scheme 'elsewhere', which the run did not train"),
            ("unknown_item", "the item 'no such item', which the project does not have"),
            ("unknown_label", "'no such label' is not a label of 'sentiment'"),
            ("one_item", "twice of the same item and scheme"),
        ],
    )
    def test_leave_nothing_behind(self, make_lab: Callable[..., Lab], says: str, sentence: str) -> None:
        lab = make_lab(model_training=WRITEBACK)
        with lab.supervisor() as supervisor:
            error = error_of(finished(supervisor, start(supervisor, says=says)))
        assert error["code"] == "predictions_refused"
        assert sentence in error["message"]
        assert lab.rows(tables.predictions.select()) == []
        assert lab.rows(tables.live_runs.select()) == []


def test_a_new_model_replaces_the_old_at_once_and_withdrawing_takes_its_prelabels(make_lab: Callable[..., Lab]) -> None:
    """annotation 49"""
    lab = make_lab(60, 40, model_training=WRITEBACK)
    with lab.supervisor() as supervisor:
        first = finished(supervisor, start(supervisor, answer="positive"))
        failed = finished(supervisor, start(supervisor, does="fail"))
        assert failed.state is State.ERROR
        assert supervisor.get(first.run_id).live == ["sentiment"]  # the old one serves until a new one is complete
        second = finished(supervisor, start(supervisor, answer="negative"))
        assert supervisor.get(first.run_id).live == []
        shown = lab.rows(tables.predictions.select().where(tables.predictions.c.gate.is_(None)))
        item = shown[0].item
        suggestion = supervisor.records.read(
            lambda connection: predictions.suggestions(connection, item, lab.project.schemes)
        )["sentiment"]
        assert (suggestion.run_id, suggestion.payload, suggestion.confidence) == (second.run_id, "negative", 0.9)
        assert suggestion.model_version == second.model_version
        assert supervisor.withdraw(second.run_id) == second.writeback["written"]  # type: ignore[index]
        assert supervisor.withdraw(second.run_id) == 0
        assert (
            supervisor.records.read(lambda connection: predictions.suggestions(connection, item, lab.project.schemes))
            == {}
        )
        with pytest.raises(UnknownRun):
            supervisor.withdraw("nosuch")


def test_old_runs_lose_their_files_but_live_ones(make_lab: Callable[..., Lab]) -> None:
    lab = make_lab(60, 40, model_training={**WRITEBACK, "retain_runs": 1})
    with lab.supervisor() as supervisor:
        live = finished(supervisor, start(supervisor)).run_id
        older, newer = (finished(supervisor, start(supervisor, does="fail")).run_id for _ in range(2))
        wait_for(lambda: supervisor.get(older).files_removed)
        assert not supervisor.get(live).files_removed
        assert not supervisor.get(newer).files_removed
        wait_for(lambda: not supervisor.folder(older).path.exists())
        assert supervisor.folder(live).artifacts.exists()
        assert supervisor.get(older).state is State.ERROR  # what is recorded stays


def test_a_flood_of_events_is_applied_whole(make_lab: Callable[..., Lab]) -> None:
    lab = make_lab()
    with lab.supervisor() as supervisor:
        run = finished(supervisor, start(supervisor, does="flood"))
        folder = supervisor.folder(run.run_id)
    assert run.state is State.SUCCESS
    assert run.applied == folder.events.stat().st_size
    events, _ = read_lines(folder.events.read_bytes())
    assert [event.fields["msg"] for event in events if event.name == "log"][-1] == "line 19999"
    assert folder.log.read_text("utf-8").count("  line ") == 20000


@pytest.mark.filterwarnings("ignore:subprocess .* is still running")  # that is what it is about
def test_a_closing_server_leaves_the_worker_and_the_next_follows_it(make_lab: Callable[..., Lab]) -> None:
    lab = make_lab()
    with lab.supervisor() as supervisor:
        run_id = start(supervisor, seconds=3.0)
        wait_for(lambda: supervisor.get(run_id).progress)
    assert lab.run(run_id).state is State.RUNNING
    assert launch.find_marked(run_id)
    with lab.supervisor(FAST) as supervisor:
        assert finished(supervisor, run_id).state is State.SUCCESS


def test_a_waiting_run_whose_scheme_is_gone_ends_with_the_reason(make_lab: Callable[..., Lab]) -> None:
    lab = make_lab()
    run_id = lab.submit()
    lab.write({**lab.config, "annotation_schemes": [{**SENTIMENT, "name": "mood"}]})
    with lab.supervisor() as supervisor:
        error = error_of(finished(supervisor, run_id))
    assert error["code"] == "unknown_scheme"
    assert error["message"] == "the project has no scheme 'sentiment' any more"


@pytest.mark.filterwarnings("ignore:subprocess .* is still running")  # between the two servers
@pytest.mark.parametrize("does", ["succeed", "deaf"])
def test_a_run_whose_scheme_is_gone_leaves_no_worker(make_lab: Callable[..., Lab], does: str) -> None:
    lab = make_lab(model_training={"grace_seconds": 0.5})
    with lab.supervisor() as supervisor:
        run_id = start(supervisor, does=does, seconds=60.0)
        wait_for(lambda: supervisor.get(run_id).progress)
    assert launch.find_marked(run_id)
    lab.write({**lab.config, "annotation_schemes": [{**SENTIMENT, "name": "mood"}]})
    with lab.supervisor() as supervisor:
        error = error_of(finished(supervisor, run_id))
        assert launch.find_marked(run_id) == []
    assert error["code"] == "unknown_scheme"


def test_a_fault_of_the_servers_own_leaves_no_worker(
    make_lab: Callable[..., Lab], monkeypatch: pytest.MonkeyPatch
) -> None:
    lab = make_lab(model_training={"grace_seconds": 0.5})
    with lab.supervisor() as supervisor:
        run_id = start(supervisor, seconds=60.0)
        wait_for(lambda: supervisor.get(run_id).progress)
        monkeypatch.setattr(Journal, "pull", lambda journal: 1 / 0)
        error = error_of(finished(supervisor, run_id))
        assert launch.find_marked(run_id) == []
    assert "division by zero" in error["message"]
