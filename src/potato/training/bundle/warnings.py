"""What is odd about a bundle, in sentences for the run's page."""

from __future__ import annotations

from collections.abc import Sequence

from potato.project import Project
from potato.schemes import Answer
from potato.training.bundle.gathering import Gathered

_WHAT = {
    "val": "no item is left to choose the model by",
    "test": "the model is not evaluated: it gets no held-out score",
}


def warnings_of(
    project: Project,
    gathered: Sequence[Gathered],
    answers: dict[str, dict[str, list[Answer]]],
    counts: dict[str, int],
    anchored: dict[str, int],
) -> list[str]:
    """The bundle's warnings, in the order of the schemes. `anchored` counts what val and test lack, by scheme."""
    found: list[str] = []
    for entry in gathered:
        found += _of_scheme(entry, answers[entry.scheme.name], anchored.get(entry.scheme.name, 0))
    if project.config.model_training.writeback.include_unlabeled and not counts["predict"]:
        found.append("No unlabelled item is left to predict")
    return found


def _of_scheme(entry: Gathered, answers: dict[str, list[Answer]], left_out: int) -> list[str]:
    name = entry.scheme.name
    found = [
        f"The {split} split has no label of '{name}': {what}" for split, what in _WHAT.items() if not answers[split]
    ]
    for split in ("train", "val", "test"):
        missing = _missing(entry, answers, split)
        if answers[split] and missing:
            found.append(f"The {split} split of '{name}' has no example of {missing}")
    if left_out:
        found.append(
            f"{left_out} items of val and test were left out of '{name}': an annotator took a model's suggestion there "
            "as it stood, and no model is measured by that"
        )
    if entry.ties:
        found.append(f"{entry.ties} items were left out of '{name}': their annotators are exactly divided")
    if entry.orphans:
        found.append(f"{entry.orphans} answers to '{name}' were left out: the project does not take them any more")
    return found


def _missing(entry: Gathered, answers: dict[str, list[Answer]], split: str) -> str:
    """The labels that somebody used, but that this split lacks."""
    everywhere = entry.classes(answer for given in answers.values() for answer in given)
    here = set(entry.classes(answers[split]))
    return ", ".join(f"'{label}'" for label in everywhere if label not in here)
