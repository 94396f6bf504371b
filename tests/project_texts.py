"""Project files for tests, in pieces."""

from __future__ import annotations

BASE = """\
annotation_task_name: "Reviews"
data_files: ["data/reviews.json"]
admin_api_key: "change-me"
annotation_schemes:
  - annotation_type: radio
    name: sentiment
    description: "Positive or negative?"
    labels: [positive, negative]
"""
"""A valid project file of eight lines; what a test appends begins on line 9."""

SSH = "    gpu:\n      type: ssh\n      host: h"
SLURM = "    cluster:\n      type: slurm\n      host: h\n      remote_dir: /shared/x"


def training(*lines: str) -> str:
    """`BASE` with the block `model_training.backends`; `lines` begin on line 11 of the file."""
    return BASE + "\n".join(["model_training:", "  backends:", *lines, ""])
