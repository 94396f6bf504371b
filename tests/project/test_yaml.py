"""YAML that bites elsewhere: what is written is what is meant, and what cannot be meant is told."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from potato.project.loading import Loaded, load
from potato.project.nodes import MAX_BYTES
from potato.project.project import Project
from project_texts import BASE, SLURM, SSH, training


def written(folder: Path, text: str | bytes) -> Loaded:
    data = text if isinstance(text, bytes) else text.encode()
    (folder / "config.yaml").write_bytes(data)
    return load(Path("config.yaml"))


def project(folder: Path, text: str | bytes) -> Project:
    loaded = written(folder, text)
    assert loaded.project is not None, loaded.findings
    return loaded.project


def lines(folder: Path, text: str | bytes) -> list[str]:
    return [str(finding) for finding in written(folder, text).findings]


def test_labels_are_the_text_that_was_written(folder):
    words = [
        "no",
        "yes",
        "on",
        "01",
        "1.0",
        "1",
        "~",
        "null",
        "true",
        "0x1F",
        "1e3",
        "2026-11-29",
        "04:00:00",
        "0o7",
        "=",
        "1_000",
    ]
    text = BASE.replace("[positive, negative]", "[" + ", ".join(words) + "]")
    assert project(folder, text).schemes["sentiment"].label_names() == words


def test_any_unicode_label_works(folder):
    """annotation 21."""
    names = ["it's", "a:b", "x, y", 'say "hi"', "<cat>", "A/B", "اسم", "#1", "💩", "\\", "a" * 200]
    text = BASE.replace("[positive, negative]", json.dumps(names))
    assert project(folder, text).schemes["sentiment"].label_names() == names
    plain = BASE.replace("[positive, negative]", "".join(f"\n      - {name}" for name in names if name != "#1"))
    assert project(folder, plain).schemes["sentiment"].label_names() == [name for name in names if name != "#1"]


def test_labels_as_mappings_are_text_too(folder):
    text = BASE.replace("[positive, negative]", "[{name: no, key: 1, description: 02}, {name: yes}]")
    first, second = project(folder, text).config.annotation_schemes[0].labels  # type: ignore[union-attr]
    assert (first.name, first.key, first.description, second.name) == ("no", "1", "02", "yes")


def test_names_are_text(folder):
    text = BASE.replace("name: sentiment", "name: 01").replace('"Reviews"', "1.0")
    assert list(project(folder, text).schemes) == ["01"]
    assert project(folder, text).config.annotation_task_name == "1.0"


@pytest.mark.parametrize("time", ["04:00:00", "00:30", "30", "1-0", "0400"])
def test_an_unquoted_time_is_a_time(folder, time):
    backends = project(folder, training(SLURM, f"      time: {time}")).config.model_training.backends
    assert backends["cluster"].time == time  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("written_as", "meant"),
    [("0,1", "0,1"), ("1", "1"), ('"0,1"', "0,1"), ("0, 1", "0,1"), ("none", "none"), ("auto", "auto"), ("01", "01")],
)
def test_unquoted_gpus(folder, written_as, meant):
    backends = project(folder, training(SSH, f"      gpus: {written_as}")).config.model_training.backends
    assert backends["gpu"].gpus == meant  # type: ignore[union-attr]


def test_environment_values_are_text(folder):
    backends = project(folder, training(SSH, "      env: {A: 01, B: no, C: 1e3}")).config.model_training.backends
    assert backends["gpu"].env == {"A": "01", "B": "no", "C": "1e3"}  # type: ignore[union-attr]


def test_a_backend_named_like_a_number(folder):
    assert list(project(folder, training("    01:", "      type: agent")).config.model_training.backends) == ["01"]


def test_switches_know_the_words_of_both_yamls(folder):
    for word, meant in {"yes": True, "on": True, "True": True, "no": False, "OFF": False, '"false"': False}.items():
        assert project(folder, BASE + f"debug: {word}\n").config.debug is meant


def test_params_are_read_as_yaml_1_2(folder):
    params = "{a: 1, b: 1e-5, c: no, d: 'x', e: true, f: [1, {g: 0.5}], h: null, i: 1:30, j: \"1\", k: 0,1}"
    text = BASE + f"model_training: {{auto_retrain: {{params: {params}}}}}\n"
    text = text.replace("0,1", "'0,1'")
    read = project(folder, text).config.model_training.auto_retrain.params
    wanted = {"a": 1, "b": 1e-5, "c": "no", "d": "x", "e": True, "f": [1, {"g": 0.5}], "h": None, "i": "1:30"}
    assert read == {**wanted, "j": "1", "k": "0,1"}


def test_duplicate_keys_are_errors_at_every_level(folder):
    text = training(SSH, "      host: other", "debug: true", "debug: false").replace(
        "labels: [positive, negative]", "labels: [{name: a, name: b}, c]\n    name: twice"
    )
    assert lines(folder, text) == [
        "config.yaml:8: annotation_schemes[0].labels[0].name: duplicate key `name`; it stands on line 8 already",
        "config.yaml:9: annotation_schemes[0].name: duplicate key `name`; it stands on line 6 already",
        "config.yaml:15: model_training.backends.gpu.host: duplicate key `host`; it stands on line 14 already",
        "config.yaml:16: debug is true beside the backend gpu. Requests from this machine then have admin rights;"
        " leave it off where runs go to machines that others use",
        "config.yaml:17: debug: duplicate key `debug`; it stands on line 16 already",
    ]


def test_a_duplicate_that_is_written_otherwise(folder):
    assert "duplicate key" in lines(folder, BASE + '"debug": true\ndebug: false\n')[0]


def test_anchors_and_merging(folder):
    text = training(
        "    one: &one",
        "      type: ssh",
        "      host: &host h1",
        "    two:",
        "      <<: *one",
        "      description: *host",
        "    three: {<<: [*one], host: h3}",
    )
    backends = project(folder, text).config.model_training.backends
    assert [backend.host for backend in backends.values()] == ["h1", "h1", "h3"]  # type: ignore[union-attr]
    assert backends["two"].description == "h1"


def test_what_comes_by_an_anchor_is_told_where_it_is_used(folder):
    text = training("    one: &one {type: ssh, host: h, pyhton: x}", "    two: *one", "    three:", "      <<: *one")
    assert [line.split(":")[1] for line in lines(folder, text)] == ["11", "11", "14"]


def test_blocks_without_a_line_are_left_out_blocks(folder):
    text = BASE + "model_training:\n  backends:\n    # gpu: later\n  webhooks:\nvalidation:\nlogin: ~\n"
    assert project(folder, text).config.model_training.backends == {}


def test_null_where_nothing_may_be(folder):
    assert project(folder, BASE.replace('"change-me"', "null")).config.admin_api_key is None


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_byte_order_marks(folder, encoding):
    """annotation 1 and 2, for the project file."""
    read = project(folder, BASE.replace("Reviews", "Kritiken für Löwen").encode(encoding))
    assert read.config.annotation_task_name == "Kritiken für Löwen"


def test_windows_line_ends(folder):
    assert lines(folder, (BASE + "zzz: 1\n").replace("\n", "\r\n")) == ["config.yaml:9: zzz: unknown key `zzz`"]


NOT_A_PROJECT = {
    "empty": ("", 1, "the file is empty; a project file begins with `annotation_task_name`"),
    "only comments": ("# a\n# b\n", 1, "the file is empty; a project file begins with `annotation_task_name`"),
    "a list": ("- a\n- b\n", 1, "a project file is a mapping of keys, not a list"),
    "text": ("\nhello\n", 2, "a project file is a mapping of keys, not a single value"),
    "JSON list": ("[1, 2]", 1, "a project file is a mapping of keys, not a list"),
    "two documents": (BASE + "---\na: 1\n", 9, "a second YAML document begins here; a project file is one"),
    "a tab": (
        "a:\n\tb: 1\n",
        2,
        "not valid YAML at column 1: found character '\\t' that cannot start any token; indent with spaces, not tabs",
    ),
    "two colons": ("a: 1\nb: c: d\n", 2, "not valid YAML at column 5: mapping values are not allowed here"),
    "an open bracket": (
        "a: [1,\nb: 2\nc: 3\n",
        3,
        "not valid YAML at column 2: expected ',' or ']', but got ':'"
        " (while parsing a flow sequence, which begins on line 1)",
    ),
    "an open quote": (
        "a: 'b\nc: 1\n",
        3,
        "not valid YAML at column 1: found unexpected end of stream"
        " (while scanning a quoted scalar, which begins on line 1)",
    ),
    "a lost dash": ("a:\n  - b\n  c: 1\n", 3, None),
    "an unknown anchor": ("a: 1\nb: *c\n", 2, "nothing above is named `&c`, which `*c` asks for"),
    "an anchor in itself": ("a: &b [*b]\n", 1, "`*b` stands inside of what it names"),
    "a tag": (
        "a: !!python/object:os.system x\n",
        1,
        "the tag `!!python/object:os.system` has no meaning in a project file",
    ),
    "a list as a key": ("? [a]\n: b\n", 1, "a key is text, not a list or a mapping"),
    "merging a text": ("a:\n  <<: b\n", 2, "`<<` takes a mapping that was named with `&`"),
    "deep": ("a: " + "[" * 100_000, 1, "more than 50 levels of nesting"),
    "deep mappings": ("\n".join(" " * n + "a:" for n in range(500)), 51, "more than 50 levels of nesting"),
    "a zero byte": ("a: 1\nb: \0\n", 2, "the file is not text: it holds the control character U+0000"),
    "a control character": ("a: 1\nb: \x07\n", 2, "the file is not text: it holds the control character U+0007"),
    "UTF-16 without mark": (
        "a: 1\n".encode("utf-16-le"),
        1,
        "the file is not text: it holds the control character U+0000",
    ),
    "Latin-1": (
        "a: 1\nb: Löwe\n".encode("latin-1"),
        2,
        "the file is not text in UTF-8: invalid start byte at byte 9",
    ),
    "half a character": ('a: "\\ud83d"', 1, "an escape such as `\\ud83d` stands for half a character only"),
    "a picture": (b"\x89PNG\r\n\x1a\n\0\0\0", 1, "the file is not text in UTF-8: invalid start byte at byte 0"),
}


@pytest.mark.parametrize("name", NOT_A_PROJECT)
def test_what_is_no_project_file_is_one_finding(folder, name):
    text, line, wanted = NOT_A_PROJECT[name]
    found = written(folder, text).findings
    assert [(finding.line, finding.severity.value) for finding in found] == [(line, "error")]
    assert found[0].message == wanted if wanted else found[0].message.startswith("not valid YAML")
    assert str(found[0]).startswith(f"config.yaml:{line}: ") and "\n" not in str(found[0])


@pytest.mark.parametrize("piece", [b"a: 1\n", b"[", b"\x00", b"- a\n", b"x"])
def test_ten_megabytes_are_a_finding_at_once(folder, piece):
    began = time.monotonic()
    found = lines(folder, piece * (10_000_000 // len(piece)))
    assert found == ["config.yaml:1: the file is larger than 1,000,000 bytes, the most that a project file may have"]
    assert time.monotonic() - began < 2


def test_a_file_that_is_as_large_as_it_may_be(folder):
    text = BASE + "# " + "x" * (MAX_BYTES - len(BASE) - 3) + "\n"
    assert project(folder, text)


def test_many_questions_cost_no_more_than_their_text(folder):
    """The time grows with the file, not with its square."""
    one = "  - annotation_type: likert\n    name: s{0}\n    description: d\n    show_if: {{sentiment: positive}}\n"
    text = BASE + "".join(one.format(number) for number in range(5_000))
    began = time.monotonic()
    assert len(project(folder, text).schemes) == 5_001
    assert time.monotonic() - began < 30


def test_anchors_that_multiply(folder):
    text = BASE + "model_training:\n  auto_retrain:\n    params:\n      a: &a [x, x, x, x, x, x, x, x, x, x]\n"
    for before, name in zip("abcdefgh", "bcdefghi", strict=True):
        text += f"      {name}: &{name} [" + ", ".join([f"*{before}"] * 10) + "]\n"
    began = time.monotonic()
    assert lines(folder, text) == [
        "config.yaml:1: the file's `*` references multiply into more values than a project can have"
    ]
    assert time.monotonic() - began < 20
