"""`potato.json`: what a model folder says of itself, whichever library wrote the rest of it."""

import os
from typing import Any, Dict, Sequence

from potato.training.contract.files import write_json
from potato.training.trainers.base import Task, TrainerInfo

FILE = "potato.json"


def write(folder: str, task: Task, info: TrainerInfo, packages: Sequence[str], **more: Any) -> None:
    """Write it: the run, the label order, what it was trained on, and with which versions of `packages`.

    `classes` are the model's outputs in their order; `labels` all that the project declared then.
    """
    from importlib import metadata

    schema = task.schema
    record: Dict[str, Any] = {
        "trainer": info.name,
        "run": task.run_id,
        "project": task.project,
        "bundle_digest": task.bundle_digest,
        "scheme": schema.name,
        "kind": schema.kind,
        "classes": list(schema.classes),
        "labels": list(schema.labels),
        "params": task.params,
        "seed": task.seed,
        "trained_on": len(task.train),
        "versions": {name: metadata.version(name) for name in packages},
    }
    record.update(more)
    write_json(os.path.join(folder, FILE), record)
