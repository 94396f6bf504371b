"""Spans, from the request to the store."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import site_scenes as scenes
from potato.admin.agreement import measure
from potato.items.exporting import export_file
from potato.items.importing import InvalidLabels, import_labels
from potato.store import Database, tables

WHO = {"annotation_type": "span", "name": "who", "description": "Who?", "labels": ["person", "place"]}
CRLF = "\n  one\r\ntwo  \tthree\u00a0four"
EMOJI = "\U0001f4a9 ab \U0001f469\u200d\u2764\ufe0f\u200d\U0001f469 cd e\u0301 \U0001d518 end"


def last_word(text: str) -> dict[str, Any]:
    start = max(text.rfind(" "), text.rfind("\u00a0")) + 1
    return {"start": start, "end": len(text), "label": "person", "text": text[start:]}


def test_a_span_is_saved_with_the_text_that_stands_there(tmp_path: Path) -> None:
    """annotation 15, 16"""
    project = scenes.project(tmp_path, [CRLF, EMOJI], annotation_schemes=[WHO])
    with scenes.served(project) as client:
        scenes.sign_in(client)
        for number, text in enumerate((CRLF, EMOJI)):
            wanted = last_word(text)
            assert (
                scenes.save(client, scenes.hand_out(client), {"who": [wanted]}, f"request-{number}").status_code == 200
            )
        with client.app.state.site.database.read() as connection:  # type: ignore[attr-defined]
            stored = connection.execute(tables.annotations.select().order_by(tables.annotations.c.item)).all()
    for row, text in zip(stored, (CRLF, EMOJI), strict=True):
        [span] = row.value
        assert span == last_word(text)
        assert text[span["start"] : span["end"]] == span["text"] in ("four", "end")


def test_a_span_that_does_not_fit_the_text_is_refused_and_the_rest_is_kept(tmp_path: Path) -> None:
    """annotation 15"""
    project = scenes.project(tmp_path, [CRLF], annotation_schemes=[WHO, {**scenes.SENTIMENT, "required": False}])
    shifted = CRLF.replace("\r\n", "\n")
    with scenes.served(project) as client:
        scenes.sign_in(client)
        seq = scenes.hand_out(client)
        answer = scenes.save(client, seq, {"who": [last_word(shifted)], "sentiment": "positive"})
        assert answer.status_code == 409
        assert "the text reads '\\xa0fou', not 'four' as the span of 'who' says" in answer.json()["error"]
        past = [{"start": 0, "end": 99, "label": "person", "text": "x" * 99}]
        said = scenes.save(client, seq, {"who": past}, "request-2").json()["error"]
        assert f"past the end of the text, which has {len(CRLF)} characters" in said
        with client.app.state.site.database.read() as connection:  # type: ignore[attr-defined]
            assert [row.scheme for row in connection.execute(tables.annotations.select())] == ["sentiment"]


def test_nothing_is_told_of_the_text_of_an_item_that_was_not_given(tmp_path: Path) -> None:
    """annotation 36"""
    with scenes.served(scenes.project(tmp_path, ["one", "secret"], annotation_schemes=[WHO])) as client:
        scenes.sign_in(client)
        answer = scenes.save(client, 2, {"who": [{"start": 0, "end": 3, "label": "person", "text": "xxx"}]})
        assert answer.json()["code"] == "item_not_yours"
        assert "sec" not in answer.text


def test_lines_of_a_file_that_do_not_fit_are_all_named_and_the_others_make_the_round(tmp_path: Path) -> None:
    project = scenes.project(tmp_path, [CRLF, EMOJI], annotation_schemes=[WHO])
    database = Database(project.database_url)
    good = [
        {"id": f"i{n}", "annotator": "ann", "annotations": {"who": [last_word(t)]}} for n, t in ((1, CRLF), (2, EMOJI))
    ]
    past = {"start": 20, "end": 60, "label": "person", "text": "x" * 40}
    moved = {**last_word(EMOJI), "start": 0, "end": 3}
    odd = {"start": 0, "end": 3, "label": "thing", "text": EMOJI[:3]}
    bad = [
        {"id": "i2", "annotator": name, "annotations": {"who": [span]}}
        for name, span in zip("bcd", (past, moved, odd), strict=True)
    ]
    file = tmp_path / "labels.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in [*good, *bad]), "utf-8")
    try:
        import_labels(project, database, file)
        raise AssertionError("the file was taken")
    except InvalidLabels as error:
        lines = str(error).splitlines()[1:]
    assert [line.split(":")[1] for line in lines] == ["3", "4", "5"]
    assert "goes from 20 to 60, past the end of the text, which has 23 characters" in lines[0]
    assert "from 0 to 3 the text reads" in lines[1]
    assert "'thing' is not a label of 'who'" in lines[2]
    file.write_text("".join(json.dumps(line) + "\n" for line in good), "utf-8")
    assert import_labels(project, database, file).outcome.new == 2
    export_file(project, database, tmp_path / "out.jsonl")
    assert import_labels(project, database, tmp_path / "out.jsonl").outcome.same == 2
    written = [
        json.loads(line)["annotations"]["who"] for line in (tmp_path / "out.jsonl").read_text("utf-8").splitlines()
    ]
    assert written == [[last_word(CRLF)], [last_word(EMOJI)]]
    database.close()


def test_agreement_on_spans_is_measured_from_the_store(tmp_path: Path) -> None:
    """Alpha over the characters, and the F1 of whole spans; what the scheme held when it was of another type is passed
    over."""
    project = scenes.project(tmp_path, ["Ann met Bob", "Bob"], annotation_schemes=[WHO])
    database = Database(project.database_url)
    ann = {"start": 0, "end": 3, "label": "person", "text": "Ann"}
    bob = {"start": 8, "end": 11, "label": "person", "text": "Bob"}
    lines = [
        {"id": "i1", "annotator": name, "annotations": {"who": spans}}
        for name, spans in {"a": [ann, bob], "b": [ann], "c": [ann, bob]}.items()
    ]
    file = tmp_path / "labels.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    import_labels(project, database, file)
    measured = measure(project, database, {})["who"]
    database.close()
    assert (measured["level"], measured["items"], measured["annotators"]) == ("spans", 1, 3)
    assert measured["raw"] == pytest.approx(2 * (3 + 1) / (2 * 5))
    assert 0.5 < measured["alpha"] < 1
