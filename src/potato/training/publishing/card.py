"""The model card: what a stranger needs to know of a model before using it."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ruamel.yaml import YAML

from potato import __version__
from potato.project import Project
from potato.schemes import Scheme
from potato.store.training.runs import Run
from potato.training.publishing.loading import Way, way_of
from potato.training.publishing.markdown import label, plain, table

_KNOWN = ("accuracy", "macro_f1", "micro_f1", "exact_match", "kappa", "quadratic_kappa", "calibration_error")
_MORE = ("mae", "rmse", "spearman", "entity_precision", "entity_recall", "entity_f1", "chrf")
_FIGURES = (*_KNOWN, *_MORE)

_NOTHING = "\u2013"
"""Stands where there is no figure."""

_METRICS = {"macro_f1": "f1", "micro_f1": "f1", "entity_f1": "f1"}
"""Figures that the Hub knows under another name."""


@dataclass(frozen=True)
class Subject:
    """What the card is about. `record` is the model's `potato.json`, `labels` how often training saw each label,
    `base` the base model's name on the Hub, `licence` its licence where the Hub tells it."""

    project: Project
    run: Run
    scheme: Scheme
    repo: str
    record: Mapping[str, Any]
    labels: Mapping[str, int]
    base: str | None = None
    licence: str | None = None


def card(subject: Subject) -> str:
    """The whole `README.md`."""
    return f"---\n{_yaml(metadata(subject))}---\n\n{body(subject)}"


def metadata(subject: Subject) -> dict[str, Any]:
    """What the Hub reads of the card."""
    way = way_of(subject.run.trainer)
    return {
        **({"license": subject.licence} if subject.licence else {}),
        **({"base_model": subject.base} if subject.base else {}),
        **({"library_name": way.library, "pipeline_tag": way.task} if way else {}),
        "tags": ["potato", subject.run.trainer],
        **_results(subject, way),
    }


def body(subject: Subject) -> str:
    """What people read of the card."""
    parts = (
        f"# {plain(subject.repo.partition('/')[2])}",
        _task(subject),
        _labels(subject),
        "## How good it is",
        _scores(subject),
        "## How to load it",
        _loading(subject),
        "## Where it comes from",
        _origin(subject),
    )
    return "\n\n".join(part for part in parts if part) + "\n"


def _task(subject: Subject) -> str:
    run, scheme = subject.run, subject.scheme
    return (
        f"A model that answers the question **{plain(scheme.description) or label(scheme.name)}** "
        f"({label(scheme.name)}, {scheme.kind.value}), trained on labels of the annotation project "
        f"**{plain(subject.project.config.annotation_task_name)}** with the trainer `{run.trainer}` of "
        f"[Potato](https://pypi.org/project/potato-annotation/) {__version__}."
    )


def _labels(subject: Subject) -> str:
    names = [str(name) for name in subject.record.get("classes") or subject.scheme.label_names()]
    counts = subject.run.counts
    split = f"{counts.get('train', 0):,} items to train on, {counts.get('val', 0):,} to choose by"
    said = f"It learned from {split}, and was measured on {counts.get('test', 0):,} others."
    if not names:
        return said
    rows = [(label(name), f"{subject.labels[name]:,}" if name in subject.labels else _NOTHING) for name in names]
    return f"{said}\n\n{table(('Label', 'Training items'), rows)}"


def _scores(subject: Subject) -> str:
    score = subject.run.scores.get(subject.scheme.name) or {}
    test, primary = score.get("test") or {}, score.get("primary") or {}
    if not test.get("n"):
        return f"Not measured: {plain(str(primary.get('reason') or 'no item was held out'))}."
    baseline = score.get("baseline") or {}
    rows = list(_figure_rows(test, baseline, str(primary.get("name"))))
    against = f" The baseline is {plain(str(baseline['name']))}." if baseline.get("name") else ""
    told = (
        f"Measured on {test['n']:,} items that the model never saw in training and was not chosen by, against people's"
        f" answers.{against}"
    )
    figures = table(("Figure", "Held out", "95 % interval", "Baseline"), rows)
    return f"{told}\n\n{figures}\n\n{_agreement(score.get('agreement') or {})}"


def _figure_rows(test: Mapping[str, Any], baseline: Mapping[str, Any], first: str) -> Iterator[Sequence[str]]:
    for name in sorted((name for name in _FIGURES if _is_number(test.get(name))), key=lambda name: name != first):
        low, high = (test.get("intervals") or {}).get(name) or (None, None)
        spread = f"{low:.3f} to {high:.3f}" if low is not None and high is not None else _NOTHING
        beside = f"{baseline[name]:.3f}" if _is_number(baseline.get(name)) else _NOTHING
        yield name.replace("_", " "), f"{test[name]:.3f}", spread, beside


def _agreement(agreement: Mapping[str, Any]) -> str:
    if agreement.get("raw") is None:
        return "How far people agree on these items is not known: no two of them answered the same ones."
    alpha = f", Krippendorff's alpha {agreement['alpha']:.3f}" if agreement.get("alpha") is not None else ""
    if agreement.get("level") == "spans":
        characters = f"; by character{alpha}" if alpha else ""
        return (
            f"For comparison: on the {agreement['items']:,} of these items that two or more people labelled,"
            f" {agreement['raw']:.1%} of the spans that two of them marked are the same (F1, exact"
            f" boundaries{characters}). No model can be measured to be better than that."
        )
    return (
        f"For comparison: on the {agreement['items']:,} of these items that two or more people answered, they agree in"
        f" {agreement['raw']:.1%} of pairs{alpha}. No model can be measured to be better than that."
    )


def _loading(subject: Subject) -> str:
    way = way_of(subject.run.trainer)
    if way is None:
        return f"The documentation of the trainer `{subject.run.trainer}` tells how."
    note = f"\n\n{way.note}" if way.note else ""
    snippet = way.snippet(subject.repo, subject.record)
    return f"```\npip install {way.packages}\n```\n\n```python\n{snippet}\n```{note}"


def _origin(subject: Subject) -> str:
    record, run = subject.record, subject.run
    based = str(record.get("base_model") or "")
    rows = [
        ("Project", plain(subject.project.config.annotation_task_name)),
        ("Run", f"`{run.run_id}`, finished {run.finished_at}"),
        ("Base model", _base(subject, based)),
        ("Licence", _licence(subject, based)),
        ("Labels, as SHA-256 of the bundle", f"`{run.digest}`" if run.digest else _NOTHING),
        ("Made with", ", ".join(f"{name} {version}" for name, version in (record.get("versions") or {}).items())),
    ]
    lines = [f"- {name}: {text}" for name, text in rows if text]
    return "\n".join(lines) + "\n\n`potato.json` beside the model holds its settings and the order of its outputs."


def _base(subject: Subject, based: str) -> str:
    if subject.base:
        return f"[{plain(subject.base)}](https://huggingface.co/{subject.base})"
    return f"a local folder, {label(based.rstrip('/').rpartition('/')[2])}" if based else "none, trained from nothing"


def _licence(subject: Subject, based: str) -> str:
    if subject.licence:
        return f"{plain(subject.licence)}, as that of the base model"
    if based:
        return "not stated; that of the base model holds for what is made of it"
    return "not stated; whoever published the model decides"


def _results(subject: Subject, way: Way | None) -> dict[str, Any]:
    """The figures in the form that the Hub shows beside the card."""
    test = (subject.run.scores.get(subject.scheme.name) or {}).get("test") or {}
    metrics = [
        {"type": _METRICS.get(name, name), "name": name.replace("_", " "), "value": round(test[name], 6)}
        for name in _FIGURES
        if _is_number(test.get(name))
    ]
    if not metrics or way is None:
        return {}
    dataset = {"name": subject.project.config.annotation_task_name, "type": "potato", "split": "test"}
    result = {"task": {"type": way.task}, "dataset": dataset, "metrics": metrics}
    return {"model-index": [{"name": subject.repo.partition("/")[2], "results": [result]}]}


def _yaml(value: Any) -> str:
    """`value` as YAML; its texts are written as JSON writes them, which every reader of YAML takes for the same."""
    yaml = YAML(typ="safe", pure=True)
    yaml.default_flow_style = False
    yaml.allow_unicode = False
    yaml.width = 1_000_000
    text = io.StringIO()
    yaml.dump(json.loads(json.dumps(value)), text)
    return text.getvalue()


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
