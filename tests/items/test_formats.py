"""Every format of `potato export`, with answers of every kind: what it holds, and that it comes back."""

# ruff: noqa: E501, RUF001 (tables, a line each; odd characters are what is tested)

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from makers import NOW, SENTIMENT, SURE, TOPICS, Small, later, make_project, opened, small, write_rows
from potato.items.exporters import EXPORTERS, NoPackage, UnknownFormat
from potato.items.exporting import NeedsFolder, export_file, export_labels
from potato.items.importing import InvalidLabels, import_labels
from potato.items.loading import load_items

TEXTS = ["plain text", "\n💩 ab  👩\u200d❤️\u200d👩 cd\té 𝔘 end\r\n", "a<b && c, \"said\" 'x'", "=SUM(A1)", "last"]
ODD_LABELS = ["it's", "a:b", "x, y", 'say "hi"', "<cat>", "A/B", "اسم", "=1", "l" * 200]
KINDS = [
    {**SENTIMENT, "labels": ["positive", "negative", *ODD_LABELS], "required": False},
    TOPICS,
    SURE,
    {"annotation_type": "number", "name": "price", "description": "How much?", "required": False},
    {"annotation_type": "slider", "name": "warm", "description": "How warm?", "min": 0, "max": 1, "step": 0.25, "required": False},
    {"annotation_type": "text", "name": "why", "description": "Why?", "required": False},
    {"annotation_type": "pairwise", "name": "better", "description": "Which?", "required": False},
    {"annotation_type": "span", "name": "parts", "description": "Which parts?", "labels": ["A", "b, c"], "required": False},
]  # fmt: skip
RETURNING = [name for name, exporter in EXPORTERS.items() if exporter.comes_back]


def span(text: str, quoted: str, label: str = "A") -> dict[str, Any]:
    start = text.index(quoted)
    return {"start": start, "end": start + len(quoted), "label": label, "text": quoted}


@contextmanager
def every_kind(folder: Path) -> Iterator[Small]:
    """A project with a question of every kind, over odd texts."""
    folder.mkdir(exist_ok=True)
    rows = [{"id": f"{n}, x", "text": t, "text_a": "a", "text_b": "b"} for n, t in enumerate(TEXTS, 1)]
    write_rows(folder, rows)
    project = make_project(folder, annotation_schemes=KINDS, annotations_per_item=2)
    with opened(project) as database:
        load_items(project, database)
        yield Small(project, database)


def answer_everything(project: Small) -> None:
    ann, odd = project.user("ann"), project.user('=1+1, "x"')
    marked = [span(TEXTS[1], "end"), span(TEXTS[1], "💩 ab", "b, c"), span(TEXTS[1], "ab  👩\u200d❤️")]
    taken = {"run_id": "r", "model_version": "m", "payload": "positive", "confidence": 0.5}
    project.save(ann, 1, {"sentiment": "positive", "price": 0, "warm": 0.25, "why": "so, \"so\"\n\tand = 'so'"},
                 suggestions={"sentiment": taken}, elapsed_ms=1200)  # fmt: skip
    project.save(ann, 2, {"parts": project.parse("parts", marked), "better": "tie", "topics": []}, later(1))
    project.save(odd, 2, {"parts": [], "better": "a", "topics": ["size", 'it\'s, "odd"'], "sure": 5}, later(2))
    project.save(odd, 1, {"price": -1.5e-7, "warm": 1, "why": "=1", "better": "b"}, later(3))
    project.save(ann, 3, {"parts": [span(TEXTS[2], TEXTS[2])], "price": 10**15}, later(4))
    for seq, label in enumerate(ODD_LABELS[:5], 1):
        project.save(project.user(f"rater {label[:9]}"), seq, {"sentiment": label}, later(5))
    project.skip(odd, 4, 'no, "really"\r\nnot', later(6))
    project.skip(odd, 5, None, later(7))
    project.next(ann, later(8))  # item 4, which stays unanswered
    for seq, reason in ((1, 'odd, "this"'), (4, "")):
        project.flag(ann, seq, reason)
    project.flag(odd, 4, '"said"')
    project.skip(ann, 5, "yes", later(9))
    project.flag(ann, 5, "yes")


def plain(project: Small) -> list[dict[str, Any]]:
    file = io.BytesIO()
    export_labels(project.project, project.database, file)
    return [json.loads(line) for line in file.getvalue().decode().splitlines()]


def bare(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The lines without what only some formats keep."""
    return [{name: value for name, value in line.items() if name != "details"} for line in lines]


def written(path: Path) -> list[bytes]:
    """What an export has written, a file or a folder."""
    return [each.read_bytes() for each in ([path] if path.is_file() else sorted(path.rglob("*"))) if each.is_file()]


@pytest.mark.parametrize("form", RETURNING)
def test_what_is_exported_comes_back_and_is_exported_the_same(tmp_path: Path, form: str) -> None:
    """annotation 14, 11, 21"""
    suffix = {"label-studio": "json", "hf-datasets": "folder"}.get(form, form)
    first, second = tmp_path / f"first.{suffix}", tmp_path / f"second.{suffix}"
    with every_kind(tmp_path / "a") as project:
        answer_everything(project)
        manifest = export_file(project.project, project.database, first, form)
        again = import_labels(project.project, project.database, first)
        assert (again.outcome.new, again.outcome.changed, again.outcome.kept) == (0, 0, 0)
        lines = plain(project)
    assert manifest.answers.total() == 22
    assert [line["flagged"] for line in lines if "flagged" in line] == ['odd, "this"', '"said"', "", "yes"]
    assert [line["skipped"] for line in lines if "skipped" in line] == ['no, "really"\r\nnot', "", "yes"]
    with every_kind(tmp_path / "b") as other:
        report = import_labels(other.project, other.database, first)
        assert report.outcome.new == 22 + 3 + 4  # the answers, skips and flags
        assert report.lines == len(lines)
        assert bare(plain(other)) == bare(lines)
        if form in ("jsonl", "parquet", "hf-datasets"):
            assert plain(other) == lines
        export_file(other.project, other.database, second, form)
    assert written(second) == written(first)
    assert json.loads(Path(f"{first}.manifest.json").read_text())["by_scheme"] == dict(manifest.answers)


def test_parquet_has_a_typed_column_for_each_question(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    with every_kind(tmp_path / "a") as project:
        answer_everything(project)
        export_file(project.project, project.database, tmp_path / "out.parquet", "parquet")
    table = parquet.read_table(tmp_path / "out.parquet")
    types = {field.name: str(field.type) for field in table.schema}
    assert types["annotations.price"] == "double"
    assert types["annotations.sure"] == "int64"
    assert types["annotations.topics"] == "list<element: string>"
    assert types["at"] == "timestamp[ms, tz=UTC]"
    rows = table.to_pylist()
    assert next(row["text"] for row in rows if row["id"] == "2, x") == TEXTS[1]
    marked = next(row["annotations.parts"] for row in rows if row["id"] == "2, x" and row["annotator"] == "ann")
    assert [TEXTS[1][each["start"] : each["end"]] for each in marked] == [each["text"] for each in marked]
    assert next(row["at"] for row in rows if row["annotator"] == "ann") == NOW


@pytest.mark.parametrize("form", RETURNING)
def test_a_question_that_changed_its_type_or_left_is_exported_all_the_same(tmp_path: Path, form: str) -> None:
    """annotation 19"""
    out = tmp_path / f"out.{'json' if form == 'label-studio' else form}"
    with every_kind(tmp_path / "a") as project:
        answer_everything(project)
        for seq, odd in enumerate(("5", "null", '["a"]'), 1):
            project.save(project.user("cem"), seq, {"why": odd}, later(10))
        lines = plain(project)
        now = [
            {**KINDS[0], "annotation_type": "multiselect"},
            *({**each, "name": each["name"] + "2"} for each in KINDS[1:]),
        ]
        changed = Small(make_project(tmp_path / "a", annotation_schemes=now), project.database)
        manifest = export_file(changed.project, changed.database, out, form)
        assert sum(manifest.no_longer_in_project["sentiment"].values()) == 6
        outcome = import_labels(changed.project, changed.database, out).outcome
        assert (outcome.new, outcome.changed) == (0, 0)
        assert plain(changed) == lines


def test_label_studio_counts_utf16_units_and_both_counts_are_read(tmp_path: Path) -> None:
    """annotation 16"""
    with every_kind(tmp_path / "a") as project:
        answer_everything(project)
        export_file(project.project, project.database, tmp_path / "out.json", "label-studio")
        tasks = json.loads((tmp_path / "out.json").read_text("utf-8"))
        found = [part["value"] for part in tasks[1]["annotations"][1]["result"] if part["from_name"] == "parts"]
        units = TEXTS[1].encode("utf-16-le")
        assert [units[2 * v["start"] : 2 * v["end"]].decode("utf-16-le") for v in found] == [v["text"] for v in found]
        for value in found:  # as a tool that counts code points would have written it
            value["start"] = TEXTS[1].index(value["text"])
            value["end"] = value["start"] + len(value["text"])
        (tmp_path / "points.json").write_text(json.dumps(tasks))
        outcome = import_labels(project.project, project.database, tmp_path / "points.json").outcome
        assert (outcome.new, outcome.changed, outcome.kept) == (0, 0, 0)


LABEL_STUDIO = [
    {
        "id": 7,
        "data": {"id": "1, x", "text": "plain text"},
        "predictions": [{"model_version": "m", "result": []}],
        "annotations": [
            {
                "id": 1,
                "completed_by": 3,
                "lead_time": 4.2,
                "updated_at": "2026-11-29T14:15:00.123456Z",
                "was_cancelled": False,
                "result": [
                    {"id": "x", "type": "choices", "from_name": "sentiment", "to_name": "t", "value": {"choices": ["negative"]}},
                    {"id": "y", "type": "labels", "from_name": "parts", "to_name": "t", "value": {"start": 0, "end": 5, "labels": ["A"]}},
                    {"id": "z", "type": "textarea", "from_name": "why", "to_name": "t", "value": {"text": ["because"]}},
                    {"id": "w", "type": "rating", "from_name": "sure", "to_name": "t", "value": {"rating": 4}},
                    {"id": "v", "type": "relation", "from_id": "x", "to_id": "y"},
                ],
            },
            {"completed_by": {"id": 4, "email": "bob@example.org"}, "was_cancelled": True, "result": []},
        ],
    }
]  # fmt: skip


def test_label_studios_own_export_is_taken_in(tmp_path: Path) -> None:
    with every_kind(tmp_path / "a") as project:
        (tmp_path / "studio.json").write_text(json.dumps(LABEL_STUDIO, indent=1))
        import_labels(project.project, project.database, tmp_path / "studio.json", clock=lambda: NOW)
        first, second = plain(project)
    assert first["annotator"] == "3"
    assert first["at"] == "2026-11-29T14:15:00.123Z"
    assert first["annotations"] == {
        "sentiment": "negative",
        "parts": [{"start": 0, "end": 5, "label": "A", "text": "plain"}],
        "why": "because",
        "sure": 4,
    }
    assert (second["annotator"], second["annotations"], second["skipped"]) == ("bob@example.org", {}, "")


@pytest.mark.parametrize(
    ("task", "said"),
    [
        ({"data": {"text": "x"}, "annotations": []}, "the task's data has no 'id', the item's id"),
        ({"data": {"id": "1, x"}, "annotations": [{"result": [{"from_name": "sentiment"}]}]}, "does not have the shape"),
        ({"data": {"id": "1, x"}, "annotations": [{"completed_by": 1, "result": [{"from_name": "parts", "value":
            {"start": 3, "end": 99, "labels": ["A"], "text": "x"}}]}]}, "the span of 'parts' from 3 to 10 has 7 characters"),
        ({"data": {"id": "1, x"}, "annotations": [{"completed_by": 1, "result": [{"from_name": "parts", "value":
            {"start": math.inf, "end": 99, "labels": ["A"]}}]}]}, "does not have the shape"),
        ({"data": {"id": "1, x"}, "annotations": 5}, "the task's annotations are a number, not a list"),
        ({"data": {"id": "1, x"}, "annotations": {"a": 1}}, "the task's annotations are an object, not a list"),
        ({"data": {"id": "\ud800"}, "annotations": [{"completed_by": 1, "result": []}]}, "the project has no item"),
        ({"data": {"id": "1, x"}, "annotations": [{"completed_by": 1, "was_cancelled": True, "result": [],
            "meta": {"reason": {"a": 1}}}]}, "skipped is an object; it is a text, the reason"),
    ],
)  # fmt: skip
def test_what_is_wrong_in_label_studios_json_is_said(tmp_path: Path, task: dict[str, Any], said: str) -> None:
    with every_kind(tmp_path / "a") as project:
        (tmp_path / "studio.json").write_text(json.dumps([task]).replace("Infinity", "1e999"))
        with pytest.raises(InvalidLabels, match=said):
            import_labels(project.project, project.database, tmp_path / "studio.json")


def test_a_cancelled_annotation_without_a_reason_is_skipped_for_none(tmp_path: Path) -> None:
    cancelled = {"completed_by": 1, "was_cancelled": True, "result": [], "meta": {"reason": None}}
    with every_kind(tmp_path / "a") as project:
        (tmp_path / "studio.json").write_text(json.dumps([{"data": {"id": "1, x"}, "annotations": [cancelled]}]))
        import_labels(project.project, project.database, tmp_path / "studio.json")
        assert plain(project)[0]["skipped"] == ""


def pair(schema: str, name: str, value: Any) -> list[Any]:
    return [{"schema": schema, "name": name}, value]


STATE: dict[str, Any] = {  # as release 2.12.1 writes it, shortened
    "user_id": "mira",
    "instance_id_ordering": ["1, x", "2, x", "3, x"],
    "current_instance_index": 2,
    "current_phase_and_page": ["annotation", "annotation"],
    "max_assignments": -1,
    "instance_id_to_behavioral_data": {
        "2, x": {
            "annotation_changes": [
                {"timestamp": 1796000000.5, "schema_name": "sentiment", "label_name": "negative", "action": "select"},
                {"timestamp": 1796000001.25, "schema_name": "sentiment", "label_name": "positive", "action": "select"},
            ]
        },
        "3, x": None,
    },
    "instance_id_to_label_to_value": {
        "1, x": [pair("sentiment", "positive", True), pair("sentiment", "negative", False), pair("sure", "3", "3")],
        "2, x": [pair("sentiment", "positive", "positive"), pair("sentiment", "negative", "negative")],
        "3, x": [
            pair("topics", "price", "price"),
            pair("topics", "size", "size"),
            pair("price", "number", "12.5"),
            pair("warm", "slider", "0"),
            pair("why", "text_box", "so"),
            pair("better", "selection", "A"),
        ],
    },
    "instance_id_to_span_to_value": {
        "2, x": [[{"schema": "parts", "name": "A", "title": "A", "start": 1, "end": 5, "id": "span_1"}, "1"]]
    },
}


def state_folder(folder: Path, state: Any, name: str = "mira") -> Path:
    (folder / "annotation_output" / name).mkdir(parents=True)
    (folder / "annotation_output" / name / "user_state.json").write_text(json.dumps(state, indent=2))
    return folder / "annotation_output"


def test_an_annotation_folder_of_an_earlier_potato_is_taken_in(tmp_path: Path) -> None:
    """annotation 30: of several labels ever clicked, the one that was clicked last"""
    states = state_folder(tmp_path, STATE)
    with every_kind(tmp_path / "a") as project:
        report = import_labels(project.project, project.database, states, clock=lambda: NOW)
        assert next(report.sentences()) == "3 lines by 1 annotator"
        assert [line["annotations"] for line in plain(project)] == [
            {"sentiment": "positive", "sure": 3},
            {"parts": [{"start": 1, "end": 5, "label": "A", "text": "💩 ab"}], "sentiment": "positive"},
            {"better": "a", "price": 12.5, "topics": ["price", "size"], "warm": 0, "why": "so"},
        ]
        assert plain(project)[1]["at"] == "2026-11-29T14:13:21.250Z" or plain(project)[1]["at"].startswith("2026-")
        again = import_labels(project.project, project.database, states / "mira" / "user_state.json").outcome
        assert (again.new, again.changed, again.same) == (0, 0, 9)


@pytest.mark.parametrize(
    ("state", "said"),
    [
        ({**STATE, "instance_id_to_behavioral_data": {}}, r"mira/user_state.json:2: \['positive', 'negative'\] is not a label"),
        ({"user_id": "m", "instance_id_to_label_to_value": {"1, x": [["a"]]}}, "mira/user_state.json: it does not have the shape"),
        ([], "mira/user_state.json: it does not have the shape"),
        ({**STATE, "instance_id_to_behavioral_data": {"1, x": {"annotation_changes": [{"timestamp": 1e300}]}}}, "mira/user_state.json: it does not have the shape"),
        ({**STATE, "instance_id_to_span_to_value": {"\ud800": [[{"schema": "parts", "name": "A", "start": 0, "end": 1}, "1"]]}}, "mira/user_state.json:4: the project has no item"),
    ],
)  # fmt: skip
def test_a_state_that_cannot_be_used_is_said_and_nothing_comes_in(tmp_path: Path, state: Any, said: str) -> None:
    states = state_folder(tmp_path, state)
    with every_kind(tmp_path / "a") as project:
        with pytest.raises(InvalidLabels, match=said):
            import_labels(project.project, project.database, states)
        assert plain(project) == []


def test_a_state_that_is_nested_too_deeply_is_said(tmp_path: Path) -> None:
    file = state_folder(tmp_path, {}) / "mira" / "user_state.json"
    file.write_text("[" * 100_000)
    with every_kind(tmp_path / "a") as project, pytest.raises(InvalidLabels, match="it does not have the shape"):
        import_labels(project.project, project.database, file)


def test_a_cell_that_is_nested_too_deeply_is_said(tmp_path: Path) -> None:
    file = tmp_path / "deep.csv"
    file.write_text(f'id,annotator,annotations.topics\n"1, x",ann,{"[" * 100_000}\n')
    with (
        every_kind(tmp_path / "a") as project,
        pytest.raises(InvalidLabels, match=r"deep\.csv:2: an answer to 'topics'"),
    ):
        import_labels(project.project, project.database, file)


@pytest.mark.parametrize(
    ("column", "said"),
    [
        ({"annotations": ["{}", "5"]}, "the column annotations holds a number, not an object"),
        ({"annotations": ["{}", "null"]}, "the column annotations holds null, not an object"),
        ({"annotations": ["{}", "[1]"]}, "the column annotations holds a list, not an object"),
        ({"annotations": ["{}", "[" * 100_000]}, "the columns annotations and details hold JSON; this row's do not"),
        ({"details": [None, '{"sentiment": {"shown": NaN}}']}, "details of 'sentiment': nan is no number that can be kept"),
        ({"at": [None, 2**60]}, "this row has a value that cannot be read, like a time out of range"),
    ],
)  # fmt: skip
def test_what_is_wrong_in_a_parquet_file_is_said_with_its_row(
    tmp_path: Path, column: dict[str, Any], said: str
) -> None:
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    if "at" in column:
        column = {"at": pyarrow.array(column["at"], pyarrow.timestamp("ms", "UTC"))}
    parquet.write_table(
        pyarrow.table({"id": ["1, x", "2, x"], "annotator": ["ann", "ann"], **column}), tmp_path / "in.parquet"
    )
    with every_kind(tmp_path / "a") as project:
        with pytest.raises(InvalidLabels) as raised:
            import_labels(project.project, project.database, tmp_path / "in.parquet")
        assert [str(problem) for problem in raised.value.problems] == [f"in.parquet:2: {said}"]


def test_a_folder_or_file_that_holds_no_labels_is_said(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "no.parquet").write_bytes(b"no")
    with every_kind(tmp_path / "a") as project:
        with pytest.raises(InvalidLabels, match="this folder holds neither"):
            import_labels(project.project, project.database, tmp_path / "empty")
        with pytest.raises(InvalidLabels, match="cannot be read as Parquet"):
            import_labels(project.project, project.database, tmp_path / "no.parquet")


def test_spacy_gets_categories_and_spans(tmp_path: Path) -> None:
    with every_kind(tmp_path / "a") as project:
        answer_everything(project)
        file = io.BytesIO()
        export_labels(project.project, project.database, file, "spacy")
    lines = [json.loads(line) for line in file.getvalue().decode().splitlines()]
    first = next(
        line for line in lines if line["meta"] == {"id": "1, x", "annotator": "ann", "at": "2026-11-29T14:15:00.000Z"}
    )
    assert first["cats"]["sentiment=positive"] == 1.0
    assert sum(first["cats"].values()) == 1.0
    overlapping = next(line for line in lines if line["meta"]["id"] == "2, x" and line["meta"]["annotator"] == "ann")
    assert [TEXTS[1][start:end] for start, end, _ in overlapping["spans"]["parts"]] == ["💩 ab", "ab  👩\u200d❤️", "end"]
    assert "entities" not in overlapping
    whole = next(line for line in lines if line["meta"]["id"] == "3, x" and "spans" in line)
    assert whole["entities"] == [[0, len(TEXTS[2]), "A"]]


def test_no_two_categories_have_one_name_whatever_questions_and_labels_are_called(tmp_path: Path) -> None:
    asked = {"a": ["b=c", "z"], "a=b": ["c", "z"], '"a=b"': ["c", "z"], '"a': ['b"=c', "z"]}
    radio = {"annotation_type": "radio", "description": "?"}
    schemes = [{**radio, "name": name, "labels": labels} for name, labels in asked.items()]
    chosen = {name: labels[place % 2] for place, (name, labels) in enumerate(asked.items())}
    with small(tmp_path, 1, annotation_schemes=schemes) as project:
        project.save(project.user("ann"), 1, chosen)
        file = io.BytesIO()
        export_labels(project.project, project.database, file, "spacy")
    cats = json.loads(file.getvalue())["cats"]
    assert len(cats) == 8
    assert {name for name, yes in cats.items() if yes} == {"a=b=c", '"a=b"=z', r'"\"a=b\""=c', r'"\"a"=z'}


def test_formulas_are_guarded_in_tables_alone_and_only_when_asked(tmp_path: Path) -> None:
    """annotation 11"""
    with every_kind(tmp_path / "a") as project:
        answer_everything(project)
        before = plain(project)
        file = io.BytesIO()
        export_labels(project.project, project.database, file, "csv", guard_formulas=True)
        rows = list(csv.reader(io.StringIO(file.getvalue().decode(), newline="")))
        assert not [cell for row in rows for cell in row if cell.startswith(("=", "+", "-", "@"))]
        assert plain(project) == before


def test_half_a_surrogate_pair_does_not_stop_an_export(tmp_path: Path) -> None:
    with every_kind(tmp_path / "a") as project:
        shown = {"run_id": "r", "model_version": "m", "payload": "odd \ud83d", "confidence": 0.5}
        project.save(project.user("ann"), 1, {"why": "other \ud83d"}, suggestions={"why": shown})
        (line,) = plain(project)
        assert line["annotations"] == {"why": "other \ud83d"}
        assert line["details"]["why"]["suggestion"] == shown
        for form in EXPORTERS:
            export_file(project.project, project.database, tmp_path / f"out.{form}", form)


def test_a_folder_goes_where_nothing_is(tmp_path: Path) -> None:
    with every_kind(tmp_path / "a") as project:
        with pytest.raises(NeedsFolder, match="is a folder, not a file"):
            export_labels(project.project, project.database, io.BytesIO(), "hf-datasets")
        (tmp_path / "out").mkdir()
        (tmp_path / "out" / "mine").write_text("x")
        with pytest.raises(NeedsFolder, match="is there already"):
            export_file(project.project, project.database, tmp_path / "out", "hf-datasets")
        assert sorted(path.name for path in tmp_path.glob("out*")) == ["out"]
        with pytest.raises(UnknownFormat, match="there is no format 'xml'; there are jsonl, csv"):
            export_file(project.project, project.database, tmp_path / "out.xml", "xml")


def test_a_missing_package_is_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with every_kind(tmp_path / "a") as project, pytest.raises(NoPackage) as raised:
        export_file(project.project, project.database, tmp_path / "out.parquet", "parquet")
    assert raised.value.message == "this format needs the package pyarrow, which is not installed"
    assert raised.value.hint == "pip install 'potato-annotation[export]'"
    assert list(tmp_path.glob("out*")) == []


def test_groups_of_rows_in_parquet_follow_each_other_without_a_row_lost_or_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    monkeypatch.setattr("potato.items.exporters.parquet.ROWS", 5)
    with every_kind(tmp_path / "a") as project:
        answer_everything(project)
        export_file(project.project, project.database, tmp_path / "out.parquet", "parquet")
        table = parquet.ParquetFile(tmp_path / "out.parquet")
        rows = table.read(["id", "annotator", "annotations.sentiment"]).to_pylist()
        lines = plain(project)
    sizes = [table.metadata.row_group(place).num_rows for place in range(table.num_row_groups)]
    assert sizes == [5, 5, len(lines) - 10]
    assert [tuple(row.values()) for row in rows] == [
        (line["id"], line["annotator"], line["annotations"].get("sentiment")) for line in lines
    ]
