"""Labels in and out."""

# ruff: noqa: E501 (a table of what is said, a line each)

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from makers import NOW, SENTIMENT, SURE, TOPICS, Small, history, later, make_project, opened, small, write_rows
from potato.items.exporting import ExportDiffers, export_file, export_labels
from potato.items.importing import ImportReport, InvalidLabels, import_labels
from potato.items.loading import load_items
from potato.store import annotations, assignments, imports, settling, users
from potato.store.clock import to_text
from potato.store.training import predictions, runs
from potato.store.training.predictions import Stored
from potato.store.training.runs import Run, State

SCHEMES = [SENTIMENT, TOPICS, SURE]


def line(item: object = "1", annotator: object = "ann", at: str | None = None, **answers: Any) -> dict[str, Any]:
    return {"id": item, "annotator": annotator, "annotations": answers, **({"at": at} if at else {})}


def take_in(project: Small, *lines: object, name: str = "labels.jsonl", **options: Any) -> ImportReport:
    path = write_rows(project.project.file.parent, lines, name)
    return import_labels(project.project, project.database, path, clock=lambda: NOW, **options)


def export(project: Small, form: str = "jsonl", **options: Any) -> str:
    file = io.BytesIO()
    export_labels(project.project, project.database, file, form, **options)
    return file.getvalue().decode()


def exported(project: Small) -> list[dict[str, Any]]:
    return [json.loads(each) for each in export(project).splitlines()]


def count(project: Small, table: str) -> int:
    found: int = project.read(lambda conn: conn.exec_driver_sql(f"SELECT count(*) FROM {table}").scalar_one())
    return found


def test_labels_come_in_and_go_out_as_they_were(tmp_path: Path) -> None:
    lines = [
        line("1", at="2026-11-29T14:15:00.000Z", sentiment="positive", sure=5, topics=["price"]),
        line("1", "bob", at="2026-11-29T14:15:00.000Z", sentiment="negative"),
        line("2", at="2026-11-29T14:16:00.000Z", topics=[]),
    ]
    with small(tmp_path, annotations_per_item=2, annotation_schemes=SCHEMES) as project:
        report = take_in(project, *lines)
        assert (report.lines, report.annotators, report.outcome.new) == (3, 2, 5)
        assert exported(project) == lines
        progress = project.progress(project.user("ann"))
        assert (progress.done, progress.total_done) == (1, 1)


def test_an_imported_item_is_not_handed_out_again(tmp_path: Path) -> None:
    with small(tmp_path, 3) as project:
        take_in(project, line("1", sentiment="positive"), line("2", "bob", sentiment="positive"))
        assert project.next(project.user("cem")) == 3


def test_the_same_file_again_changes_nothing(tmp_path: Path) -> None:
    """annotation 5"""
    lines = [line("1", sentiment="positive"), line("2", at="2026-11-29T14:15:00Z", sentiment="negative")]
    with small(tmp_path) as project:
        take_in(project, *lines, *lines)
        before = (export(project), project.read(history))
        outcome = take_in(project, *lines).outcome
        assert (outcome.new, outcome.changed, outcome.same) == (0, 0, 2)
        assert (export(project), project.read(history)) == before
        assert len(before[1]) == 2


@pytest.mark.parametrize(
    ("at", "replace", "kept"),
    [
        (None, False, True),
        ("2026-11-29T14:14:59Z", False, True),
        ("2026-11-29T15:15:00+01:00", False, True),
        ("2026-11-29T14:15:01Z", False, False),
        (None, True, False),
        ("2020-01-01T00:00:00Z", True, False),
    ],
)
def test_a_human_answer_that_is_not_earlier_stays_without_replace(
    tmp_path: Path, at: str | None, replace: bool, kept: bool
) -> None:
    """annotation 58: at import"""
    with small(tmp_path) as project:
        ann = project.user("ann")
        project.save(ann, 1, {"sentiment": "positive"})
        report = take_in(project, line("1", at=at, sentiment="negative"), replace=replace)
        assert (report.outcome.kept, report.outcome.changed) == ((1, 0) if kept else (0, 1))
        assert project.read(annotations.of_user, ann, 1) == {"sentiment": "positive" if kept else "negative"}
        assert any("--replace" in sentence for sentence in report.sentences()) is kept


def test_an_answer_that_was_taken_back_does_not_come_again_by_an_old_file(tmp_path: Path) -> None:
    with small(tmp_path) as project:
        old = line("1", at="2026-11-29T14:00:00Z", sentiment="positive")
        take_in(project, old)
        project.save(project.user("ann"), 1, {"sentiment": None})
        assert take_in(project, old).outcome.kept == 1
        assert exported(project) == []


def nested(depth: int) -> Any:
    return {"a": nested(depth - 1)} if depth else 1


TEN, ELEVEN = "2026-11-29T10:00:00.000Z", "2026-11-29T11:00:00.000Z"
AFTER = "2026-11-29T14:20:00.000Z"
"""After `NOW`, when annotators skip here."""
COMMENT = {"annotation_type": "text", "name": "comment", "description": "Anything else?", "required": False}


def skipped(said: dict[str, Any], reason: str = "") -> dict[str, Any]:
    return {**said, "skipped": reason}


def standing(project: Small, item: int = 1) -> tuple[str, str | None]:
    found = project.read(assignments.met, project.user("ann"), item)
    assert found is not None
    return found.state.value, found.reason


def assert_repeatable(project: Small, *lines: object, **options: Any) -> None:
    """That the same file again changes nothing."""
    before = (export(project), project.read(history), standing(project))
    outcome = take_in(project, *lines, **options).outcome
    assert (outcome.new, outcome.changed) == (0, 0)
    assert (export(project), project.read(history), standing(project)) == before


@pytest.mark.parametrize("reason", ["cannot tell", "really not"])
@pytest.mark.parametrize("answer", [{"sentiment": "positive"}, {"comment": "hm"}])
@pytest.mark.parametrize("at", [None, TEN, AFTER])
def test_a_line_that_says_skipped_beside_its_answers_leaves_the_item_skipped(
    tmp_path: Path, reason: str, answer: dict[str, str], at: str | None
) -> None:
    with small(tmp_path, annotation_schemes=[SENTIMENT, COMMENT]) as project:
        project.skip(project.user("ann"), 1, "cannot tell")
        said = skipped(line("1", at=at, **answer), reason)
        take_in(project, said)
        assert standing(project) == ("skipped", "cannot tell")
        assert exported(project)[0]["annotations"] == answer
        assert_repeatable(project, said)
        take_in(project, said, replace=True)
        assert standing(project) == ("skipped", reason)
        assert_repeatable(project, said, replace=True)


@pytest.mark.parametrize(
    ("at", "replace", "state"),
    [
        (None, False, "skipped"),
        (TEN, False, "skipped"),
        (AFTER, False, "done"),
        (None, True, "done"),
        (TEN, True, "done"),
    ],
)
def test_of_a_skip_here_and_an_answer_in_the_file_the_later_stands(
    tmp_path: Path, at: str | None, replace: bool, state: str
) -> None:
    with small(tmp_path) as project:
        project.skip(project.user("ann"), 1)
        said = line("1", at=at, sentiment="positive")
        take_in(project, said, replace=replace)
        assert standing(project)[0] == state
        assert_repeatable(project, said, replace=replace)


@pytest.mark.parametrize(
    ("at", "replace", "state"),
    [
        (None, False, "done"),
        (TEN, False, "done"),
        (AFTER, False, "skipped"),
        (None, True, "skipped"),
        (TEN, True, "skipped"),
    ],
)
def test_of_an_answer_here_and_a_skip_in_the_file_the_later_stands(
    tmp_path: Path, at: str | None, replace: bool, state: str
) -> None:
    with small(tmp_path) as project:
        project.save(project.user("ann"), 1, {"sentiment": "positive"})
        said = skipped(line("1", at=at))
        take_in(project, said, replace=replace)
        assert standing(project)[0] == state
        assert_repeatable(project, said, replace=replace)


def test_of_a_skip_and_an_answer_in_one_file_the_later_stands(tmp_path: Path) -> None:
    with small(tmp_path) as project:
        lines = [skipped(line("1", at=TEN)), line("1", at=ELEVEN, sentiment="positive")]
        lines += [skipped(line("2", at=ELEVEN)), line("2", at=TEN, sentiment="positive")]
        take_in(project, *lines)
        assert (standing(project, 1)[0], standing(project, 2)[0]) == ("done", "skipped")
        assert_repeatable(project, *lines)


def test_who_answered_and_then_skipped_comes_back_so(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    with small(tmp_path) as project, small(tmp_path / "other") as other:
        ann = project.user("ann")
        project.save(ann, 1, {"sentiment": "positive"})
        before = exported(project)
        project.skip(ann, 1, "on second thoughts", later(1))
        after = exported(project)
        for again in (project, other):
            take_in(again, *after)
            assert exported(again) == after
            assert standing(again) == ("skipped", "on second thoughts")
            take_in(again, *before)
            assert standing(again) == ("skipped", "on second thoughts")


def test_a_name_is_taken_as_sign_in_takes_it(tmp_path: Path) -> None:
    with small(tmp_path) as project:
        jose = project.user(users.clean_name("Jose\u0301 Luis"))
        for item, written in enumerate(("Jos\u00e9 Luis", "Jose\u0301  Luis", " Jos\u00e9 Luis "), 1):
            take_in(project, line(str(item), written, sentiment="positive"))
        take_in(project, {"id": "1", "adjudicator": "Jose\u0301", "annotations": {"sentiment": "negative"}})
        assert project.progress(jose).done == 3
        assert count(project, "users") == 1
        assert {each.get("adjudicator", "Jos\u00e9") for each in exported(project)} == {"Jos\u00e9"}


def test_an_answer_that_calls_for_another_leaves_the_item_to_be_done(tmp_path: Path) -> None:
    """As a save by the page does."""
    why = {"annotation_type": "text", "name": "why", "description": "Why?", "show_if": {"sentiment": "negative"}}
    with small(tmp_path, annotation_schemes=[SENTIMENT, why]) as project:
        ann = project.user("ann")
        project.save(ann, 1, {"sentiment": "positive"})
        assert project.progress(ann).total_done == 1
        take_in(project, line("1", at=AFTER, sentiment="negative"))
        assert standing(project)[0] == "lapsed"
        assert (project.progress(ann).done, project.progress(ann).total_done) == (0, 0)
        take_in(project, line("1", at=AFTER, why="so"))
        assert (project.progress(ann).done, project.progress(ann).total_done) == (1, 1)


def test_an_answer_to_an_item_that_is_held_leaves_it_held_until_it_is_done(tmp_path: Path) -> None:
    with small(tmp_path, 2, annotation_schemes=[SENTIMENT, COMMENT]) as project:
        assert project.next(project.user("ann")) == 1
        take_in(project, line("1", comment="hm"))
        assert standing(project)[0] == "open"
        assert project.next(project.user("bob")) == 2
        take_in(project, line("1", sentiment="positive"))
        assert standing(project)[0] == "done"


def test_who_answers_where_another_skips_is_not_extra(tmp_path: Path) -> None:
    with small(tmp_path) as project:
        for minute, name in enumerate(("ann", "bob")):
            project.save(project.user(name), 1, {"sentiment": "positive"}, later(minute))
        cem = line("1", "cem", TEN, sentiment="positive")
        take_in(project, cem, skipped(line("1", "ann", AFTER)))
        assert [(each["annotator"], each.get("extra", False)) for each in exported(project)] == [
            ("ann", False),
            ("bob", False),
            ("cem", True),
        ]
        take_in(
            project,
            skipped(line("1", "bob", AFTER)),
            skipped(line("1", "cem", AFTER)),
            line("1", "dan", TEN, sentiment="positive"),
        )
        assert not any("extra" in each for each in exported(project))


def test_an_item_with_more_answers_than_a_piece_has_its_first_one_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(imports, "PIECE", 4)
    with small(tmp_path, annotation_schemes=SCHEMES) as project:
        lines = [
            {**line("2", f"ann-{9 - n}", at=f"2026-11-29T10:00:0{n}Z", sentiment="positive", sure=1), "extra": n > 0}
            for n in range(5)
        ]
        lines += [line("1", "zoe", sentiment="positive"), line("3", "zoe", sentiment="positive")]
        foreseen = take_in(project, *lines, dry_run=True).outcome
        assert take_in(project, *lines).outcome.counts == foreseen.counts
        assert [each["annotator"] for each in exported(project) if not each.get("extra")] == ["zoe", "ann-9", "zoe"]
        assert count(project, "import_rows") == 0


WRONG: list[tuple[object, str]] = [
    (line("9", sentiment="positive"), "the project has no item '9'"),
    (line("1", mood="good"), "the project has no scheme 'mood'"),
    (line("1", sentiment="maybe"), "'maybe' is not a label of 'sentiment'; it takes positive, negative"),
    (line("1", sentiment=["positive"]), "['positive'] is not a label of 'sentiment'; it takes positive, negative"),
    (line("1", sure=6), "6 is not a point of 'sure'; it takes a whole number from 1 to 5"),
    (line("1", sure="3"), "'3' is not a point of 'sure'; it takes a whole number from 1 to 5"),
    (line("1", topics="price"), "an answer to 'topics' is a list of labels, not 'price'"),
    (line("1", "", sentiment="positive"), "an annotator's name cannot be empty"),
    (line("1", " \t", sentiment="positive"), "an annotator's name cannot be empty"),
    (line("1", None, sentiment="positive"), "there is no annotator"),
    (line("1", ["a"], sentiment="positive"), "the annotator is a list"),
    (line(None, sentiment="positive"), "there is no id"),
    (line([1], sentiment="positive"), "the id is a list"),
    (line("1", at="yesterday", sentiment="positive"), "at is 'yesterday'; it is a time with its zone, like 2026-11-29T14:15:00Z"),
    (line("1", at="2026-11-29T14:15:00", sentiment="positive"), "at is '2026-11-29T14:15:00'; it is a time with its zone, like 2026-11-29T14:15:00Z"),
    ({"id": "1", "annotator": "ann"}, "there are no annotations; they are an object, scheme → answer"),
    ({"id": "1", "annotator": "ann", "annotations": []}, "annotations is a list; they are an object, scheme → answer"),
    ({"id": "1", "annotator": "ann", "annotation": {}}, "unknown key 'annotation'; a line has id, annotator, annotations and at"),
    ({**line("1"), "skipped": 5}, "skipped is a number; it is a text, the reason"),
    ({**line("1"), "details": {"sentiment": {"origin": "x"}}}, "details of 'sentiment': origin is one of none, accepted, changed"),
    (line("\ud800", sentiment="positive"), "the project has no item '\\ud800'"),
    (line("1\0", sentiment="positive"), "the project has no item '1\\x00'"),
    (line("1", "ann\udc00", sentiment="positive"), "the annotator's name 'ann\\udc00' holds characters that cannot be shown"),
    ({**line("1"), "details": {"sentiment": {"elapsed_ms": 2**31}}}, "details of 'sentiment': elapsed_ms is a whole number from 0 to 2147483647"),
    ({**line("1"), "details": {"sentiment": {"elapsed_ms": 10**30}}}, "details of 'sentiment': elapsed_ms is a whole number from 0 to 2147483647"),
    ({**line("1"), "details": {"sentiment": {"suggestion": nested(101)}}}, "details of 'sentiment': they are nested more than 100 deep"),
    ([], "each record is an object {…}, not a list"),
]  # fmt: skip


@pytest.mark.parametrize(("wrong", "said"), WRONG, ids=range(len(WRONG)))
def test_a_wrong_line_is_said_and_nothing_comes_in(tmp_path: Path, wrong: object, said: str) -> None:
    with small(tmp_path, annotation_schemes=SCHEMES) as project:
        with pytest.raises(InvalidLabels) as raised:
            take_in(project, line("2", sentiment="positive"), wrong)
        assert raised.value.message == f"1 line is wrong; nothing was imported:\nlabels.jsonl:2: {said}"
        assert [count(project, t) for t in ("annotations", "users", "imports", "import_rows")] == [0] * 4


def test_texts_that_no_store_takes_come_in_as_some_that_it_does(tmp_path: Path) -> None:
    """Nothing becomes `ready` that cannot be applied: it would stand in the way of every start."""
    odd, stored = "so \ud800\0", "so \ufffd\ufffd"
    details = {"sentiment": {"suggestion": {odd: [odd], "sure": nested(98)}, "shown": odd}}
    with small(tmp_path) as project:
        take_in(project, {**line("1", sentiment="positive"), "skipped": odd, "flagged": odd, "details": details})
        take_in(project, line("2", "bob", sentiment="positive"))
        ann = project.user("ann")
        met = project.read(assignments.met, ann, 1)
        assert met is not None and (met.reason, met.flag) == (stored, stored)
        assert exported(project)[0]["details"]["sentiment"]["suggestion"][stored] == [stored]


def test_a_file_may_have_a_name_that_is_no_text(tmp_path: Path) -> None:
    with small(tmp_path) as project:
        assert take_in(project, line("1", sentiment="positive"), name="labels-\udcff.jsonl").outcome.new == 1


def test_a_number_that_is_none_is_a_wrong_line(tmp_path: Path) -> None:
    with small(tmp_path) as project:
        suggestion = '{"sentiment": {"suggestion": {"confidence": 1e999}}}'
        (tmp_path / "in.jsonl").write_text(
            f'{{"id": "1", "annotator": "ann", "annotations": {{"sentiment": "positive"}}, "details": {suggestion}}}\n'
        )
        with pytest.raises(InvalidLabels, match=r"in\.jsonl:1: details of 'sentiment': inf is no number"):
            import_labels(project.project, project.database, tmp_path / "in.jsonl")


def test_every_wrong_line_is_said(tmp_path: Path) -> None:
    with small(tmp_path) as project:
        (tmp_path / "bad.jsonl").write_text('{"id": "7", "annotator": "a", "annotations": {}}\nno\n\n{"id": "8"}\n')
        with pytest.raises(InvalidLabels) as raised:
            import_labels(project.project, project.database, tmp_path / "bad.jsonl")
        assert raised.value.message.splitlines() == [
            "3 lines are wrong; nothing was imported:",
            "bad.jsonl:1: the project has no item '7'",
            "bad.jsonl:2: column 1: this is not JSON: expecting value",
            "bad.jsonl:4: there is no annotator",
        ]


def test_one_annotator_may_not_say_two_things_at_once(tmp_path: Path) -> None:
    """annotation 6: refuse if they conflict"""
    with small(tmp_path) as project:
        with pytest.raises(InvalidLabels) as raised:
            take_in(project, line("1", sentiment="positive"), line("1", sentiment="negative"))
        assert str(raised.value.problems[0]) == (
            "labels.jsonl:2: the answer to 'sentiment' differs from line 1, by the same annotator to the same item, and neither is later"
        )
        first, second = (
            line("1", at=f"2026-11-29T14:15:0{n}Z", sentiment=s) for n, s in ((2, "positive"), (1, "negative"))
        )
        take_in(project, first, second)
        assert exported(project)[0]["annotations"] == {"sentiment": "positive"}


def test_a_missing_file_of_labels_is_said(tmp_path: Path) -> None:
    with small(tmp_path) as project, pytest.raises(InvalidLabels, match=r"no\.jsonl: there is no such file"):
        import_labels(project.project, project.database, tmp_path / "no.jsonl")


def test_a_dry_run_says_what_would_become_of_the_file_and_does_nothing(tmp_path: Path) -> None:
    with small(tmp_path) as project:
        project.save(project.user("ann"), 1, {"sentiment": "positive"})
        before = export(project)
        report = take_in(
            project,
            line("1", at="2027-01-01T00:00:00Z", sentiment="negative"),
            line("2", sentiment="negative"),
            line("1", "bob", sentiment="negative"),
            dry_run=True,
        )
        assert list(report.sentences()) == [
            "3 lines by 2 annotators",
            "2 would be new, 1 would be changed, 0 there already",
        ]
        assert export(project) == before
        assert [count(project, t) for t in ("imports", "import_rows", "users")] == [0, 0, 1]


def test_what_the_other_answers_do_not_call_for_is_left_out_and_counted(tmp_path: Path) -> None:
    why = {"annotation_type": "text", "name": "a_why", "description": "Why?", "show_if": {"sentiment": "negative"}}
    with small(tmp_path, 3, annotation_schemes=[SENTIMENT, why]) as project:
        project.save(project.user("bob"), 1, {"sentiment": "negative", "a_why": "so"})
        lines = [
            line("1", sentiment="positive", a_why="no reason to say"),
            line("2", sentiment="negative"),
            line("2", a_why="from a line of its own"),
            line("1", "bob", at="2027-01-01T00:00:00Z", sentiment="positive"),
            line("3", a_why="nobody asked"),
        ]
        told = "2 {}left out, because what else is answered does not call for their questions"
        assert told.format("would be ") in list(take_in(project, *lines, dry_run=True).sentences())
        report = take_in(project, *lines)
        assert (report.outcome.new, report.outcome.changed, report.outcome.unasked) == (3, 1, 2)
        assert told.format("") in list(report.sentences())
        given = {(each["id"], each["annotator"]): each["annotations"] for each in exported(project)}
        assert given == {
            ("1", "ann"): {"sentiment": "positive"},
            ("1", "bob"): {"sentiment": "positive"},
            ("2", "ann"): {"sentiment": "negative", "a_why": "from a line of its own"},
        }


def filled(project: Small) -> None:
    """Answers of every kind: skips, suggestions taken and changed, odd names."""
    ann, odd = project.user("ann"), project.user('=1+1, "x"')
    shown = {"run_id": "r", "model_version": "m", "payload": "positive", "confidence": 0.75}
    project.save(ann, 1, {"sentiment": "positive"}, suggestions={"sentiment": shown}, elapsed_ms=900)
    project.save(ann, 2, {"sentiment": "negative", "sure": 2, "topics": ["size", 'it\'s, "odd"']}, later(1))
    project.save(odd, 1, {"sentiment": "negative"}, later(2))
    project.skip(odd, 2, "two, things\r\nat once", later(3))
    project.skip(odd, 3, None, later(4))


@pytest.mark.parametrize("form", ["jsonl", "csv", "tsv"])
def test_export_import_export_is_a_fixed_point(tmp_path: Path, form: str) -> None:
    """annotation 14, 11"""
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    with small(tmp_path / "a", annotation_schemes=SCHEMES) as project:
        filled(project)
        export_file(project.project, project.database, tmp_path / f"out.{form}", form)
        first = (tmp_path / f"out.{form}").read_bytes()
        again = import_labels(project.project, project.database, tmp_path / f"out.{form}")
        assert (again.outcome.new, again.outcome.changed, again.outcome.kept) == (0, 0, 0)
        assert export(project, form).encode() == first
    with small(tmp_path / "b", annotation_schemes=SCHEMES) as other:
        import_labels(other.project, other.database, tmp_path / f"out.{form}")
        assert export(other, form).encode() == first


def test_a_table_gives_back_what_was_in_it(tmp_path: Path) -> None:
    """annotation 11"""
    odd = ["a,b", 'say "hi"', "two\nlines", "cr\rlf\r\n", "tab\there", "=SUM(A1)", "@x", " "]
    write_rows(tmp_path, [{"id": f"{n},{text}", "text": text + "."} for n, text in enumerate(odd)])
    labels = ["it's", "a:b", "x, y", 'say "hi"', "<cat>", "A/B", "اسم", "=1"]
    config = make_project(tmp_path, annotation_schemes=[{**SENTIMENT, "labels": labels}])
    with opened(config) as database:
        load_items(config, database)
        project = Small(config, database)
        ann = project.user("ann")
        for seq, label in enumerate(labels, 1):
            project.save(ann, seq, {"sentiment": label})
        rows = list(csv.DictReader(io.StringIO(export(project, "csv"), newline="")))
        assert [(row["id"], row["text"], row["annotations.sentiment"]) for row in rows] == [
            (f"{n},{text}", text + ".", label) for n, (text, label) in enumerate(zip(odd, labels, strict=True))
        ]
        guarded = list(csv.DictReader(io.StringIO(export(project, "csv", guard_formulas=True), newline="")))
        assert [row["text"] for row in guarded if row["text"].startswith("'")] == ["'=SUM(A1).", "'@x."]
        assert json.loads(export(project).splitlines()[7])["annotations"] == {"sentiment": "=1"}


def test_a_file_and_its_manifest_say_the_same_as_the_store(tmp_path: Path) -> None:
    with small(tmp_path, annotation_schemes=SCHEMES) as project:
        filled(project)
        export_file(project.project, project.database, tmp_path / "out.jsonl")
        assert len((tmp_path / "out.jsonl").read_text().splitlines()) == 5
        assert json.loads((tmp_path / "out.jsonl.manifest.json").read_text()) == {
            "format": "jsonl",
            "lines": 5,
            "items": 3,
            "annotators": 2,
            "annotations": 5,
            "by_scheme": {"sentiment": 3, "sure": 1, "topics": 1},
            "skipped": 2,
            "flagged": 0,
            "extra": 1,
            "adjudicated": {},
            "pre_labels": {},
            "no_longer_in_project": {},
        }
        assert project.read(annotations.count_by_scheme) == {"sentiment": 3, "sure": 1, "topics": 1}


def test_labels_that_left_the_project_are_exported_counted_and_taken_back(tmp_path: Path) -> None:
    """annotation 19: export"""
    with small(tmp_path, annotation_schemes=SCHEMES) as project:
        filled(project)
        whole = export(project)
        fewer = {**SENTIMENT, "labels": ["positive", "mixed"]}
        left = Small(make_project(tmp_path, annotation_schemes=[fewer]), project.database)
        assert export(left) == whole
        manifest = export_labels(left.project, left.database, io.BytesIO())
        assert {name: dict(counts) for name, counts in manifest.no_longer_in_project.items()} == {
            "sentiment": {"negative": 2},
            "sure": {"2": 1},
            "topics": {'["size", "it\'s, \\"odd\\""]': 1},
        }
        (tmp_path / "out.jsonl").write_text(whole)
        outcome = import_labels(left.project, left.database, tmp_path / "out.jsonl").outcome
        assert (outcome.new, outcome.changed, outcome.kept) == (0, 0, 0)
        with pytest.raises(InvalidLabels, match="'negative' is not a label"):
            take_in(left, line("3", "cem", sentiment="negative"))


def test_a_live_models_suggestions_are_exported_beside_human_answers_and_never_become_some(tmp_path: Path) -> None:
    """annotation 58: the export shows both"""
    with small(tmp_path, 4, annotation_schemes=SCHEMES) as project:
        project.save(project.user("ann"), 1, {"sentiment": "negative"})
        suggest(
            project,
            ("sentiment", 1, "positive", None),
            ("sentiment", 2, "positive", "low_confidence"),
            ("sentiment", 3, "positive", None),
            ("topics", 3, [], None),
            ("sentiment", 4, "negative", "hidden"),
        )
        said = {"run_id": "r1", "model_version": "v1", "confidence": 0.75}
        assert exported(project) == [
            line("1", at=to_text(NOW), sentiment="negative"),
            {"id": "1", "pre_labels": {"sentiment": {**said, "payload": "positive"}}},
            {
                "id": "3",
                "pre_labels": {"sentiment": {**said, "payload": "positive"}, "topics": {**said, "payload": []}},
            },
            {"id": "4", "pre_labels": {"sentiment": {**said, "payload": "negative", "hidden": True}}},
        ]
        export_file(project.project, project.database, tmp_path / "out.jsonl")
        manifest = json.loads((tmp_path / "out.jsonl.manifest.json").read_text())
        assert (manifest["annotations"], manifest["pre_labels"]) == (1, {"sentiment": 3, "topics": 1})
        report = import_labels(project.project, project.database, tmp_path / "out.jsonl")
        assert (report.outcome.new, report.outcome.changed, report.pre_labels) == (0, 0, 3)
        assert export(project) == (tmp_path / "out.jsonl").read_text()
        assert len(export(project, "csv").splitlines()) == 2


def suggest(project: Small, *said: tuple[str, int, Any, str | None]) -> None:
    """Have the live run `r1` say so: scheme, item, answer, and the gate that holds it back."""

    run = Run("r1", State.SUCCESS, "sklearn-text", ["sentiment"], {}, "api", "local", "local", to_text(NOW))
    rows = [Stored(item, scheme, payload, 0.75, None, gate) for scheme, item, payload, gate in said]
    with project.database.write() as connection:
        runs.add(connection, replace(run, model_version="v1"))
        predictions.add(connection, "r1", rows)
        predictions.set_live(connection, "r1", ["sentiment", "topics"], to_text(NOW))


def test_an_export_that_would_differ_from_the_store_is_not_put_in_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with small(tmp_path) as project:
        filled(project)
        (tmp_path / "out.jsonl").write_text("before")
        monkeypatch.setattr("potato.items.exporting.count_skips", lambda _: 7)
        with pytest.raises(ExportDiffers):
            export_file(project.project, project.database, tmp_path / "out.jsonl")
        assert (tmp_path / "out.jsonl").read_text() == "before"
        assert sorted(path.name for path in tmp_path.glob("out*")) == ["out.jsonl"]


def staged(project: Small, lines: int) -> int:
    import_id = imports.begin(project.database, "x", replace=False, at=NOW)
    for start in range(1, lines + 1, imports.PIECE):
        rows = [
            imports.Staged(n, "ann", "sentiment", "positive", None, n)
            for n in range(start, min(start + imports.PIECE, lines + 1))
        ]
        with project.database.write() as conn:
            imports.stage(conn, import_id, rows)
    return import_id


def test_an_import_that_broke_off_before_its_instant_never_happened(tmp_path: Path) -> None:
    with small(tmp_path, 20) as project:
        staged(project, 20)
        assert exported(project) == []
        take_in(project, line("1", "bob", sentiment="negative"))
        assert len(exported(project)) == 1
        assert [count(project, t) for t in ("imports", "import_rows")] == [0, 0]


def test_an_import_that_broke_off_after_its_instant_is_finished_by_the_next_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from potato.items.tasks import load

    monkeypatch.setattr(imports, "PIECE", 8)
    with small(tmp_path, 20) as project:
        imports.commit(project.database, staged(project, 20))
        real = imports._write
        calls: list[int] = []

        def dies(*args: Any) -> None:
            calls.append(1)
            if len(calls) == 2:
                raise KeyboardInterrupt
            real(*args)

        monkeypatch.setattr(imports, "_write", dies)
        with pytest.raises(KeyboardInterrupt):
            imports.apply(project.database, project.rules)
        assert project.read(annotations.count_by_scheme) == {"sentiment": 8}
        monkeypatch.setattr(imports, "_write", real)
        load(project.project, project.database, {})
        assert len(exported(project)) == 20
        assert count(project, "annotation_history") == 20
        assert project.progress(project.user("ann")).total_done == 20


ANSWER = st.fixed_dictionaries(
    {},
    optional={
        "sentiment": st.sampled_from(["positive", "negative"]),
        "sure": st.integers(1, 5),
        "topics": st.lists(st.sampled_from(TOPICS["labels"]), unique=True),
    },
)
LINES = st.dictionaries(st.tuples(st.integers(1, 4), st.sampled_from(["ann", "b,b", "ç"])), ANSWER, max_size=12)


@settings(max_examples=20)
@given(lines=LINES, form=st.sampled_from(["jsonl", "csv", "tsv"]))
def test_any_labels_survive_the_round(tmp_path_factory: pytest.TempPathFactory, lines: Any, form: str) -> None:
    folder = tmp_path_factory.mktemp("round")
    with small(folder, 4, annotation_schemes=SCHEMES) as project:
        take_in(
            project, *(line(item, who, "2026-11-29T14:15:00Z", **answers) for (item, who), answers in lines.items())
        )
        first = export(project, form)
        said = {(int(each["id"]), each["annotator"]): each["annotations"] for each in exported(project)}
        order = dict.fromkeys(("topics",), TOPICS["labels"].index)
        assert said == {
            key: {n: sorted(v, key=order[n]) if n in order else v for n, v in answers.items()}
            for key, answers in lines.items()
            if answers
        }
        states = project.read(
            lambda conn: conn.exec_driver_sql("SELECT DISTINCT state FROM assignments").scalars().all()
        )
        assert set(states) <= {settling.State.DONE.value, settling.State.LAPSED.value}
    other = tmp_path_factory.mktemp("other")
    with small(other, 4, annotation_schemes=SCHEMES) as project:
        (other / f"in.{form}").write_bytes(first.encode())
        import_labels(project.project, project.database, other / f"in.{form}")
        assert export(project, form) == first or not lines


def test_real_reviews_come_in_and_go_out(tmp_path: Path, reviews: Path) -> None:
    items = [json.loads(each) for each in (reviews / "reviews.jsonl").read_text().splitlines()]
    ratings = [json.loads(each) for each in (reviews / "ratings.jsonl").read_text().splitlines()]
    write_rows(tmp_path, items)
    lines = [
        line(
            each["id"],
            f"rater-{k}",
            "2026-11-29T14:15:00Z",
            sentiment="positive" if each["ratings"][k] > 0 else "negative",
        )
        for each in ratings
        for k in range(5)
        if each["ratings"][k]
    ]
    config = make_project(tmp_path, annotations_per_item=5)
    with opened(config) as database:
        load_items(config, database)
        project = Small(config, database)
        assert take_in(project, *lines).outcome.new == len(lines)
        assert len(exported(project)) == len(lines)
        counted = project.read(lambda conn: sum(1 for _ in annotations.labels(conn, ["sentiment"])))
        assert counted == len(lines)
