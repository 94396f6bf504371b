"""What the page shows of stored answers and of questions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter

import site_scenes as scenes
from potato.annotate.guidelines import guidelines_html
from potato.annotate.view import asks_for
from potato.schemes import AnyScheme, Scheme
from potato.store.items import ItemRow

ITEM = ItemRow(1, "i1", "a text", None, None, {}, "i1", "items.jsonl", 1)


def _scheme(**config: Any) -> Scheme:
    made: Scheme = TypeAdapter(AnyScheme).validate_python(config)
    return made


@pytest.mark.parametrize(
    ("config", "stored", "value", "gone"),
    [
        (scenes.SENTIMENT, "positive", "positive", []),
        (scenes.SENTIMENT, "mixed", None, ["mixed"]),
        (scenes.TOPICS, ["food", "music"], ["food"], ["music"]),
        (scenes.TOPICS, ["music"], None, ["music"]),
        (scenes.TOPICS, [], [], []),
        (scenes.STARS, 9, None, ["9"]),
        (scenes.SENTIMENT, None, None, []),
    ],
)
def test_a_label_that_is_gone_is_told_and_never_shown_as_chosen(
    config: dict[str, Any], stored: Any, value: Any, gone: list[str]
) -> None:
    """annotation 19: on the annotator's page"""
    scheme = _scheme(**config)
    (ask,) = asks_for({scheme.name: scheme}, ITEM, "ann", {}, {scheme.name: stored}, {})
    assert (ask.value, ask.gone) == (value, gone)
    assert ask.stored == stored  # what an undo gives back


def test_an_answer_is_said_in_words() -> None:
    said = [
        (scenes.SENTIMENT, "positive"),
        (scenes.STARS, 4),
        (scenes.TOPICS, ["food", "service"]),
        (scenes.TOPICS, []),
    ]
    words = ["positive", "4", "food, service", "none of these"]
    assert [_scheme(**config).said(answer) for config, answer in said] == words


def test_guidelines_are_read_anew_and_run_nothing(tmp_path: Path) -> None:
    guide = tmp_path / "guide.md"
    guide.write_text("# Read *this*\n\n<script>alert(1)</script> [x](javascript:alert(1))", "utf-8")
    project = scenes.project(tmp_path, guidelines="guide.md")
    shown = guidelines_html(project)
    assert shown is not None
    assert "<h1>Read <em>this</em></h1>" in shown
    assert "<script" not in shown
    assert 'href="javascript' not in shown
    guide.write_text("Read that, which is longer now.", "utf-8")
    assert guidelines_html(project) == "<p>Read that, which is longer now.</p>\n"


def test_label_names_of_every_kind_reach_the_page(tmp_path: Path) -> None:
    """annotation 21"""
    from html import unescape

    names = ["it's", "a:b", "x, y", 'say "hi"', "<cat>", "A/B", "\u0627\u0633\u0645", "a" * 200]
    schemes = [{**scenes.SENTIMENT, "labels": names}, {**scenes.TOPICS, "labels": names}]
    with scenes.served(scenes.project(tmp_path, annotation_schemes=schemes)) as client:
        scenes.sign_in(client)
        seq = scenes.hand_out(client)
        for number, name in enumerate(names):
            answers = {"sentiment": name, "topics": [name]}
            assert scenes.save(client, seq, answers, f"request-{number}").status_code == 200
            page = client.get(f"/annotate/{seq}", headers=scenes.PAGE).text
            assert page.split('id="help"')[0].count(" checked") == 2
            assert unescape(page).count(f">{name}</span>") == 2
