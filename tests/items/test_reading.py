"""Data files of every kind, whole and broken."""

# ruff: noqa: E501 (a table of what is said, a line each)

from __future__ import annotations

import codecs
import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from potato.items.problems import RowProblem
from potato.items.reading import Row, read_rows
from potato.items.records import MAX_RECORD
from potato.project.models import ItemProperties

KEYS = ItemProperties()


def read(tmp_path: Path, name: str, content: str | bytes, keys: ItemProperties = KEYS) -> list[Row | RowProblem]:
    path = tmp_path / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return list(read_rows(path, name, keys))


def items(tmp_path: Path, name: str, content: str | bytes, keys: ItemProperties = KEYS) -> list[tuple[str, str]]:
    rows = read(tmp_path, name, content, keys)
    assert all(isinstance(row, Row) for row in rows), rows
    return [(row.id, row.text) for row in rows if isinstance(row, Row)]


def problems(tmp_path: Path, name: str, content: str | bytes, keys: ItemProperties = KEYS) -> list[str]:
    return [str(row) for row in read(tmp_path, name, content, keys) if isinstance(row, RowProblem)]


CSV = "id,text\n1,a\n2,b\n3,c\n"
ABC = [("1", "a"), ("2", "b"), ("3", "c")]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("d.csv", CSV),
        ("d.tsv", CSV.replace(",", "\t")),
        ("d.csv", CSV.replace(",", ";")),
        ("d.csv", CSV.replace(",", "\t")),
        ("d.csv", CSV.replace("\n", "\r\n")),
        ("d.csv", "\n \r\n" + CSV),
        ("d.tsv", "\n\n" + CSV.replace(",", "\t")),
        ("d.CSV", CSV),
        ("d.jsonl", '{"id": 1, "text": "a"}\n\n{"id": "2", "text": "b"}\r\n  {"text": "c", "id": "3"}'),
        ("d.ndjson", '{"id": 1, "text": "a"}\n{"id": 2, "text": "b"}\n{"id": 3, "text": "c"}\n'),
        ("d.json", '[{"id": 1, "text": "a"}, {"id": 2, "text": "b"},\n{"id": 3, "text": "c"}]\n'),
        ("d.json", '{"id": 1, "text": "a"}\n{"id": 2, "text": "b"}\n{"id": 3, "text": "c"}\n'),
        ("d.json", json.dumps([{"id": n, "text": t} for n, t in enumerate("abc", 1)], indent=2)),
    ],
)
@pytest.mark.parametrize("zipped", [False, True])
def test_each_kind_of_file_is_read_plain_and_gzipped(tmp_path: Path, name: str, content: str, zipped: bool) -> None:
    data = content.encode()
    assert items(tmp_path, f"{name}.gz" if zipped else name, gzip.compress(data) if zipped else data) == ABC


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-8-sig", "utf-32"])
@pytest.mark.parametrize("name", ["d.csv", "d.tsv", "d.jsonl", "d.json"])
def test_a_byte_order_mark_tells_the_encoding_and_is_no_part_of_a_name(
    tmp_path: Path, encoding: str, name: str
) -> None:
    """annotation 1, 2"""
    marks = {"utf-16-le": codecs.BOM_UTF16_LE, "utf-16-be": codecs.BOM_UTF16_BE}
    text = {
        "d.csv": "id,text\n1,ä💩\n",
        "d.tsv": "id\ttext\n1\tä💩\n",
        "d.jsonl": '{"id": 1, "text": "ä💩"}\n',
        "d.json": '[{"id": 1, "text": "ä💩"}]',
    }[name]
    assert items(tmp_path, name, marks.get(encoding, b"") + text.encode(encoding)) == [("1", "ä💩")]


def test_utf16_without_its_mark_is_refused_with_the_fix(tmp_path: Path) -> None:
    """annotation 1"""
    assert problems(tmp_path, "d.csv", CSV.encode("utf-16-le")) == [
        "d.csv: this is not UTF-8 text: it holds zero bytes. If it is UTF-16, save it with a byte order mark"
    ]


@pytest.mark.parametrize(
    ("written", "id_"), [('"01"', "01"), ("1.0", "1.0"), ("1", "1"), ('"1"', "1"), ("1e3", "1e3"), ("0.10", "0.10")]
)
@pytest.mark.parametrize("name", ["d.jsonl", "d.json"])
def test_an_id_is_text_exactly_as_written(tmp_path: Path, written: str, id_: str, name: str) -> None:
    assert items(tmp_path, name, f'{{"id": {written}, "text": "a"}}') == [(id_, "a")]


def test_a_table_keeps_ids_and_texts_to_the_letter(tmp_path: Path) -> None:
    text = 'a "quoted", text\r\nwith\ttabs =and a line'
    content = 'id,text\n01,"{}"\n 1.0 ,x\n'.format(text.replace('"', '""'))
    assert items(tmp_path, "d.csv", content) == [("01", text), (" 1.0 ", "x")]


def test_other_fields_are_kept(tmp_path: Path) -> None:
    (row,) = read(tmp_path, "d.jsonl", '{"id": 1, "text": "a", "stars": 4.5, "nan": NaN, "by": {"x": [1]}}')
    assert isinstance(row, Row)
    assert row.fields == {"stars": 4.5, "nan": None, "by": {"x": [1]}}


SIX = [{"id": "1"}, *({"id": str(n), "text": t} for n, t in enumerate([None, "", " \n", ["a"], 7, True], 2))]


def test_each_row_without_a_usable_text_is_named(tmp_path: Path) -> None:
    """annotation 8"""
    content = "".join(json.dumps(row) + "\n" for row in SIX) + '{"id": "8", "text": NaN}\n'
    assert problems(tmp_path, "d.jsonl", content) == [
        "d.jsonl:1: there is no field 'text' for the text; the row has 'id'",
        "d.jsonl:2: the text (field 'text') is null",
        "d.jsonl:3: the text (field 'text') is empty",
        "d.jsonl:4: the text (field 'text') is empty",
        "d.jsonl:5: the text (field 'text') is a list",
        "d.jsonl:6: the text (field 'text') is a number",
        "d.jsonl:7: the text (field 'text') is true or false",
        "d.jsonl:8: the text (field 'text') is null",
    ]


def test_a_picture_or_a_recording_may_stand_without_a_text(tmp_path: Path) -> None:
    keys = ItemProperties(image_key="img", audio_key="wav")
    rows = read(tmp_path, "d.jsonl", '{"id": 1, "img": "a.png"}\n{"id": 2, "text": "x", "wav": 3}\n', keys)
    assert rows == [
        Row("1", "", "a.png", None, {}, "d.jsonl", 1),
        RowProblem("d.jsonl", 2, "the field 'wav' is a number, not a file name or an address"),
    ]


BROKEN: list[tuple[str, str | bytes, str]] = [
    (
        "d.jsonl",
        '{"id": 1, "text": "a"}\n{"id": 2, "text": "two\nlines"}\n',
        "d.jsonl:2: column 23: a raw line break or control character inside a text; write a line break as \\n",
    ),
    (
        "d.json",
        '[{"id": 1, "text": "a"},\n {"id": 2, "text": "two\nlines"}]',
        "d.json:2: column 24: a raw line break or control character inside a text; write a line break as \\n",
    ),
    ("d.json", '[{"id": 1, "text": "a"}', "d.json:1: a comma or the list's closing ] is expected, not the end of the file"),
    ("d.json", '[{"id": 1, "text": "a"} {"id": 2}]', "d.json:1: a comma or the list's closing ] is expected, not '{'"),
    ("d.json", '[{"id": 1, "text": "a"}]\nx', "d.json:2: something follows after the end of the list"),
    ("d.json", '[{"id": 1, "text": "a"}, 5]', "d.json:1: each record is an object {…}, not a number"),
    ("d.json", '["a"]', "d.json:1: each record is an object {…}, not a text"),
    ("d.json", '[{"id": 1,\n"text": }]', "d.json:2: column 9: this is not JSON: expecting value"),
    ("d.jsonl", '{"id": 1, "text": "a"} {"id": 2}', "d.jsonl:1: column 23: this is not JSON: one object a line is expected, and more follows"),
    ("d.jsonl", '{"id": 1, "id": 2, "text": "a"}', "d.jsonl:1: the field 'id' stands twice in one object"),
    ("d.jsonl", '{"text": "a"}', "d.jsonl:1: there is no field 'id' for the id; the row has 'text'"),
    ("d.jsonl", '{"id": null, "text": "a"}', "d.jsonl:1: the id (field 'id') is null"),
    ("d.jsonl", '{"id": " ", "text": "a"}', "d.jsonl:1: the id (field 'id') is empty"),
    ("d.jsonl", '{"id": [1], "text": "a"}', "d.jsonl:1: the id (field 'id') is a list"),
    ("d.jsonl", '{"id": true, "text": "a"}', "d.jsonl:1: the id (field 'id') is true or false"),
    ("d.jsonl", '{"id": "' + "x" * 501 + '", "text": "a"}', "d.jsonl:1: the id (field 'id') has 501 characters; 500 are the most"),
    ("d.jsonl", '{"id": 1, "text": "\\ud83d"}', "d.jsonl:1: the text (field 'text') holds half of a character pair (\\ud83d)"),
    ("d.jsonl", '{"id": 1, "text": "a\\u0000"}', "d.jsonl:1: the text (field 'text') holds a zero character"),
    ("d.jsonl", '{"id": ' + "9" * 5000 + ', "text": "a"}', "d.jsonl:1: a number has too many digits"),
    ("d.jsonl", "[" * 100_000, "d.jsonl:1: this is nested too deeply"),
    ("d.jsonl", b'{"id": 1, "text": "a"}\n{"id": 2, "text": "\xe9"}\n', "d.jsonl:2: byte 0xe9 is not UTF-8; save the file as UTF-8"),
    ("d.csv", "id,text\n1,a,b\n", "d.csv:2: this row has 3 fields, the header has 2"),
    ("d.csv", "id,text\n1\n", "d.csv:2: this row has 1 fields, the header has 2"),
    ("d.csv", 'id,text\n1,a\n2,"b\n3,c\n', "d.csv:3: a field that begins with a quotation mark here does not end"),
    ("d.csv", 'id,text\n1,"a"b\n', "d.csv:2: after a closing quotation mark comes more text; a quotation mark inside a quoted field is doubled"),
    ("d.csv", "id,id,text\n1,2,a\n", "d.csv:1: two columns are called 'id'"),
    ("d.csv", "\n\nid,id,text\n1,2,a\n", "d.csv:3: two columns are called 'id'"),
    ("d.csv", "\nid,text\n1,a\n2\n", "d.csv:4: this row has 1 fields, the header has 2"),
    ("d.csv", "name,body\n1,a\n", "d.csv:2: there is no field 'id' for the id; the row has 'name', 'body'"),
    ("d.txt", "a", "d.txt: its name must end in .json, .jsonl, .csv or .tsv (each also with .gz)"),
    ("d.jsonl.gz", gzip.compress(b'{"id": 1, "text": "a"}\n' * 50)[:-9], "d.jsonl.gz: the gzip data is damaged or cut off"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "content", "said"), BROKEN, ids=range(len(BROKEN)))
def test_what_is_wrong_is_said_with_file_and_line(tmp_path: Path, name: str, content: str | bytes, said: str) -> None:
    """annotation 9 and the rest"""
    found = problems(tmp_path, name, content)
    assert found[0].startswith(said) if name.endswith(".gz") else found[0] == said
    assert len(found) == (2 if "two\nlines" in str(content) and name == "d.jsonl" else 1)


def test_a_missing_file_and_a_folder_are_said(tmp_path: Path) -> None:
    (tmp_path / "folder.json").mkdir()
    assert [str(p) for p in read_rows(tmp_path / "no.json", "no.json", KEYS)] == ["no.json: there is no such file"]
    assert [str(p) for p in read_rows(tmp_path / "folder.json", "folder.json", KEYS)] == [
        "folder.json: it cannot be read (Is a directory)"
    ]


@pytest.mark.parametrize("content", ["", "\n\n", "[]", " [ ] \n"])
def test_an_empty_file_has_no_items(tmp_path: Path, content: str) -> None:
    name = "d.json" if content.strip() else "d.jsonl"
    assert read(tmp_path, name, content) == []
    assert read(tmp_path, "d.csv", "id,text\n") == []
    assert read(tmp_path, "d.csv", " \n\n") == []


def test_a_list_longer_than_the_window_is_read_with_its_lines(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [{"id": n, "text": f"é{n}" * 300} for n in range(3000)]
    content = "[\n" + ",\n".join(map(json.dumps, rows)) + "\n]"
    assert len(content) > 3 << 20
    found = read(tmp_path, "d.json", content)
    assert [(row.id, row.line) for row in found if isinstance(row, Row)] == [(str(n), n + 2) for n in range(3000)]
    broken = content.replace('{"id": 2500', '{"id" 2500')
    assert problems(tmp_path, "d.json", broken) == ["d.json:2502: column 7: this is not JSON: expecting ':' delimiter"]


@pytest.mark.parametrize("name", ["d.jsonl", "d.json", "d.csv"])
def test_a_record_has_a_stated_limit_and_is_not_read_into_memory(tmp_path: Path, name: str) -> None:
    """annotation 13"""
    long = "x" * (MAX_RECORD + 10)
    content = {"d.csv": f"id,text\n1,{long}\n", "d.json": f'[{{"id": 1, "text": "{long}{long}'}
    (said,) = problems(tmp_path, name, content.get(name, f'{{"id": 1, "text": "{long}"}}\n'))
    assert "a record is longer than 16 million characters, the most that one may have" in said
