"""The exporters by name. Adding a format is a file and a line here; a package adds one by the entry point
`potato.exporters`."""

from __future__ import annotations

from importlib.metadata import entry_points

from potato.errors import PotatoError
from potato.items.exporters.base import Exporter
from potato.items.exporters.hf_datasets import HfDatasets
from potato.items.exporters.json_lines import JsonLines
from potato.items.exporters.label_studio import LabelStudio
from potato.items.exporters.parquet import Parquet
from potato.items.exporters.spacy import Spacy
from potato.items.exporters.tables import Table

EXPORTERS: dict[str, Exporter] = {
    "jsonl": JsonLines(),
    "csv": Table(","),
    "tsv": Table("\t"),
    "parquet": Parquet(),
    "hf-datasets": HfDatasets(),
    "label-studio": LabelStudio(),
    "spacy": Spacy(),
}


class UnknownFormat(PotatoError):
    """No exporter has this name."""

    code = "unknown_format"
    status = 400

    def __init__(self, name: str, known: list[str]) -> None:
        super().__init__(f"there is no format {name!r:.60}; there are {', '.join(known)}")


def exporter(name: str) -> Exporter:
    """The exporter called `name`: Potato's own, or one that an installed package brings. Raises `UnknownFormat`."""
    if name in EXPORTERS:
        return EXPORTERS[name]
    others = {point.name: point for point in entry_points(group="potato.exporters")}
    if name not in others:
        raise UnknownFormat(name, [*EXPORTERS, *others])
    made: Exporter = others[name].load()()
    return made
