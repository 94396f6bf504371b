"""Predictions → store, scores, pre-labels through every gate."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import insert, update
from starlette.testclient import TestClient

from lab import SENTIMENT, Lab
from potato.app import create_app
from potato.errors import PotatoError
from potato.project.training import Splits
from potato.store import tables
from potato.store.training import predictions, runs
from potato.store.training.runs import Run, State
from potato.tasks import TaskRunner
from potato.training.bundle.task import build
from potato.training.contract.predictions import Prediction
from potato.training.results.gates import Gates
from potato.training.results.task import evaluate, tidy
from potato.training.results.writeback import Comparison, Verdict, decide
from potato.training.splits import split_of

SHOWN = {"schemas": ["sentiment"], "include_unlabeled": True}
AT = "2026-11-29T14:15:00.000Z"


@pytest.fixture
def make_lab(tmp_path: Path) -> Callable[..., Lab]:
    """Sixty items, the first forty labelled."""

    def make(items: Any = 60, labelled: int = 40, **training: Any) -> Lab:
        lab = Lab(tmp_path / "lab", items, model_training={"writeback": SHOWN, **training})
        lab.label_alternately(lab.ids[:labelled])
        return lab

    return make


class Finished:
    """A run of `lab` whose worker has just ended: its bundle, and predictions of all that it was asked for."""

    def __init__(self, lab: Lab, run_id: str = "r1") -> None:
        self.lab, self.run_id = lab, run_id
        self.folder = lab.project.runs_dir / run_id
        with lab.database.write() as connection:
            runs.add(
                connection,
                Run(run_id, State.EVALUATING, "sklearn-text", ["sentiment"], {}, "api", "local", "local", AT),
            )
        args = {"run_id": run_id, "trainer": "sklearn-text", "schemas": ["sentiment"]}
        build(lab.project, lab.database, {**args, "folder": str(self.folder / "bundle")})

    def items(self, *splits: str) -> list[dict[str, Any]]:
        found = []
        for split in splits:
            lines = (self.folder / "bundle" / f"{split}.jsonl").read_text("utf-8").splitlines()
            found += [json.loads(line) for line in lines]
        return found

    def says(self, sure: float | None = 0.9, changed: Mapping[str, Any] | None = None) -> list[Prediction]:
        """A prediction of each item: the right one where it is held out, else positive."""
        answers = {
            item["id"]: item.get("targets", {}).get("sentiment", "positive")
            for item in self.items("val", "test", "predict")
        }
        return [Prediction(item, "sentiment", answer, sure) for item, answer in {**answers, **(changed or {})}.items()]

    def evaluate(self, said: list[Prediction], **result: Any) -> dict[str, Any]:
        path = self.folder / "predictions.jsonl"
        path.write_bytes(b"".join(prediction.line() for prediction in said))
        word = {"n_predictions": len(said), **result}
        args = {"run_id": self.run_id, "schemas": ["sentiment"], "folder": str(self.folder), "result": word}
        answer = evaluate(self.lab.project, self.lab.database, args)
        json.dumps(answer)
        return answer

    def finish(self, answer: dict[str, Any]) -> None:
        with self.lab.database.write() as connection:
            predictions.set_live(connection, self.run_id, answer["live"], AT)
            runs.transition(connection, self.run_id, State.SUCCESS, model_version="v1", writeback=answer["writeback"])


def rename(lab: Lab) -> None:
    """Call the label positive good from now on."""
    sentiment = {**SENTIMENT, "labels": ["good", "negative"], "label_renames": {"positive": "good"}}
    lab.write({**lab.config, "annotation_schemes": [sentiment]})


def gates(lab: Lab) -> dict[str, str | None]:
    query = tables.predictions.join(tables.items, tables.items.c.seq == tables.predictions.c.item).select()
    return {row.id: row.gate for row in lab.rows(query.with_only_columns(tables.items.c.id, tables.predictions.c.gate))}


def held_out(item: str) -> bool:
    return split_of(item, 0, Splits()) != "train"


def test_all_is_stored_scored_and_gated(make_lab: Callable[..., Lab]) -> None:
    lab = make_lab()
    run = Finished(lab)
    answer = run.evaluate(run.says())
    labelled_out = sum(held_out(item) for item in lab.ids[:40])
    unlabelled_out = sum(held_out(item) for item in lab.ids[40:])
    report = answer["writeback"]
    assert report["read"] == 20 + labelled_out
    assert report["skipped"]["held_out"] == labelled_out + unlabelled_out
    assert report["written"] == 20 - unlabelled_out > 0
    assert report["read"] == report["written"] + sum(report["skipped"].values())
    assert report["by_scheme"]["sentiment"]["written"] == report["written"]
    assert answer["live"] == ["sentiment"]
    assert answer["scores"]["sentiment"]["test"]["accuracy"] == 1.0
    assert lab.rows(tables.live_runs.select()) == []  # nothing is shown by it yet
    assert {item for item, gate in gates(lab).items() if gate is None} == {i for i in lab.ids[40:] if not held_out(i)}


def test_copies_of_trained_and_held_out_texts_get_none(make_lab: Callable[..., Lab]) -> None:
    """annotation 44: unlabelled copies of labelled texts."""
    rows = [{"id": f"i{n}", "text": f"text {n % 40}"} for n in range(60)]
    run = Finished(lab := make_lab(rows))
    answer = run.evaluate(run.says())
    assert answer["writeback"]["written"] == 0
    found = gates(lab)
    for n in range(40, 60):
        assert found[f"i{n}"] == ("held_out" if held_out(f"i{n - 40}") else "train_split")
    assert answer["live"] == []


def test_what_any_recorded_run_trained_on_stays_guarded(make_lab: Callable[..., Lab]) -> None:
    lab = make_lab()
    Finished(lab, "r0")
    with lab.database.write() as connection:  # its label was taken back since, so that it is unlabelled now
        trained = next(n for n in range(40) if not held_out(f"i{n}"))
        connection.execute(tables.annotations.delete().where(tables.annotations.c.item == trained + 1))
    run = Finished(lab, "r1")
    run.evaluate(run.says())
    assert gates(lab)[f"i{trained}"] == "train_split"


def test_each_gate_in_its_order_is_counted(make_lab: Callable[..., Lab]) -> None:
    lab = make_lab(writeback={**SHOWN, "min_confidence": 0.6})
    run = Finished(lab)
    free = [item for item in lab.ids[40:] if not held_out(item)]
    with lab.database.write() as connection:
        for item, payload in ((free[0], "positive"), (free[1], "negative")):
            row = {
                "run_id": "r0",
                "scheme": "sentiment",
                "payload": payload,
                "verdict": "reject",
                "user": "rev",
                "at": AT,
            }
            connection.execute(insert(tables.verdicts).values(item=lab.ids.index(item) + 1, **row))
    said = [
        Prediction(p.instance_id, "sentiment", p.payload, 0.5 if p.instance_id == free[2] else 0.6) for p in run.says()
    ]
    report = run.evaluate(said)["writeback"]
    found = gates(lab)
    assert found[free[0]] == "rejected"
    assert found[free[1]] is None  # the reviewer rejected another answer
    assert found[free[2]] == "low_confidence"
    assert found[free[3]] is None  # 0.6 reaches 0.6
    assert report["skipped"] == {
        "train_split": 0,
        "held_out": report["skipped"]["held_out"],
        "not_listed": 0,
        "rejected": 1,
        "low_confidence": 1,
        "low_score": 0,
    }


def test_training_alone_changes_nothing_that_annotators_see(make_lab: Callable[..., Lab]) -> None:
    run = Finished(make_lab(writeback={"include_unlabeled": True}))
    answer = run.evaluate(run.says())
    assert answer["live"] == []
    assert answer["writeback"]["written"] == 0
    assert answer["writeback"]["skipped"]["not_listed"] > 0
    assert answer["writeback"]["reason"] == "no scheme is listed under writeback.schemas"


class TestTheHeldOutScore:
    """Gate five: the scheme's run as a whole."""

    def test_that_is_reached_lets_all_pass(self, make_lab: Callable[..., Lab]) -> None:
        run = Finished(make_lab(writeback={**SHOWN, "min_score": 1.0}))
        answer = run.evaluate(run.says())
        assert answer["live"] == ["sentiment"]
        assert answer["writeback"]["reason"] is None

    def test_that_is_missed_shows_nothing(self, make_lab: Callable[..., Lab]) -> None:
        run = Finished(make_lab(writeback={**SHOWN, "min_score": 0.8}))
        wrong = {item["id"]: "negative" for item in run.items("test")}
        answer = run.evaluate(run.says(changed=wrong))
        assert answer["live"] == []
        assert answer["writeback"]["written"] == 0
        assert answer["writeback"]["skipped"]["low_score"] > 0
        assert "min_score asks for 0.8" in answer["writeback"]["reason"]

    def test_that_is_undefined_shows_nothing(self, make_lab: Callable[..., Lab]) -> None:
        """annotation 43: a gate cannot pass on no evidence."""
        run = Finished(make_lab(splits={"train": 1, "val": 0, "test": 0}, writeback={**SHOWN, "min_score": 0.0}))
        answer = run.evaluate(run.says())
        assert answer["live"] == []
        assert answer["scores"]["sentiment"]["test"] == {"n": 0}
        assert "has no held-out score" in answer["writeback"]["reason"]

    def test_of_an_error_is_reached_from_above(self, tmp_path: Path) -> None:
        stars = {"annotation_type": "likert", "name": "sentiment", "description": "?"}
        training = {"writeback": {**SHOWN, "min_score": 0.5}}
        lab = Lab(tmp_path / "stars", 60, annotation_schemes=[stars], model_training=training)
        lab.label({f"i{n}": n % 2 + 2 for n in range(40)})
        run = Finished(lab)
        right = {item["id"]: 2 for item in run.items("predict")}
        assert run.evaluate(run.says(changed=right))["live"] == ["sentiment"]
        far = right | {item["id"]: 5 for item in run.items("test")}
        assert run.evaluate(run.says(changed=far))["live"] == []


class TestAFigureThatTheProjectChooses:
    """`metrics`. annotation 52: what the gates go by is configurable."""

    def test_decides_whether_the_score_is_reached(self, make_lab: Callable[..., Lab]) -> None:
        """A model that always says the frequent label is mostly right, and has no macro F1 to speak of."""
        lab = make_lab(labelled=0, writeback={**SHOWN, "min_score": 0.6})
        rare = {next(i for i in lab.ids if split_of(i, 0, Splits()) == split) for split in ("train", "test")}
        lab.label({item: "negative" if item in rare else "positive" for item in lab.ids[:40]})
        for judged_by, live in (("accuracy", ["sentiment"]), ("macro_f1", [])):
            training = {**lab.config["model_training"], "metrics": {"sentiment": judged_by}}
            lab.write({**lab.config, "model_training": training})
            run = Finished(lab, f"r-{judged_by}")
            answer = run.evaluate(run.says(changed={item["id"]: "positive" for item in run.items("test")}))
            scores = answer["scores"]["sentiment"]
            assert answer["live"] == live
            assert (scores["primary"]["name"], scores["primary"]["value"]) == (judged_by, scores["test"][judged_by])
            assert answer["writeback"]["by_scheme"]["sentiment"]["rule"]["figure"] == judged_by

    def test_decides_how_far_a_model_dropped(self, make_lab: Callable[..., Lab]) -> None:
        lab = make_lab(metrics={"sentiment": "kappa"}, writeback={**SHOWN, "max_drop": 0.05})
        first = Finished(lab, "r0")
        first.finish(first.evaluate(first.says()))
        run = Finished(lab, "r1")
        answer = run.evaluate(run.says(changed={item["id"]: "negative" for item in run.items("test")}))
        assert "the kappa of 'sentiment' is 0.000, and 1.000 in the live run r0" in answer["writeback"]["reason"]


class TestAModelWorseThanTheLiveOne:
    """`max_drop`, on the held-out items that both have. annotation 52: the run says by how much."""

    def live(self, lab: Lab) -> None:
        run = Finished(lab, "r0")
        run.finish(run.evaluate(run.says()))

    def test_is_not_shown_where_it_dropped_too_far(self, make_lab: Callable[..., Lab]) -> None:
        lab = make_lab(writeback={**SHOWN, "max_drop": 0.05})
        self.live(lab)
        run = Finished(lab, "r1")
        wrong = {item["id"]: "negative" for item in run.items("test")}
        answer = run.evaluate(run.says(changed=wrong))
        assert answer["live"] == []
        assert "1.000 in the live run r0; max_drop allows 0.05" in answer["writeback"]["reason"]
        assert run.evaluate(run.says())["live"] == ["sentiment"]

    def test_is_shown_where_that_much_is_allowed(self, make_lab: Callable[..., Lab]) -> None:
        lab = make_lab(writeback={**SHOWN, "max_drop": 1.0})
        self.live(lab)
        run = Finished(lab, "r1")
        assert run.evaluate(run.says(changed={item["id"]: "negative" for item in run.items("test")}))["live"]

    def test_on_no_shared_item_it_cannot_pass(self, make_lab: Callable[..., Lab]) -> None:
        lab = make_lab(writeback={**SHOWN, "max_drop": 1.0})
        self.live(lab)
        with lab.database.write() as connection:
            connection.execute(tables.predictions.delete())
        run = Finished(lab, "r1")
        answer = run.evaluate(run.says())
        assert answer["live"] == []
        assert "shares no held-out item with the live run r0" in answer["writeback"]["reason"]

    def test_is_compared_by_the_labels_new_names(self, make_lab: Callable[..., Lab]) -> None:
        """The live model said the old ones, and was right."""
        lab = make_lab(writeback={**SHOWN, "max_drop": 0.05})
        self.live(lab)
        rename(lab)
        run = Finished(lab, "r1")
        answer = run.evaluate(run.says(changed={item["id"]: "negative" for item in run.items("test")}))
        assert answer["live"] == []
        assert "1.000 in the live run r0; max_drop allows 0.05" in answer["writeback"]["reason"]

    def test_of_another_type_has_nothing_to_be_compared_with(self, make_lab: Callable[..., Lab]) -> None:
        lab = make_lab(writeback={**SHOWN, "max_drop": 0.05})
        self.live(lab)
        stars = {"annotation_type": "likert", "name": "sentiment", "description": "?"}
        lab.write({**lab.config, "annotation_schemes": [stars]})
        lab.label({item: n % 5 + 1 for n, item in enumerate(lab.ids[:40])}, user="ben")
        run = Finished(lab, "r1")
        answer = run.evaluate(run.says(changed={item["id"]: 3 for item in run.items("predict")}))
        assert answer["scores"]["sentiment"]["primary"]["value"] == 0
        assert answer["live"] == []
        assert "shares no held-out item with the live run r0" in answer["writeback"]["reason"]

    def test_is_judged_by_the_reason_that_there_is(self, make_lab: Callable[..., Lab]) -> None:
        """Nothing can drop from a live figure that is undefined; and an undefined new one passes nothing."""
        lab = make_lab(writeback={**SHOWN, "max_drop": 0.05})

        def decided(new: float | None, live: float | None, items: int) -> Verdict:
            settings = lab.project.config.model_training
            entry = Gates(settings, "sentiment", lab.project.schemes)
            entry.tally.read = entry.tally.passed = 3
            figure = {"name": "macro_f1", "better": "higher", "items": items, "reason": "it is undefined"}
            compared = Comparison("r0", {**figure, "value": new}, {**figure, "value": live})
            scores = {"sentiment": {"primary": {**figure, "value": 0.9}}}
            return decide(settings, {"sentiment": entry}, scores, {"sentiment": compared})

        better = decided(0.9, None, 12)
        assert better.live == ["sentiment"]
        assert (
            "12 held-out items that both have, 0.900 against none of run r0, as it is undef" in better.said["sentiment"]
        )
        undefined = decided(None, 0.9, 12)
        assert undefined.live == []
        assert "'sentiment' has no macro f1 (it is undefined), and max_drop" in undefined.report["reason"]
        assert decided(None, None, 12).live == []
        apart = decided(None, None, 0)
        assert (apart.live, "shares no held-out item" in apart.report["reason"]) == ([], True)


def test_a_model_that_says_old_names_is_scored_by_the_new_ones(make_lab: Callable[..., Lab]) -> None:
    lab = make_lab()
    rename(lab)
    run = Finished(lab)
    old = {item["id"]: "positive" for item in run.items("test") if item["targets"]["sentiment"] == "good"}
    answer = run.evaluate(run.says(changed=old))
    assert old and answer["scores"]["sentiment"]["test"]["accuracy"] == 1.0
    stored = lab.rows(tables.held_out_answers.select())
    assert {(row.said, row.model, row.off) for row in stored} == {("good", "good", 0), ("negative", "negative", 0)}


@pytest.mark.parametrize(("floor", "written"), [(0.0, True), (0.6, False)])
def test_a_trainer_without_confidence_passes_only_a_floor_of_0(
    make_lab: Callable[..., Lab], floor: float, written: bool
) -> None:
    run = Finished(make_lab(writeback={**SHOWN, "min_confidence": floor}))
    answer = run.evaluate(run.says(sure=None))
    assert (answer["writeback"]["written"] > 0) is written
    assert "The trainer gave no confidence" in answer["warnings"][0]


class TestAFileThatIsNotRight:
    """Nothing of it is taken in, and what was there of the run before is gone too."""

    @pytest.mark.parametrize(
        ("spoil", "sentence"),
        [
            (lambda lines: [*lines, b"{half"], "line 36 of the predictions cannot be read"),
            (lambda lines: [*lines, lines[0]], "twice of the same item and scheme"),
            (lambda lines: lines[1:], "and the worker said"),
            (lambda lines: [lines[0].replace(b"0.9", b"1.9"), *lines[1:]], "a confidence is a number from 0 to 1"),
            (lambda lines: [lines[0].replace(b'"payload":"', b'"payload":"x'), *lines[1:]], "is not a label of"),
            (lambda lines: [lines[0].replace(b'_id":"', b'_id":"x'), *lines[1:]], "which the project does not have"),
            (lambda lines: [lines[0].replace(b"sentiment", b"mood"), *lines[1:]], "which the run did not train"),
        ],
    )
    def test_is_refused_whole(
        self, make_lab: Callable[..., Lab], spoil: Callable[[list[bytes]], list[bytes]], sentence: str
    ) -> None:
        lab = make_lab()
        run = Finished(lab)
        lines = [prediction.line() for prediction in run.says()]
        count = len(lines)
        spoilt = spoil(lines)
        path = run.folder / "predictions.jsonl"
        path.write_bytes(b"".join(spoilt))
        number = count + (len(spoilt) > count and spoilt[-1] == lines[0])
        args = {
            "run_id": "r1",
            "schemas": ["sentiment"],
            "folder": str(run.folder),
            "result": {"n_predictions": number},
        }
        with pytest.raises(PotatoError) as caught:
            evaluate(lab.project, lab.database, args)
        assert caught.value.code == "predictions_refused"
        assert sentence.replace("36", str(count + 1)) in caught.value.message
        assert gates(lab) == {}

    def test_another_file_than_the_workers_is_refused(self, make_lab: Callable[..., Lab]) -> None:
        run = Finished(make_lab())
        said = run.says()
        digest = hashlib.sha256(b"".join(prediction.line() for prediction in said)).hexdigest()
        assert run.evaluate(said, predictions_sha256=digest)["live"]
        with pytest.raises(PotatoError, match="its SHA-256 differs"):
            run.evaluate(said, predictions_sha256="0" * 64)
        with pytest.raises(PotatoError, match="bytes, and the worker wrote 7"):
            run.evaluate(said, predictions_bytes=7)

    def test_a_held_out_item_that_is_missing_is_refused(self, make_lab: Callable[..., Lab]) -> None:
        """A score over the items that a model chose to answer would be no score."""
        run = Finished(make_lab())
        missing = run.items("test")[0]["id"]
        with pytest.raises(PotatoError, match=f"they lack the test item '{missing}'"):
            run.evaluate([p for p in run.says() if p.instance_id != missing])


def test_taking_in_again_changes_nothing(make_lab: Callable[..., Lab]) -> None:
    lab = make_lab()
    run = Finished(lab)
    first = run.evaluate(run.says())
    before = lab.rows(tables.predictions.select())
    assert run.evaluate(run.says()) == first
    assert lab.rows(tables.predictions.select()) == before


class TestSuggestions:
    """What annotators see."""

    def test_never_touch_a_human_label(self, make_lab: Callable[..., Lab]) -> None:
        """annotation 58"""
        lab = make_lab()
        before = lab.rows(tables.annotations.select())
        run = Finished(lab)
        run.finish(run.evaluate(run.says(changed={"i0": "negative"} if not held_out("i0") else {})))
        assert lab.rows(tables.annotations.select()) == before
        assert lab.rows(tables.annotation_history.select()) == []

    def test_are_looked_at_again_when_they_are_shown(self, make_lab: Callable[..., Lab]) -> None:
        lab = make_lab()
        run = Finished(lab)
        run.finish(run.evaluate(run.says()))
        first, second = [n + 1 for n in range(40, 60) if not held_out(f"i{n}")][:2]

        def shown(item: int) -> dict[str, Any]:
            with lab.database.read() as connection:
                return predictions.suggestions(connection, item, lab.project.schemes)

        assert shown(first)["sentiment"].payload == "positive"
        assert shown(first)["sentiment"].model_version == "v1"
        with lab.database.write() as connection:
            row = {"run_id": "r1", "scheme": "sentiment", "payload": "positive", "user": "rev", "at": AT}
            connection.execute(insert(tables.verdicts).values(item=first, verdict="reject", **row))
            predictions.record_trained(connection, "r9", "sentiment", [f"i{second - 1}"])
        assert shown(first) == {}
        assert shown(second) == {}

    def test_of_what_was_rejected_under_an_old_name_are_not_made_again(self, make_lab: Callable[..., Lab]) -> None:
        lab = make_lab()
        run = Finished(lab)
        run.finish(run.evaluate(run.says()))
        item = next(n + 1 for n in range(40, 60) if not held_out(f"i{n}"))
        with lab.database.write() as connection:
            row = {"run_id": "r1", "scheme": "sentiment", "payload": "positive", "user": "rev", "at": AT}
            connection.execute(insert(tables.verdicts).values(item=item, verdict="reject", **row))
        rename(lab)

        def shown() -> tuple[dict[str, Any], set[int]]:
            schemes = lab.project.schemes
            with lab.database.read() as connection:
                every = {seq for seq, *_ in predictions.all_suggestions(connection, "sentiment", schemes)}
                counted = predictions.shown(connection)["sentiment"]
                assert counted in (len(every), len(every) + 1)  # the verdict was not given as one gives it
                assert predictions.recount(connection, "sentiment", schemes) == len(every)
                return predictions.suggestions(connection, item, schemes), every

        assert shown()[0] == {} and item not in shown()[1]
        again = Finished(lab, "r2")
        answer = again.evaluate(again.says(changed={each["id"]: "good" for each in again.items("predict")}))
        assert answer["writeback"]["skipped"]["rejected"] == 1
        again.finish(answer)
        assert shown()[0] == {} and item not in shown()[1]

    def test_a_share_may_be_hidden_and_is_always_the_same(self, make_lab: Callable[..., Lab]) -> None:
        lab = make_lab(writeback={**SHOWN, "hide_share": 0.5})
        run = Finished(lab)
        report = run.evaluate(run.says())["writeback"]
        hidden = {item for item, gate in gates(lab).items() if gate == "hidden"}
        assert report["skipped"]["hidden"] == len(hidden) > 0
        assert report["written"] > 0
        run.evaluate(run.says())
        assert {item for item, gate in gates(lab).items() if gate == "hidden"} == hidden


def test_tidying_keeps_what_is_live_and_what_is_new(make_lab: Callable[..., Lab]) -> None:
    lab = make_lab(retain_runs=1)
    made = [Finished(lab, f"r{n}") for n in range(4)]
    for run in made:
        answer = run.evaluate(run.says())
        run.finish(answer if run.run_id == "r0" else {**answer, "live": []})
    with lab.database.write() as connection:
        connection.execute(update(tables.runs).where(tables.runs.c.run_id == "r3").values(state="error"))
    assert sorted(tidy(lab.project, lab.database, {})["removed"]) == ["r1", "r2"]
    assert tidy(lab.project, lab.database, {})["removed"] == []
    assert [run.folder.exists() for run in made] == [True, False, False, True]
    with lab.database.read() as connection:
        assert predictions.runs_with_predictions(connection) == {"r0"}
        assert runs.get_or_raise(connection, "r1").files_removed


def test_labels_with_any_name_pass(tmp_path: Path) -> None:
    """annotation 21"""
    names = ["it's", "a:b", "x, y", 'say "hi"', "<cat>", "A/B", "اسم"]
    lab = Lab(
        tmp_path / "names",
        140,
        annotation_schemes=[{**SENTIMENT, "labels": names}],
        model_training={"writeback": SHOWN},
    )
    lab.label({f"i{n}": names[n % 7] for n in range(120)})
    run = Finished(lab)
    answer = run.evaluate(run.says(changed={item["id"]: names[0] for item in run.items("predict")}))
    assert answer["scores"]["sentiment"]["test"]["confusion"]["labels"] == names
    assert answer["live"] == ["sentiment"]


def test_a_scheme_that_left_writeback_is_shown_no_longer_from_the_next_start_on(
    make_lab: Callable[..., Lab], caplog: pytest.LogCaptureFixture
) -> None:
    lab = make_lab()
    run = Finished(lab)
    run.finish(run.evaluate(run.says()))
    item = next(n + 1 for n in range(40, 60) if not held_out(f"i{n}"))

    def serve() -> tuple[dict[str, str], dict[str, Any]]:
        with TestClient(create_app(lab.project, tasks=TaskRunner(lab.project))), lab.database.read() as connection:
            return predictions.live(connection), predictions.suggestions(connection, item, lab.project.schemes)

    live, shown = serve()
    assert live == {"sentiment": "r1"}  # a restart alone changes nothing
    assert shown["sentiment"].payload == "positive"
    lab.write({**lab.config, "model_training": {"enabled": True}})
    assert serve() == ({}, {})
    assert "'sentiment' is not in writeback.schemas: run r1's suggestions are no longer shown" in caplog.text
