"""A job by hand: `python -m potato.training.worker SPEC.json`."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from jobs import Job, environment
from lab import wait_for
from potato.training.contract.exits import Exit
from potato.training.worker import launch

Make = Callable[..., Job]


def test_a_job_ends_with_its_result(job: Make) -> None:
    made = job()
    assert made.run() == Exit.FINISHED == made.exit_code()
    result = made.events()[-1]
    assert result.name == "result"
    content = (made.work / "predictions.jsonl").read_bytes()
    assert result.fields == {
        "status": "success",
        "metrics": {"s": {"val_luck": 0.5}},
        "model_version": f"strange@{made.run_id}",
        "label_order": {"s": ["a", "b"]},  # a label that nobody used is no class of the model
        "predictions_file": "predictions.jsonl",
        "predictions_sha256": hashlib.sha256(content).hexdigest(),
        "predictions_bytes": len(content),
        "n_predictions": 6,
        "device": "cpu",
        "notes": [],
    }


def test_val_test_and_unlabelled_items_are_predicted_in_the_bundles_order(job: Make) -> None:
    made = job()
    made.run()
    assert [prediction.instance_id for prediction in made.predictions()] == ["v", "e1", "e2", "p0", "p1", "p2"]


def test_it_says_what_it_does(job: Make) -> None:
    made = job()
    made.run()
    steps = [event.fields["step"] for event in made.events("status")]
    assert steps == [
        "starting the worker",
        "reading the bundle",
        "training on CPU",
        "training 's' with strange",
        "saving the model of 's'",
        "predicting 's'",
    ]
    assert made.events("metric")[0].fields == {"split": "val", "name": "luck", "value": 0.5, "step": 1, "scheme": "s"}
    assert made.events("progress")[-1].fields["total"] == 6


def test_each_scheme_has_a_model_of_its_own(job: Make) -> None:
    made = job(schemas=("other", "s"))
    made.run()
    artifacts = [(event.fields["path"], event.fields["bytes"]) for event in made.events("artifact")]
    assert artifacts == [
        ("1-other/first.txt", 5),
        ("1-other/sub/second.txt", 1),
        ("2-s/first.txt", 5),
        ("2-s/sub/second.txt", 1),
    ]
    assert [(one.schema_name, one.payload) for one in made.predictions()] == [("other", "x")] * 6 + [("s", "a")] * 6


def test_a_worker_may_be_given_a_folder_of_its_own(job: Make) -> None:
    made = job()
    assert made.run("--folder", str(made.work / "start-2")) == Exit.FINISHED
    assert sorted(path.name for path in made.work.iterdir()) == ["spec.json", "start-2", "stderr.log"]
    assert (made.work / "start-2" / "exit_code").read_text() == "0\n"


def test_threads_are_set_before_a_library_can_look(job: Make) -> None:
    made = job(options={"num_threads": 3})
    made.run()
    assert (made.artifact() / "sub" / "second.txt").read_text() == "3"


def test_what_a_library_prints_goes_to_the_error_log(job: Make) -> None:
    made = job(does="print")
    assert made.run() == Exit.FINISHED
    for line in ("printed by a library", "written to descriptor 1", "printed by a child"):
        assert line in made.stderr()
    assert all(json.loads(line)["v"] == 1 for line in (made.work / "events.jsonl").read_text().splitlines())


def test_the_first_event_is_there_before_the_trainers_module(job: Make, tmp_path: Path, ended: list[Any]) -> None:

    made = job("strange-slow-import")

    go = tmp_path / "go"
    worker = launch.start(sys.executable, made.spec_path, str(made.work), environment(STRANGE_GO=str(go)))
    ended.append(worker)
    wait_for(lambda: made.events("status"))
    assert [event.fields["state"] for event in made.events()] == ["starting"]
    go.touch()
    wait_for(lambda: not launch.alive(worker))
    assert made.exit_code() == Exit.FINISHED


@pytest.mark.parametrize(
    ("params", "code", "exit_code", "message"),
    [
        ({"does": "raise_trainer_error"}, "strange", Exit.TRAINER_FAILED, "the strange trainer has had enough"),
        (
            {"does": "value_error"},
            "trainer_failed",
            Exit.TRAINER_FAILED,
            "Trainer 'strange' failed: ValueError: no such thing",
        ),
        ({"does": "exit"}, "trainer_failed", Exit.TRAINER_FAILED, "Trainer 'strange' failed: SystemExit: 0"),
        (
            {"does": "recursion"},
            "trainer_failed",
            Exit.TRAINER_FAILED,
            "Trainer 'strange' failed: RecursionError: maximum recursion depth exceeded",
        ),
        (
            {"does": "disk_full", "at": "save"},
            "disk_full",
            Exit.TRAINER_FAILED,
            "The disk is full while writing /disk/file (No space left on device)",
        ),
        (
            {"does": "memory", "at": "predict"},
            "out_of_memory",
            Exit.OUT_OF_MEMORY,
            "Out of memory. Take a smaller batch_size or max_length, or a smaller base model",
        ),
        (
            {"does": "torch_memory"},
            "out_of_memory",
            Exit.OUT_OF_MEMORY,
            "Out of memory: CUDA out of memory. Tried to allocate 2.00 GiB. "
            "Take a smaller batch_size or max_length, or a smaller base model",
        ),
        (
            {"does": "cpu_memory"},
            "out_of_memory",
            Exit.OUT_OF_MEMORY,
            "Out of memory: [enforce fail] DefaultCPUAllocator: can't allocate memory: you tried to allocate 9. "
            "Take a smaller batch_size or max_length, or a smaller base model",
        ),
    ],
)
def test_a_failure_is_one_sentence_and_a_code(
    job: Make, params: dict[str, Any], code: str, exit_code: Exit, message: str
) -> None:
    made = job(**params)
    assert made.run() == exit_code == made.exit_code()
    error = made.events()[-1]
    assert (error.name, error.fields["code"], error.fields["message"]) == ("error", code, message)
    assert "Traceback" in made.stderr()
    assert not (made.work / "predictions.jsonl").exists()


def test_a_failure_while_saving_leaves_nothing_that_looks_whole(job: Make) -> None:
    made = job(does="value_error", at="save")
    assert made.run() == Exit.TRAINER_FAILED
    assert list((made.work / "artifacts").iterdir()) == []
    assert sorted(path.name for path in made.work.iterdir()) == [
        "artifacts",
        "events.jsonl",
        "exit_code",
        "spec.json",
        "stderr.log",
    ]


def test_a_failure_while_predicting_keeps_the_model(job: Make) -> None:
    made = job(does="value_error", at="predict")
    assert made.run() == Exit.TRAINER_FAILED
    assert (made.artifact() / "sub" / "second.txt").exists()
    assert not list(made.work.glob("predictions*"))


def test_an_error_as_long_as_a_book_is_cut(job: Make) -> None:
    made = job(does="long_error")
    made.run()
    assert len(made.events()[-1].fields["message"]) < 600


@pytest.mark.parametrize(
    ("does", "reason"), [("no_module", "No module named 'peft'"), ("import", "cannot import name 'x' from 'y'")]
)
def test_a_package_that_is_missing_is_named_with_the_interpreter(job: Make, does: str, reason: str) -> None:
    made = job(does=does)
    assert made.run() == Exit.PACKAGE_MISSING == made.exit_code()
    error = made.events()[-1].fields
    assert error["code"] == "package_missing"
    start = f"Trainer 'strange' could not be imported: {reason}. Install: {sys.executable} -m pip install"
    assert error["message"].startswith(start)


def test_a_package_is_looked_for_before_anything_is_imported(job: Make) -> None:
    made = job("strange-needy")
    assert made.run() == Exit.PACKAGE_MISSING
    install = f"{sys.executable} -m pip install json 'no-such-package>=1.0'"
    assert made.events()[-1].fields == {
        "code": "package_missing",
        "message": "Trainer 'strange-needy' could not be imported: No module named 'no_such_module'. "
        f"Install: {install}",
        "install_hint": install,
    }


@pytest.mark.parametrize("trainer", ["strange-broken-import", "nowhere-installed"])
def test_a_third_partys_trainer_that_is_not_installed_here_is_named(job: Make, trainer: str) -> None:
    made = job(trainer)
    assert made.run() == Exit.PACKAGE_MISSING == made.exit_code()
    assert f"'{trainer}'" in made.events()[-1].fields["message"]


@pytest.mark.parametrize(
    ("change", "code", "said"),
    [
        ({"schemas": ("nothing",)}, "bundle_unreadable", "the bundle has no scheme 'nothing'; it has s, other, many"),
        ({"schemas": ()}, "spec_unreadable", "the spec names no scheme to train"),
        ({"schemas": ("many",)}, "spec_unreadable", "trainer 'strange' takes nominal, and 'many' is multilabel"),
        ({"dose": "typo"}, "bad_param", "trainer 'strange' has no param 'dose'; it takes does, at"),
    ],
)
def test_what_cannot_be_done_is_refused(job: Make, change: dict[str, Any], code: str, said: str) -> None:
    made = job(**change)
    assert made.run() == Exit.UNREADABLE == made.exit_code()
    error = made.events()[-1].fields
    assert (error["code"], error["message"]) == (code, said)


def test_a_bundle_that_was_cut_off_is_refused(job: Make) -> None:
    made = job()
    path = Path(made.bundle) / "predict.jsonl"
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:2]))
    assert made.run() == Exit.UNREADABLE
    said = "the bundle's predict.jsonl holds 2 items; its manifest says 3"
    assert made.events()[-1].fields["message"] == said
    assert not (made.work / "predictions.jsonl").exists()


def test_a_bundle_that_is_not_there_is_refused(job: Make) -> None:
    made = job()
    (Path(made.bundle) / "manifest.json").unlink()
    assert made.run() == Exit.UNREADABLE
    assert "manifest.json cannot be read" in made.events()[-1].fields["message"]


def test_a_spec_that_cannot_be_read_leaves_its_reason_beside_it(job: Make) -> None:
    made = job()
    Path(made.spec_path).write_text('{"run_id": ')
    assert made.run() == Exit.UNREADABLE == made.exit_code()
    assert made.events()[-1].fields["code"] == "spec_unreadable"
    assert "cannot be read" in made.stderr()


def test_a_spec_that_is_nowhere_is_an_exit_code_and_a_sentence(job: Make) -> None:
    made = job()
    Path(made.spec_path).unlink()
    assert made.run() == Exit.UNREADABLE
    assert "spec.json cannot be read" in made.stderr()
    assert "Traceback" not in made.stderr()
