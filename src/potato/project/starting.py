"""A new project's file: the few answers of a person, as commented YAML that runs as it stands."""

from __future__ import annotations

import json
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field

from potato.project.models import ItemProperties


@dataclass(frozen=True)
class Kind:
    """What a type of question is offered with: an example of a question, and of its labels where it has some."""

    question: str
    labels: str = ""


KINDS = {
    "radio": Kind("Is this positive or negative?", "positive, negative"),
    "multiselect": Kind("What is this about?", "quality, service, delivery"),
    "likert": Kind("How satisfied is the writer?"),
    "slider": Kind("How clear is this?"),
    "number": Kind("How old is the writer?"),
    "text": Kind("What should be better?"),
    "pairwise": Kind("Which of the two is better?"),
    "span": Kind("Mark what is praised, and what is blamed", "praised, blamed"),
}
"""By `annotation_type`."""
UNSURE = ("slider", "number", "text")
"""The types for which models give no confidence: with a floor, none of their suggestions would ever be shown."""
SAMPLE = (
    "The kettle boils fast and pours without a drip.",
    "It stopped working after a week, and nobody answers my letters.",
    "Arrived on time. It is smaller than in the picture.",
)
"""What a project has to show before its own texts come."""


@dataclass(frozen=True)
class NewProject:
    """What a person answered. Only types that have labels use `labels`, only `likert` its `size` points, and only
    `pairwise` the `pair` of fields whose texts it compares."""

    name: str
    data_file: str
    fields: ItemProperties
    question: str
    kind: str = "radio"
    labels: Sequence[str] = ()
    size: int = 5
    pair: tuple[str, str] = ("text_a", "text_b")
    admin_key: str = field(default_factory=lambda: secrets.token_urlsafe(12))

    def as_yaml(self) -> str:
        """The project file. A JSON string is a YAML string, so every value is written as one."""
        return _FILE.format(
            name=_quoted(self.name),
            data_file=_quoted(self.data_file),
            id_key=_quoted(self.fields.id_key),
            text_key=_quoted(self.fields.text_key),
            admin_key=_quoted(self.admin_key),
            kind=self.kind,
            question=_quoted(self.question),
            answers="".join(f"    {line}\n" for line in self._answers()),
            floor="" if self.kind in UNSURE else "    min_confidence: 0.6\n",
        )

    def _answers(self) -> list[str]:
        if KINDS[self.kind].labels:
            return ["labels: [" + ", ".join(map(_quoted, self.labels)) + "]"]
        return {
            "likert": [f"size: {self.size}", '# min_label: "not at all"', '# max_label: "very much"'],
            "slider": ["min: 0", "max: 100"],
            "number": ["min: 0", "# max: 120", "# step: 1"],
            "text": ["# max_length: 500"],
            "pairwise": [f"field_a: {_quoted(self.pair[0])}", f"field_b: {_quoted(self.pair[1])}", "allow_tie: true"],
        }[self.kind]


def sample_lines(pairs: bool = False) -> str:
    """The sample's data file, as JSON lines; with `pairs`, each text beside another."""
    rows = [{"id": f"sample-{number}", "text": text} for number, text in enumerate(SAMPLE, 1)]
    if pairs:
        texts = zip(SAMPLE, SAMPLE[1:] + SAMPLE[:1], strict=True)
        rows = [{"id": f"sample-{number}", "text_a": a, "text_b": b} for number, (a, b) in enumerate(texts, 1)]
    return "".join(json.dumps(row) + "\n" for row in rows)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


_FILE = """\
# A Potato project. `potato start` serves it; `potato validate` checks it. The documentation's page "Configuration" has
# every key.

annotation_task_name: {name}

# The texts: JSON, JSON lines, CSV or TSV, each also gzipped. A file that grows adds its new items.
data_files:
  - {data_file}
item_properties:
  id_key: {id_key}
  text_key: {text_key}

# Annotations, runs and models go into this folder. `potato backup` copies it while the server runs.
output_annotation_dir: "annotation_output"

# Opens /admin. Keep it to yourself.
admin_api_key: {admin_key}

# What is asked of each item. Add more questions as further list entries.
annotation_schemes:
  - annotation_type: "{kind}"
    name: "question"
    description: {question}
{answers}
# How many people label each item. Two or more show how well they agree.
annotations_per_item: 1

# `potato trainers` lists what can learn from the answers, and what each of them needs.
model_training:
  enabled: true
  # Predictions for this question appear as suggestions once a run has succeeded.
  writeback:
    schemas: ["question"]
    include_unlabeled: true
{floor}  # Train elsewhere than on this machine: a GPU host that this one can log in to.
  # backends:
  #   gpu-server:
  #     type: ssh
  #     host: gpu.example.org
"""
