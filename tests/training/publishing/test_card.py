"""The model card says what is true, whatever the labels are called."""

from __future__ import annotations

import html
import json
import re
from dataclasses import replace

import pytest
from markdown_it import MarkdownIt
from ruamel.yaml import YAML

from lab import Lab
from potato.training.publishing.card import Subject, card
from potato.training.publishing.loading import way_of
from potato.training.publishing.markdown import plain
from potato.training.trainers import registry

Trained = tuple[Lab, str]


def subject(trained: Trained) -> Subject:
    lab, run_id = trained
    run = lab.run(run_id)
    folder = next((lab.project.runs_dir / run_id / "artifacts").iterdir())
    record = json.loads((folder / "potato.json").read_text("utf-8"))
    return Subject(lab.project, run, lab.project.schemes["kind/of"], "acme/kinds", record, {"it's": 14})


def rendered(text: str) -> str:
    return str(MarkdownIt("gfm-like", {"html": True, "linkify": False}).render(text.split("---\n", 2)[2]))


def cells(page: str) -> list[str]:
    return [html.unescape(re.sub("<[^>]+>", "", cell)) for cell in re.findall(r"<td[^>]*>(.*?)</td>", page)]


def test_every_label_stands_in_the_card_as_it_is(trained: Trained) -> None:
    """annotation 21"""
    page = rendered(card(subject(trained)))
    labels = trained[0].project.schemes["kind/of"].label_names()
    assert cells(page)[: 2 * len(labels) : 2] == labels
    assert "<cat>" not in page and "<b>" not in page
    assert cells(page)[1] == "14"


def test_the_figures_are_those_of_the_run_with_baseline_interval_and_agreement(trained: Trained) -> None:
    about = subject(trained)
    score = about.run.scores["kind/of"]
    page = rendered(card(about))
    row = cells(page)[cells(page).index("macro f1") :][:4]
    low, high = score["test"]["intervals"]["macro_f1"]
    expected = [f"{score['test']['macro_f1']:.3f}", f"{low:.3f} to {high:.3f}", f"{score['baseline']['macro_f1']:.3f}"]
    assert row[1:] == expected
    assert f"Measured on {score['test']['n']} items" in page
    assert "they agree in 100.0% of pairs, Krippendorff's alpha 1.000" in html.unescape(page)
    counts = about.run.counts
    assert f"{counts['train']} items to train on, {counts['val']} to choose by" in page


def test_the_hub_reads_the_same(trained: Trained) -> None:
    about = replace(subject(trained), base="prajjwal1/bert-tiny", licence="mit")
    read = YAML(typ="safe").load(card(about).split("---\n")[1])
    assert read["license"] == "mit"
    assert read["base_model"] == "prajjwal1/bert-tiny"
    assert read["tags"] == ["potato", "sklearn-text"]
    result = read["model-index"][0]["results"][0]
    assert result["dataset"]["name"] == trained[0].project.config.annotation_task_name
    value = {metric["name"]: metric["value"] for metric in result["metrics"]}["accuracy"]
    assert value == pytest.approx(about.run.scores["kind/of"]["test"]["accuracy"], abs=1e-6)


def test_a_model_that_was_not_measured_says_so(trained: Trained) -> None:
    about = subject(trained)
    scores = {"kind/of": {"primary": {"reason": "no held-out item"}, "test": {"n": 0}}}
    text = card(replace(about, run=replace(about.run, scores=scores)))
    assert "Not measured: no held\\-out item." in text
    assert "model-index" not in text


def test_every_trainer_that_leaves_a_model_says_how_it_is_loaded() -> None:
    for info in registry.infos():
        way = way_of(info.name)
        if info.name in registry.names() and way is not None:
            compile(way.snippet("acme/kinds", {"skops_trusted": ["numpy.dtype"]}), info.name, "exec")


@pytest.mark.parametrize("text", ["*a*", "<b>", "`x`", "a|b", "[x](y)", "http://a.b", "1. a", "# a", "&amp;", "\\"])
def test_a_plain_text_means_nothing_to_markdown(text: str) -> None:
    page = MarkdownIt("gfm-like", {"html": True, "linkify": False}).render(f"| a |\n| --- |\n| {plain(text)} |")
    assert cells(page) == [text]


def test_agreement_on_spans_is_told_as_what_it_is(trained: Trained) -> None:
    about = subject(trained)
    score = about.run.scores["kind/of"]
    agreement = {"level": "spans", "items": 12, "raw": 0.25, "alpha": 0.4}
    run = replace(about.run, scores={"kind/of": {**score, "agreement": agreement}})
    text = html.unescape(rendered(card(replace(about, run=run))))
    assert "25.0% of the spans that two of them marked are the same (F1, exact boundaries; by character," in text
    assert "Krippendorff's alpha 0.400)" in text
    assert "of pairs" not in text
