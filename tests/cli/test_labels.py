"""`potato import`, `potato export`, `potato items add`, as a person uses them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from makers import make_project, texts, write_rows

LINE = {"id": "1", "annotator": "ann", "annotations": {"sentiment": "positive"}, "at": "2026-11-29T14:15:00.000Z"}


def potato(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "potato", *words], cwd=folder, capture_output=True, text=True, timeout=120, check=False
    )


def test_labels_come_in_before_the_first_start_and_go_out(tmp_path: Path) -> None:
    write_rows(tmp_path, texts(3))
    write_rows(tmp_path, [LINE], "labels.jsonl")
    make_project(tmp_path)
    done = potato(tmp_path, "import", "config.yaml", "labels.jsonl")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "1 line by 1 annotator\n1 new, 0 changed, 0 there already\n"
    done = potato(tmp_path, "export", "config.yaml")
    assert json.loads(done.stdout) == LINE
    assert done.stderr == "1 annotation of 1 item by 1 annotator\n"
    assert potato(tmp_path, "export", "config.yaml", "--format", "csv", "--out", "o.csv").stdout == ""
    assert (tmp_path / "o.csv").read_bytes() == (
        b"id,annotator,at,skipped,flagged,extra,annotations.sentiment,text\r\n"
        b"1,ann,2026-11-29T14:15:00.000Z,,,,positive,text 1\r\n"
    )
    assert (tmp_path / "o.csv.manifest.json").exists()


def test_new_items_are_added(tmp_path: Path) -> None:
    write_rows(tmp_path, texts(2))
    make_project(tmp_path)
    assert potato(tmp_path, "items", "add", "config.yaml").stdout == "2 new items of 2 rows read\n"
    write_rows(tmp_path, texts(3))
    assert potato(tmp_path, "items", "add", "config.yaml").stdout == "1 new item of 3 rows read\n"
    assert potato(tmp_path, "items", "add", "config.yaml").stdout == "no data file has changed\n"


def test_what_is_wrong_is_a_sentence_and_exit_code_1(tmp_path: Path) -> None:
    write_rows(tmp_path, [*texts(1), {"id": "1", "text": "other"}])
    write_rows(tmp_path, [LINE], "labels.jsonl")
    make_project(tmp_path)
    for words, said in (
        (("items", "add", "config.yaml"), "data.jsonl:2: the id '1' has other content here"),
        (("import", "config.yaml", "labels.jsonl"), "data.jsonl:2: the id '1' has other content here"),
        (("export", "config.yaml", "--format", "xml"), "potato: there is no format 'xml'; there are jsonl, csv, tsv"),
        (("export", "config.yaml", "--out", "no/such/folder.jsonl"), "cannot be written: No such file or directory"),
    ):
        done = potato(tmp_path, *words)
        assert done.returncode == 1
        assert said in done.stderr
        assert "Traceback" not in done.stderr
