"""When a run starts by itself, and what is waited for until then."""

from __future__ import annotations

from dataclasses import replace

import pytest

import training_scenes as scenes
from potato.project.training import AutoRetrain
from potato.store.training.runs import Run, State
from potato.training.retraining.decision import Situation, trigger, waits

SETTINGS = AutoRetrain(enabled=True, schemas=["sentiment"], update_frequency=25, min_interval_s=600)
DUE = Situation(changed=25, newest=99, going=False, queued=False, last=None, since_s=None, refused=None)


def sentences(situation: Situation, settings: AutoRetrain = SETTINGS) -> list[str]:
    return [wait.sentence for wait in waits(settings, situation)]


def test_a_run_starts_once_enough_has_changed_and_nothing_is_going() -> None:
    assert sentences(DUE) == []
    assert sentences(replace(DUE, since_s=600.0)) == []


@pytest.mark.parametrize(
    ("situation", "sentence"),
    [
        (replace(DUE, changed=18), "waiting for 7 more annotations"),
        (replace(DUE, changed=24), "waiting for 1 more annotation"),
        (replace(DUE, since_s=188.0), "waiting 412 more seconds since the last run"),
        (replace(DUE, since_s=599.2), "waiting 1 more second since the last run"),
        (replace(DUE, since_s=-5.0), "waiting 600 more seconds since the last run"),
        (replace(DUE, going=True), "a run is going"),
        (replace(DUE, queued=True), "a run waits in the queue"),
    ],
)
def test_every_reason_to_wait_is_said(situation: Situation, sentence: str) -> None:
    assert sentences(situation) == [sentence]


def test_all_reasons_are_said_at_once() -> None:
    assert sentences(replace(DUE, changed=0, since_s=0.0, going=True, queued=True)) == [
        "waiting for 25 more annotations",
        "waiting 600 more seconds since the last run",
        "a run is going",
        "a run waits in the queue",
    ]


def test_nothing_starts_that_is_off_or_has_no_scheme() -> None:
    assert sentences(DUE, SETTINGS.model_copy(update={"enabled": False})) == ["automatic retraining is off"]
    assert sentences(DUE, SETTINGS.model_copy(update={"schemas": []})) == [
        "no scheme is listed under auto_retrain.schemas"
    ]


@pytest.mark.parametrize(
    ("last", "sentence"),
    [
        (None, "25 annotations came in, and no run has trained on sentiment yet"),
        (scenes.run(1, State.ERROR), ", which failed"),
        (
            scenes.succeeded(1),
            f"25 annotations were given, changed or taken back since run {scenes.run(1, State.ERROR).run_id}",
        ),
    ],
)
def test_what_made_a_run_start_is_said(last: Run | None, sentence: str) -> None:
    assert trigger(SETTINGS, replace(DUE, last=last)).endswith(sentence)


def test_what_made_a_run_start_is_no_exact_number_where_not_all_was_counted() -> None:
    since = replace(DUE, more=True, last=scenes.succeeded(1))
    assert trigger(SETTINGS, since).startswith("25 or more annotations were given, changed or taken back since run")
    assert trigger(SETTINGS, replace(DUE, more=True)).startswith("25 or more annotations came in")
    each = SETTINGS.model_copy(update={"update_frequency": 1})
    assert trigger(each, replace(DUE, last=scenes.succeeded(1))).startswith("1 annotation was given")
    assert trigger(each, since).startswith("1 or more annotations were given")
