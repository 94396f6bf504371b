"""The bundle: a folder with the labels of one run. It refers to nothing outside itself, and is only read.

`manifest.json` says what is in it; `train.jsonl`, `val.jsonl`, `test.jsonl` hold a labelled item a line,
`predict.jsonl` an unlabelled one; `media/` holds the items' files.
"""

import json
import os
from dataclasses import dataclass, field
from typing import Any, Dict, Iterator, List, Tuple

FORMAT = 1

LABELLED_SPLITS = ("train", "val", "test")
SPLITS = ("train", "val", "test", "predict")


class BundleError(Exception):
    """The bundle cannot be read; the sentence says why."""


@dataclass(frozen=True)
class SchemaInfo:
    """A scheme as the bundle carries it.

    `labels` is the project's label order; `classes` are those of them that training items use, in that order: the
    classes of the model.
    """

    name: str
    kind: str
    labels: Tuple[str, ...]
    classes: Tuple[str, ...]
    description: str = ""
    fields: Tuple[str, ...] = ()
    """The items' fields that the scheme is about, such as both texts of a pair; empty: it is about the text."""


@dataclass(frozen=True)
class BundleItem:
    """One item. `targets` maps a scheme's name to the label that training and scoring go by; a scheme that nobody
    answered for this item is absent. `votes` maps it to `[answer, count]` pairs, `annotators` to how many answered."""

    id: str
    text: str
    media: Dict[str, str]
    fields: Dict[str, Any]
    targets: Dict[str, Any]
    votes: Dict[str, List[List[Any]]]
    annotators: Dict[str, int]
    said: Dict[str, Dict[str, Any]] = field(default_factory=dict)
    """For a calibration alone: scheme -> what the live model said (`payload`, `confidence`, `probabilities`) and, where
    a reviewer has judged it, the `verdict`."""


class Bundle:
    """A bundle folder, opened. Raises `BundleError` where it cannot be read."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        path = os.path.join(folder, "manifest.json")
        try:
            with open(path, encoding="utf-8") as file:
                self.manifest: Dict[str, Any] = json.load(file)
            if self.manifest["format"] != FORMAT:
                raise BundleError(
                    "the bundle has format %r; this Potato reads format %d" % (self.manifest["format"], FORMAT)
                )
            self.project: str = self.manifest["project"]
            self.digest: str = self.manifest["digest"]
            self.modality: str = self.manifest["modality"]
            self.splits: Dict[str, int] = {split: int(self.manifest["splits"][split]) for split in SPLITS}
            self.schemas: Dict[str, SchemaInfo] = {
                name: SchemaInfo(
                    name,
                    raw["kind"],
                    tuple(raw["labels"]),
                    tuple(raw["classes"]),
                    raw.get("description", ""),
                    tuple(raw.get("fields", ())),
                )
                for name, raw in self.manifest["schemas"].items()
            }
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise BundleError("the bundle's %s cannot be read: %s" % (path, error)) from error

    def items(self, split: str) -> Iterator[BundleItem]:
        """The items of a split (`train`, `val`, `test` or `predict`), in the bundle's order, streamed."""
        path = os.path.join(self.folder, split + ".jsonl")
        number = 0
        try:
            with open(path, encoding="utf-8", newline="\n") as file:
                for number, line in enumerate(file, 1):  # noqa: B007 - the error below names it
                    raw = json.loads(line)
                    yield BundleItem(
                        str(raw["id"]),
                        raw["text"],
                        raw.get("media", {}),
                        raw.get("fields", {}),
                        raw.get("targets", {}),
                        raw.get("votes", {}),
                        raw.get("annotators", {}),
                        raw.get("said", {}),
                    )
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise BundleError("the bundle's %s cannot be read at line %d: %s" % (path, number, error)) from error

    @property
    def media_dir(self) -> str:
        """The folder of the files that items' `media` name."""
        return os.path.join(self.folder, "media")
