"""A new project's file: the few answers of a person, as commented YAML that runs as it stands."""

from __future__ import annotations

import json
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field

from potato.project.models import ItemProperties

TYPES = ("radio", "multiselect", "likert")
SAMPLE = (
    "The kettle boils fast and pours without a drip.",
    "It stopped working after a week, and nobody answers my letters.",
    "Arrived on time. It is smaller than in the picture.",
)
"""What a project has to show before its own texts come."""


@dataclass(frozen=True)
class NewProject:
    """What a person answered. `labels` are unused by `likert`, which has `size` points."""

    name: str
    data_file: str
    fields: ItemProperties
    question: str
    kind: str = "radio"
    labels: Sequence[str] = ()
    size: int = 5
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
            answers=self._answers(),
        )

    def _answers(self) -> str:
        if self.kind == "likert":
            return f"    size: {self.size}"
        return "    labels: [" + ", ".join(map(_quoted, self.labels)) + "]"


def sample_lines() -> str:
    """The sample's data file, as JSON lines."""
    rows = ({"id": f"sample-{number}", "text": text} for number, text in enumerate(SAMPLE, 1))
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

model_training:
  enabled: true
  # Predictions for this question appear as suggestions once a run has succeeded.
  writeback:
    schemas: ["question"]
    include_unlabeled: true
    min_confidence: 0.6
  # Train elsewhere than on this machine: a GPU host that this one can log in to.
  # backends:
  #   gpu-server:
  #     type: ssh
  #     host: gpu.example.org
"""
