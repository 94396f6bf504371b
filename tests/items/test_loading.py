"""Data files into the store."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from makers import make_project, opened, small, texts, write_rows
from potato.items import pieces
from potato.items.checking import survey
from potato.items.loading import LoadReport, load_items
from potato.items.problems import SHOWN, InvalidData
from potato.items.text import normalise
from potato.store import Connection, Database, items
from potato.store.training import corpus


def ids(database: Database) -> list[tuple[int, str, str]]:
    with database.read() as conn:
        return list(items.all_groups(conn))


def rows_of(database: Database, table: str) -> int:
    with database.read() as conn:
        count: int = conn.exec_driver_sql(f"SELECT count(*) FROM {table}").scalar_one()
    return count


def test_items_are_read_once_and_found_by_id_and_place(tmp_path: Path) -> None:
    write_rows(tmp_path, [{"id": "01", "text": " a\r\n b", "stars": 3}])
    project = make_project(tmp_path)
    with opened(project) as database:
        assert load_items(project, database) == LoadReport(read=1, added=1)
        assert load_items(project, database) == LoadReport(unchanged=1)
        with database.read() as conn:
            item = items.by_id(conn, "01")
            assert item is not None
            assert (item.seq, item.text, item.fields, item.source, item.line) == (
                1,
                " a\r\n b",
                {"stars": 3},
                "data.jsonl",
                1,
            )
            assert items.by_seq(conn, 1) == item
            assert items.by_id(conn, "1") is None


def test_a_file_that_was_only_touched_is_not_read_again(tmp_path: Path) -> None:
    with small(tmp_path) as project:
        os.utime(tmp_path / "data.jsonl", (1, 1))
        assert load_items(project.project, project.database) == LoadReport(unchanged=1)


def test_a_grown_file_adds_its_new_items_after_the_others(tmp_path: Path) -> None:
    with small(tmp_path, 2) as project:
        write_rows(tmp_path, [*texts(1, first=9), *texts(2)])
        assert load_items(project.project, project.database) == LoadReport(read=3, added=1)
        assert [row[:2] for row in ids(project.database)] == [(1, "1"), (2, "2"), (3, "9")]


def test_the_same_row_twice_is_one_item_and_said_once(tmp_path: Path) -> None:
    """annotation 5: in one file and across files"""
    write_rows(tmp_path, [*texts(2), *texts(1)])
    write_rows(tmp_path, texts(2), "more.jsonl")
    project = make_project(tmp_path, data_files=["data.jsonl", "more.jsonl"])
    with opened(project) as database:
        report = load_items(project, database)
        assert (report.read, report.added, report.duplicates) == (5, 2, 3)
        assert report.notes == [
            "3 rows repeat an item word for word and count once; the first is '1' (data.jsonl:1, data.jsonl:3)"
        ]


def test_one_id_with_two_contents_is_an_error_that_names_both_places(tmp_path: Path) -> None:
    """annotation 5"""
    write_rows(tmp_path, [*texts(2), {"id": 1, "text": "other"}])
    write_rows(tmp_path, [{"id": "2", "text": "text 2", "extra": 1}], "more.jsonl")
    project = make_project(tmp_path, data_files=["data.jsonl", "more.jsonl"])
    with opened(project) as database:
        with pytest.raises(InvalidData) as raised:
            load_items(project, database)
        assert list(map(str, raised.value.problems)) == [
            "data.jsonl:3: the id '1' has other content here than at data.jsonl:1; give one of them another id",
            "more.jsonl:1: the id '2' has other content here than at data.jsonl:2; give one of them another id",
        ]
        assert [rows_of(database, table) for table in ("items", "text_groups", "wanted", "sources")] == [0] * 4


def test_an_item_that_was_changed_in_its_file_is_an_error_and_stays_as_it_was(tmp_path: Path) -> None:
    with small(tmp_path, 2) as project:
        write_rows(tmp_path, [{"id": "1", "text": "changed"}, *texts(2, first=2)])
        with pytest.raises(InvalidData) as raised:
            load_items(project.project, project.database)
        assert str(raised.value.problems[0]) == (
            "data.jsonl:1: the id '1' has other content here than when it was read from data.jsonl:1; "
            "give the changed item a new id, or put its row back as it was"
        )
        assert len(ids(project.database)) == rows_of(project.database, "items") == 2


def test_the_order_of_fields_and_the_kind_of_file_do_not_make_another_item(tmp_path: Path) -> None:
    write_rows(tmp_path, [{"id": 1, "text": "a", "x": "1", "y": "2"}])
    (tmp_path / "more.csv").write_text("y,x,text,id\n2,1,a,1\n")
    project = make_project(tmp_path, data_files=["data.jsonl", "more.csv"])
    with opened(project) as database:
        assert load_items(project, database).duplicates == 1


def test_rows_without_a_usable_text_stop_the_load_or_are_left_out_as_the_project_says(tmp_path: Path) -> None:
    """annotation 8"""
    write_rows(tmp_path, [*texts(1), {"id": "x"}, {"id": "y", "text": " "}])
    project = make_project(tmp_path)
    with opened(project) as database:
        with pytest.raises(InvalidData, match="there are 2 problems in the data files; nothing was loaded:"):
            load_items(project, database)
        report = load_items(make_project(tmp_path, bad_rows="skip"), database)
        assert (report.added, report.skipped) == (1, 2)
        assert list(report.sentences()) == [
            "1 new item of 1 row read",
            "2 rows without a usable text left out:",
            "data.jsonl:2: there is no field 'text' for the text; the row has 'id'",
            "data.jsonl:3: the text (field 'text') is empty",
        ]


def test_skipping_is_for_texts_only(tmp_path: Path) -> None:
    write_rows(tmp_path, [*texts(1), {"text": "no id"}])
    project = make_project(tmp_path, bad_rows="skip")
    with opened(project) as database, pytest.raises(InvalidData, match="no field 'id'"):
        load_items(project, database)


def test_everything_that_is_wrong_is_said_at_once_up_to_a_hundred(tmp_path: Path) -> None:
    write_rows(tmp_path, [{"id": str(n)} for n in range(SHOWN + 20)])
    project = make_project(tmp_path, data_files=["data.jsonl", "none.csv"])
    with opened(project) as database, pytest.raises(InvalidData) as raised:
        load_items(project, database)
    assert raised.value.count == SHOWN + 21
    assert raised.value.message.endswith("\nand 21 more")


def test_files_that_lose_rows_or_leave_the_project_are_noted_and_their_items_stay(tmp_path: Path) -> None:
    write_rows(tmp_path, texts(3))
    write_rows(tmp_path, texts(1, first=7), "more.jsonl")
    project = make_project(tmp_path, data_files=["data.jsonl", "more.jsonl"])
    with opened(project) as database:
        load_items(project, database)
        write_rows(tmp_path, texts(2))
        report = load_items(make_project(tmp_path), database)
        assert report.notes == [
            "data.jsonl has 1 row fewer than before; the items read then stay in the project",
            "more.jsonl is no longer among the data_files; its items stay in the project",
        ]
        assert len(ids(database)) == 4


def test_items_with_the_same_text_are_one_group_named_for_the_first(tmp_path: Path) -> None:
    same = ["Great  \uff30hone", "great phone", " GREAT\tphone\n"]
    write_rows(tmp_path, [{"id": f"i{n}", "text": text} for n, text in enumerate([*same, "other"])])
    project = make_project(tmp_path)
    with opened(project) as database:
        load_items(project, database)
        write_rows(tmp_path, [*(row for row in texts(0)), {"id": "late", "text": "Great phone"}])
        load_items(project, database)
        assert [row[1:] for row in ids(database)] == [
            ("i0", "i0"),
            ("i1", "i0"),
            ("i2", "i0"),
            ("i3", "i3"),
            ("late", "i0"),
        ]


def test_the_same_caption_under_two_pictures_makes_two_groups(tmp_path: Path) -> None:
    write_rows(tmp_path, [{"id": n, "text": "What is it?", "img": f"{n % 2}.png"} for n in range(3)])
    project = make_project(tmp_path, item_properties={"image_key": "img"})
    with opened(project) as database:
        load_items(project, database)
        assert [row[2] for row in ids(database)] == ["0", "1", "0"]


def test_normalising_twice_is_normalising_once() -> None:
    for text in ("ﬃ ß İ", "a\u00a0b\u2003c", "Ⅷ ①", "e\u0301 é"):
        assert normalise(normalise(text)) == normalise(text)


def test_a_survey_finds_what_a_load_would_and_touches_nothing(tmp_path: Path) -> None:
    write_rows(tmp_path, [*texts(2), {"id": 1, "text": "other"}])
    project = make_project(tmp_path)
    found = survey(project)
    assert [str(problem) for problem in found.problems] == [
        "data.jsonl:3: the id '1' has other content here than at data.jsonl:1; give one of them another id"
    ]
    assert not project.output_dir.exists()
    write_rows(tmp_path, texts(2))
    assert (survey(project).problems, survey(project).items) == ([], 2)


CHILD = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from makers import make_project, opened
from potato.items.loading import load_items
from potato.store.intake import Intake
commit = Intake._commit

def commit_and_stop(self):
    commit(self)
    if self.added:
        print("committed", flush=True)
        sys.stdin.read()

Intake._commit = commit_and_stop
project = make_project(Path(sys.argv[1]))
with opened(project) as database:
    load_items(project, database)
"""


@pytest.mark.parametrize("added", [0, 6_000])
def test_a_load_that_is_killed_shows_nothing_and_the_next_one_clears_up(tmp_path: Path, added: int) -> None:
    known = 3 if added else 0
    with small(tmp_path, known) as project:
        write_rows(tmp_path, texts(added or 60_000))
        child = subprocess.Popen(
            [sys.executable, "-c", CHILD, str(tmp_path), str(Path(__file__).parents[1])],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert child.stdin and child.stdout
        assert child.stdout.readline() == b"committed\n"
        child.send_signal(signal.SIGKILL)
        child.wait()
        child.stdin.close()
        child.stdout.close()
        assert len(ids(project.database)) == known
        assert rows_of(project.database, "items") > known
        write_rows(tmp_path, texts(5))
        assert load_items(project.project, project.database).added == 5 - known
        assert [rows_of(project.database, t) for t in ("items", "text_groups", "wanted")] == [5, 5, 5]


def test_an_unfinished_load_is_in_no_query(tmp_path: Path) -> None:
    with small(tmp_path, 2) as project:
        with project.database.write() as conn:
            conn.exec_driver_sql("UPDATE tallies SET value = 1 WHERE name = 'items_visible'")
        assert project.read(shown) == (["1"], 1, None, None, {"1": 1})
        assert project.read(lambda conn: [item.id for item in corpus.all_items(conn)]) == ["1"]
        ann = project.user("ann")
        project.save(ann, 1, {"sentiment": "positive"})
        assert project.next(ann).reason == "all_done"


def shown(conn: Connection) -> object:
    listed = [item.id for item in items.page(conn)]
    return listed, items.count(conn), items.by_id(conn, "2"), items.by_seq(conn, 2), items.seqs(conn, ["1", "2"])


def test_a_large_file_is_read_ahead_by_a_process_of_its_own_with_the_same_outcome(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_rows(tmp_path, [*texts(4_500), {"id": "x"}, {"id": "1", "text": "text 1"}, {"id": "é", "text": "é\r\n"}])
    project = make_project(tmp_path, bad_rows="skip")
    outcomes = []
    for ahead in (1 << 40, 0):
        monkeypatch.setattr(pieces, "READ_AHEAD_BYTES", ahead)
        folder = tmp_path / str(ahead)
        with opened(make_project(tmp_path, bad_rows="skip", output_annotation_dir=str(folder))) as database:
            outcomes.append((load_items(project, database), ids(database)))
    assert outcomes[0] == outcomes[1]
    assert (outcomes[0][0].added, outcomes[0][0].skipped, outcomes[0][0].duplicates) == (4_501, 1, 1)


def test_a_reader_that_dies_is_said_and_nothing_is_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pieces, "READ_AHEAD_BYTES", 0)
    monkeypatch.setattr(pieces, "sys", SimpleNamespace(executable="/bin/false"))
    write_rows(tmp_path, texts(3))
    project = make_project(tmp_path)
    with opened(project) as database:
        with pytest.raises(pieces.ReaderEnded, match=r"reading data\.jsonl ended early \(exit status 1\)"):
            load_items(project, database)
        assert ids(database) == []


def test_a_number_that_no_program_can_hold_is_said_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "data.jsonl").write_text('{"id": "1", "text": "a"}\n{"id": "2", "text": "b", "n": [1e999]}\n')
    with (
        opened(project := make_project(tmp_path)) as database,
        pytest.raises(InvalidData, match=r"l:2: .*1e999"),
    ):
        load_items(project, database)
