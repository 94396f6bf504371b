"""Exports of odd stores, of every type of question in every format, and several at once."""

from __future__ import annotations

import contextlib
import json
import threading
import tracemalloc
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as NotYet
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select
from typer.testing import CliRunner

from conftest import ON_POSTGRES
from makers import NOW, SENTIMENT, SURE, TOPICS, Small, later, make_project, opened, small, write_rows
from potato.cli import build
from potato.items.exporters import EXPORTERS
from potato.items.exporting import Manifest, NeedsFolder, export_file
from potato.items.importers import PlainLine, plain_lines
from potato.items.importing import InvalidLabels, import_labels
from potato.items.loading import load_items
from potato.items.problems import InvalidData
from potato.items.tasks import load
from potato.schemes.registry import SCHEME_TYPES
from potato.store import accounts, adjudications, exporting, imports
from potato.store.adjudications import decided_at
from potato.store.clock import to_text
from potato.store.databases.bulk import insert_all
from potato.store.tables import annotations
from potato.store.training import predictions, runs
from potato.store.training.predictions import Stored
from potato.store.training.runs import Run, State

TEXT = "Ann Lee, of 💩 York"
LABELS = ["yes", "no", '["a"]']
YORK = {"start": 14, "end": 18, "label": "B", "text": "York"}
MORE = {**YORK, "start": 12, "label": "A", "text": "💩 York"}
ASKED: dict[str, tuple[dict[str, Any], list[Any]]] = {
    "radio": ({"labels": LABELS}, LABELS),
    "multiselect": ({"labels": LABELS}, [["yes", "no"], [], ['["a"]']]),
    "likert": ({"size": 5}, [1, 5, 3]),
    "slider": ({"min": 0, "max": 1, "step": 0.25}, [0, 1, 0.25]),
    "number": ({}, [0, -1.5e-7, 10**15]),
    "span": (
        {"labels": ["A", "B"]},
        [[MORE, YORK], [], [{**YORK, "start": 0, "end": 3, "text": "Ann"}]],
    ),
    "pairwise": ({}, ["a", "b", "tie"]),
    "text": ({}, ["5", '"said"', "null"]),
}  # fmt: skip
"""A question of each type, and what three annotators answer to it."""
FORMS = list(EXPORTERS)
SUFFIX = {"label-studio": "json", "spacy": "spacy.jsonl", "hf-datasets": "folder"}


def target(folder: Path, form: str) -> Path:
    return folder / f"out.{SUFFIX.get(form, form)}"


@pytest.fixture(scope="module")
def every_type(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Small]:
    """A project with a question of every type, answered by three annotators, and exported in every format."""
    folder = tmp_path_factory.mktemp("types")
    write_rows(folder, [{"id": "1", "text": TEXT, "text_a": "a", "text_b": "b"}])
    schemes = [
        {"annotation_type": type_, "name": type_, "description": f"{type_}?", "required": False, **more}
        for type_, (more, _) in ASKED.items()
    ]
    project = make_project(folder, annotation_schemes=schemes, annotations_per_item=3)
    with opened(project) as database:
        load_items(project, database)
        made = Small(project, database)
        for number, name in enumerate(("ann", "bob", "cem")):
            answers = {type_: made.parse(type_, values[number]) for type_, (_, values) in ASKED.items()}
            made.save(made.user(name), 1, answers, later(number))
        for form in EXPORTERS:
            export_file(project, database, target(folder, form), form)
        yield made


@pytest.mark.parametrize("type_", ASKED)
@pytest.mark.parametrize("form", FORMS)
def test_every_format_has_the_answers_of_every_type(every_type: Small, form: str, type_: str) -> None:
    path = target(every_type.project.task_dir, form)
    answers = [every_type.parse(type_, answer) for answer in ASKED[type_][1]]
    if EXPORTERS[form].comes_back:
        assert _said(path, every_type, type_) == answers
    else:
        lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
        assert [_learnt(line, type_) for line in lines] == [_to_learn(type_, answer) for answer in answers]


def _said(path: Path, project: Small, scheme: str) -> list[Any]:
    """The answers that an import of the file finds, by annotator."""
    lines = list(plain_lines(path, project.project, lambda ids: dict.fromkeys(ids, TEXT)))
    assert all(isinstance(line, PlainLine) for line in lines)
    by = {line.fields["annotator"]: line.fields["annotations"] for line in lines if isinstance(line, PlainLine)}
    return [project.parse(scheme, by[name][scheme]) for name in sorted(by)]


def _learnt(line: dict[str, Any], scheme: str) -> Any:
    """What a line for spaCy has of a question."""
    if scheme in line["spans"]:
        return line["spans"][scheme]
    return {name: yes for name, yes in line["cats"].items() if name.partition("=")[0] == scheme}


def _to_learn(type_: str, answer: Any) -> Any:
    if type_ == "span":
        return [[span["start"], span["end"], span["label"]] for span in answer]
    chosen = answer if isinstance(answer, list) else [answer]
    return {f"{type_}={label}": float(label in chosen) for label in LABELS} if type_ in ("radio", "multiselect") else {}


def test_no_type_of_question_is_left_out_here() -> None:
    assert set(ASKED) == {type_.model_json_schema()["properties"]["annotation_type"]["const"] for type_ in SCHEME_TYPES}


# ---- Odd stores


def _skipped_by_all(project: Small) -> None:
    for name, reason in (("ann", "no"), ("bob", None)):
        project.skip(project.user(name), 1, reason)
    project.save(project.user("ann"), 2, {"sentiment": "positive"})


def _annotator_removed(project: Small) -> None:
    ann = project.user("ann")
    project.save(ann, 1, {"sentiment": "positive"})
    project.flag(ann, 1, "odd")
    project.write(accounts.set_password, ann, None)
    project.write(lambda conn: accounts.set_link(conn, ann, None, later(1)))


def _decided_by_nobodys_answer(project: Small) -> None:
    """All answers were taken back after the decision."""
    ann = project.user("ann")
    project.save(ann, 1, {"sentiment": "positive"})
    project.write(adjudications.decide, [decided_at(1, "sentiment", "negative", "mira", later(1))])
    project.save(ann, 1, {"sentiment": None}, later(2))


ODD: dict[str, tuple[Callable[[Small], None], dict[str, Any]]] = {
    "skipped by all": (_skipped_by_all, {"annotations": 1, "items": 2, "annotators": 2, "skipped": 2}),
    "its annotator removed": (_annotator_removed, {"annotations": 1, "items": 1, "annotators": 1, "flagged": 1}),
    "decided, and no answer left": (
        _decided_by_nobodys_answer,
        {"annotations": 0, "items": 1, "annotators": 0, "adjudicated": {"sentiment": 1}},
    ),
    "nothing answered": (lambda _: None, {"annotations": 0, "items": 0, "annotators": 0}),
}


@pytest.mark.parametrize("what", ODD)
def test_an_odd_store_is_exported_whole_in_every_format(tmp_path: Path, what: str) -> None:
    make, counts = ODD[what]
    with small(tmp_path, 3, annotations_per_item=2) as project:
        make(project)
        for form, exporter in EXPORTERS.items():
            path = target(tmp_path, form)
            export_file(project.project, project.database, path, form)
            manifest = json.loads(Path(f"{path}.manifest.json").read_text())
            assert {name: manifest[name] for name in counts} == counts, form
            if exporter.comes_back:
                lines = [
                    line.fields for line in plain_lines(path, project.project, dict) if isinstance(line, PlainLine)
                ]
                said = sum(len(line["annotations"]) for line in lines if "annotator" in line)
                assert (len(lines), said) == (manifest["lines"], counts["annotations"]), form


def test_another_overlap_after_a_restart_changes_nothing_of_what_is_exported_but_what_is_extra(tmp_path: Path) -> None:
    """annotation 31: those are extra that came when enough others had answered."""
    schemes = [SENTIMENT]
    with small(tmp_path, 3, annotations_per_item=3, annotation_schemes=schemes) as project:
        load(project.project, project.database, {})
        for minute, name in enumerate(("cem", "ann", "bob")):
            project.save(project.user(name), 1, {"sentiment": "positive"}, later(minute))
        project.save(project.user("cem"), 1, {"sentiment": "negative"}, later(9))
        project.skip(project.user("ann"), 2, "no")
        exports = {form: _export(project, form) for form in EXPORTERS}
        lines = _lines(project)
        for overlap, extra in ((1, ["ann", "bob"]), (5, []), (2, ["bob"]), (3, [])):
            changed = make_project(tmp_path, annotations_per_item=overlap, annotation_schemes=schemes)
            load(changed, project.database, {})
            again = Small(changed, project.database)
            assert [line["annotator"] for line in _lines(again) if line.get("extra")] == extra
            assert [{**line, "extra": None} for line in _lines(again)] == [{**line, "extra": None} for line in lines]
        assert {form: _export(again, form) for form in EXPORTERS} == exports


def _lines(project: Small) -> list[dict[str, Any]]:
    return [json.loads(line) for line in _export(project, "jsonl")[0].splitlines()]


@pytest.mark.parametrize("form", [form for form, exporter in EXPORTERS.items() if exporter.comes_back])
def test_which_answers_are_extra_comes_back(tmp_path: Path, form: str) -> None:
    """annotation 31: also where the earlier of two has changed their mind since."""
    at = target(tmp_path, form)
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    with small(tmp_path / "a", 2) as project:
        for minute, (name, item) in enumerate((("cem", 1), ("ann", 1), ("bob", 2), ("ann", 2), ("cem", 1))):
            project.save(project.user(name), item, {"sentiment": "positive"}, later(minute))
        manifest = export_file(project.project, project.database, at, form)
        lines = _lines(project)
    assert [(line["id"], line["annotator"]) for line in lines if line.get("extra")] == [("1", "ann"), ("2", "ann")]
    assert manifest.extra == json.loads(Path(f"{at}.manifest.json").read_text())["extra"] == 2
    with small(tmp_path / "b", 2) as other:
        assert import_labels(other.project, other.database, at).outcome.new == 4
        assert _lines(other) == lines


def test_a_wrong_word_on_what_is_extra_is_told(tmp_path: Path) -> None:
    with small(tmp_path, 1) as project:
        line = {"id": "1", "annotator": "ann", "annotations": {"sentiment": "positive"}, "extra": "maybe"}
        write_rows(tmp_path, [line], "labels.jsonl")
        with pytest.raises(InvalidLabels, match=r"labels.jsonl:1: extra is a text; it is true or false"):
            import_labels(project.project, project.database, tmp_path / "labels.jsonl")


def _export(project: Small, form: str) -> tuple[bytes, dict[str, Any]]:
    path = target(project.project.task_dir, form)
    file = path / "data" / "train.parquet" if EXPORTERS[form].is_folder else path
    manifest = export_file(project.project, project.database, path, form).as_json()
    written = file.read_bytes()
    if EXPORTERS[form].is_folder:
        path.rename(path.with_name(f"before-{len(list(project.project.task_dir.iterdir()))}"))
    return written, manifest


# ---- Numbers


NUMBERS = [52.520006599999995, 0.30000000000000004, 123456789.12345679, 0.52308216292477, -135.8154514578912,
           1700000000.123456, 5e-324, 0, -3, 0.5, 10**15, -(10**15), 999999999999999.9]  # fmt: skip
"""Among them two of which SQLite, given their text, makes the number beside."""


@pytest.mark.parametrize("form", [form for form, exporter in EXPORTERS.items() if exporter.comes_back])
def test_a_number_comes_out_and_back_with_every_digit(tmp_path: Path, form: str) -> None:
    schemes = [{"annotation_type": "number", "name": "n", "description": "?"}]
    with small(tmp_path, len(NUMBERS), annotation_schemes=schemes) as project:
        ann = project.user("ann")
        for item, number in enumerate(NUMBERS, 1):
            project.save(ann, item, {"n": project.parse("n", number)})
        project.write(adjudications.decide, [decided_at(1, "n", NUMBERS[0], "mira", later(1))])
        at = target(tmp_path, form)
        export_file(project.project, project.database, at, form)
        assert _said_numbers(at, project) == [*NUMBERS, NUMBERS[0]]
        again = import_labels(project.project, project.database, at, replace=True).outcome
        assert dict(again.counts) == {"same": len(NUMBERS) + 1}


def _said_numbers(path: Path, project: Small) -> list[Any]:
    """The numbers that an import of the file finds: the answers, then what was decided."""
    lines = [line.fields for line in plain_lines(path, project.project, dict) if isinstance(line, PlainLine)]
    lines.sort(key=lambda fields: (bool(fields.get("adjudicator")), int(fields["id"])))
    return [project.parse("n", fields["annotations"]["n"]) for fields in lines]


def test_a_number_beside_an_answer_comes_out_as_it_is(tmp_path: Path) -> None:
    with small(tmp_path, 3) as project:
        for item, shown in enumerate((1e300, 0, 52.520006599999995), 1):
            line = {"id": str(item), "annotator": "ann", "annotations": {"sentiment": "positive"}}
            details = {"sentiment": {"shown": shown, "suggestion": {"confidence": 0.30000000000000004}}}
            write_rows(tmp_path, [{**line, "details": details}], "labels.jsonl")
            import_labels(project.project, project.database, tmp_path / "labels.jsonl")
            assert _lines(project)[-1]["details"]["sentiment"] == details["sentiment"]


def test_what_json_has_no_number_for_is_null_and_stops_no_export(tmp_path: Path) -> None:
    """Numbers that are too large are refused at the door: `test_labels`."""
    with small(tmp_path) as project:
        (tmp_path / "labels.jsonl").write_text(
            '{"id":"1","annotator":"ann","annotations":{"sentiment":"positive"},"details":{"sentiment":{"shown":[NaN]}}}'
        )
        import_labels(project.project, project.database, tmp_path / "labels.jsonl")
        exports = {form: _export(project, form) for form in EXPORTERS}
        assert exports["jsonl"][1]["annotations"] == 1
        assert _lines(project)[0]["details"]["sentiment"]["shown"] == [None]


@pytest.mark.skipif(ON_POSTGRES, reason="PostgreSQL keeps no such number")
def test_a_store_that_holds_an_infinity_by_now_can_be_exported(tmp_path: Path) -> None:
    with small(tmp_path) as project:
        project.save(project.user("ann"), 1, {"sentiment": "positive"})
        odd = """UPDATE annotations SET suggestion = '{"confidence": Infinity}', shown = '[NaN, -Infinity]'"""
        project.write(lambda conn: conn.exec_driver_sql(odd))
        (made,) = _lines(project)
        details = made["details"]["sentiment"]
        assert (details["suggestion"], details["shown"]) == ({"confidence": None}, [None, None])


# ---- What models suggest


def test_a_suggestion_is_exported_as_the_answer_that_it_stands_for_by_now(tmp_path: Path) -> None:
    """Renamed labels have their new names, and a suggestion of a label or question that has left is left out."""
    topics = {**TOPICS, "labels": ["price", "size", "place"]}
    said = [("sentiment", 1, "positive"), ("topics", 1, ["price", "size"]), ("sentiment", 2, "negative"),
            ("topics", 2, ["place"]), ("sure", 3, 2), ("topics", 3, ["size"])]  # fmt: skip
    with small(tmp_path, 3, annotation_schemes=[SENTIMENT, topics, SURE]) as project:
        _suggest(project, said)
        assert _suggested(project) == said
        renamed = {**SENTIMENT, "labels": ["good", "bad"], "label_renames": {"positive": "bad"}}
        fewer = {**TOPICS, "labels": ["cost", "size"], "label_renames": {"price": "cost"}}
        by_now = Small(make_project(tmp_path, annotation_schemes=[renamed, fewer]), project.database)
        assert _suggested(by_now) == [("sentiment", 1, "bad"), ("topics", 1, ["cost", "size"]), ("topics", 3, ["size"])]
        assert _export(by_now, "jsonl")[1]["pre_labels"] == {"sentiment": 1, "topics": 2}


def test_labels_that_have_changed_places_are_exchanged_once(tmp_path: Path) -> None:
    swapped = {**SENTIMENT, "label_renames": {"positive": "negative", "negative": "positive"}}
    with small(tmp_path, 1, annotation_schemes=[swapped]) as project:
        _suggest(project, [("sentiment", 1, "positive")])
        assert _suggested(project) == [("sentiment", 1, "negative")]


def _suggest(project: Small, said: list[tuple[str, int, Any]]) -> None:
    run = Run("r1", State.SUCCESS, "t", ["sentiment"], {}, "api", "local", "local", to_text(NOW), model_version="v1")
    rows = [Stored(item, scheme, payload, 0.75, None, None) for scheme, item, payload in said]
    with project.database.write() as connection:
        runs.add(connection, run)
        predictions.add(connection, "r1", rows)
        predictions.set_live(connection, "r1", [*project.project.schemes], to_text(NOW))


def _suggested(project: Small) -> list[tuple[str, int, Any]]:
    """What the lines without an annotator say: scheme, item, answer."""
    return [
        (scheme, int(line["id"]), each["payload"])
        for line in _lines(project)
        for scheme, each in line["pre_labels"].items()
    ]


# ---- Imports that are not at their end


def _broken_off(project: Small, monkeypatch: pytest.MonkeyPatch) -> None:
    """An import of an answer to each item that has happened, but was applied to a part of them only."""
    lines = [{"id": str(n), "annotator": "ann", "annotations": {"sentiment": "positive"}} for n in range(1, 6)]
    write_rows(project.project.task_dir, lines, "labels.jsonl")
    apply_piece, done = imports._apply_piece, []

    def die(*args: Any) -> bool:
        if done:
            raise KeyboardInterrupt
        done.append(1)
        return apply_piece(*args)

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr("potato.store.imports.PIECE", 2)
        patch.setattr("potato.store.imports._apply_piece", die)
        import_labels(project.project, project.database, project.project.task_dir / "labels.jsonl")
    assert project.read(exporting.has_unfinished_import)


def test_an_export_finishes_an_import_that_was_broken_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whole or not at all, also for who looks at the store before the next start."""
    with small(tmp_path, 5) as project:
        _broken_off(project, monkeypatch)
        assert len(project.read(lambda conn: conn.execute(select(annotations)).all())) == 2
        result = CliRunner().invoke(build(), ["export", str(project.project.file)])
        assert result.exit_code == 0
        assert len(result.stdout.splitlines()) == len(_lines(project)) == 5
        assert not project.read(exporting.has_unfinished_import)


def test_an_export_waits_for_an_import_that_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with small(tmp_path, 5) as project, ThreadPoolExecutor(1) as pool:
        _broken_off(project, monkeypatch)
        with project.database.exclusive("import", project.project.output_dir):  # as the process that applies it
            made = pool.submit(_lines, project)
            with pytest.raises(NotYet):
                made.result(0.3)
            imports.apply(project.database, project.rules)
        assert len(made.result()) == 5


# ---- An export beside the data that it is of


@pytest.mark.parametrize("form", ["jsonl", "csv", "tsv", "label-studio"])
def test_an_export_that_is_loaded_as_data_beside_its_source_takes_no_label_away(tmp_path: Path, form: str) -> None:
    """annotation 5, 6: the file is refused, as its rows are other items of the same ids, or none."""
    with small(tmp_path, 3) as project:
        project.save(project.user("ann"), 1, {"sentiment": "positive"})
        before = export_file(project.project, project.database, target(tmp_path, form), form)
        both = make_project(tmp_path, data_files=["data.jsonl", target(tmp_path, form).name])
        with pytest.raises(InvalidData, match=r"out\.\w+:\d+: (the id '1' has other content|there is no field)"):
            load_items(both, project.database)
        assert export_file(project.project, project.database, target(tmp_path, form), form) == before


def test_a_copy_of_the_data_takes_no_label_away_whichever_copy_was_labelled(tmp_path: Path) -> None:
    """annotation 6"""
    with small(tmp_path, 3) as project:
        project.save(project.user("ann"), 2, {"sentiment": "positive"})
        (tmp_path / "copy.jsonl").write_bytes((tmp_path / "data.jsonl").read_bytes())
        for files in (["data.jsonl", "copy.jsonl"], ["copy.jsonl", "data.jsonl"], ["copy.jsonl"]):
            report = load_items(make_project(tmp_path, data_files=files), project.database)
            assert report.added == 0
        manifest = export_file(project.project, project.database, target(tmp_path, "jsonl"))
        assert (manifest.answers.total(), manifest.items) == (1, 1)


# ---- Large ones


HELD = 100_000
"""Bytes; to hold the lines of the larger export takes several times as many."""


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Small]]:
    """Two projects; the second has eight times the answers of the first."""
    with contextlib.ExitStack() as closing:
        yield [closing.enter_context(_answered(tmp_path_factory.mktemp("large"), count)) for count in (100, 800)]


@contextlib.contextmanager
def _answered(folder: Path, count: int) -> Iterator[Small]:
    with small(folder, count // 2) as project:
        people = [project.user(name) for name in ("ann", "bob")]
        columns = ("item", "user", "scheme", "value", "at", "source", "origin")
        at, value = to_text(NOW), '"positive"'
        rows = [(1 + n // 2, people[n % 2], "sentiment", value, at, "page", "none") for n in range(count)]
        assert project.write(insert_all, annotations, columns, rows)
        yield project


@pytest.mark.parametrize("form", [name for name, each in EXPORTERS.items() if not each.is_folder])
def test_an_export_of_eight_times_the_answers_takes_no_more_memory(
    large: list[Small], form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """annotation 67: streamed"""
    monkeypatch.setattr("potato.items.exporters.parquet.ROWS", 50)
    monkeypatch.setitem(exporting._STREAMED, "yield_per", 50)
    for project in large:  # what is imported or kept at the first export
        export_file(project.project, project.database, project.project.task_dir / f"first.{form}", form)
    few, many = (_peak(project, form) for project in large)
    assert many < few + HELD


def _peak(project: Small, form: str) -> int:
    """The most memory that an export has held at once."""
    tracemalloc.start()
    try:
        manifest = export_file(project.project, project.database, target(project.project.task_dir, form), form)
        assert manifest.lines == manifest.answers.total() > 0
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


# ---- Several at once


def test_exports_at_once_to_one_file_leave_one_whole_export_with_its_own_manifest(tmp_path: Path) -> None:
    """And annotators go on saving meanwhile."""
    with small(tmp_path, 30) as project:
        users = [project.user(name) for name in ("ann", "bob")]
        path, stop, seq = tmp_path / "out.jsonl", threading.Event(), iter(range(1, 31))

        def export() -> Manifest:
            return export_file(project.project, project.database, path)

        def annotate() -> None:
            while not stop.is_set() and (item := next(seq, None)) is not None:
                for user in users:
                    project.save(user, item, {"sentiment": "positive"})

        with ThreadPoolExecutor(7) as pool:
            annotator = pool.submit(annotate)
            made = [each.result() for each in [pool.submit(export) for _ in range(12)]]
            stop.set()
            annotator.result()
        manifest = json.loads(Path(f"{path}.manifest.json").read_text())
        lines = path.read_text().splitlines()
        assert manifest["lines"] == manifest["annotations"] == len(lines)
        assert manifest in [{"format": "jsonl", **each.as_json()} for each in made]
        assert list(tmp_path.glob("*.part")) == []


def test_of_folders_at_once_to_one_place_the_first_stays(tmp_path: Path) -> None:
    with small(tmp_path) as project:
        project.save(project.user("ann"), 1, {"sentiment": "positive"})
        out, both = tmp_path / "out", threading.Barrier(2)

        def export() -> str:
            both.wait()
            try:
                export_file(project.project, project.database, out, "hf-datasets")
            except NeedsFolder as taken:
                return taken.message
            return ""

        with ThreadPoolExecutor(2) as pool:
            said = sorted(each.result() for each in [pool.submit(export) for _ in range(2)])
        assert said == ["", f"{out} is there already; hf-datasets is a new folder"]
        assert sorted(each.name for each in tmp_path.glob("out*")) == ["out", "out.manifest.json"]
