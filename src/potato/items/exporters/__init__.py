"""The formats of `potato export`: one file each, found by name through `registry`."""

from potato.items.exporters.base import Exporter, Labels, Line, NoPackage, Options, PreLabels
from potato.items.exporters.registry import EXPORTERS, UnknownFormat, exporter

__all__ = [
    "EXPORTERS",
    "Exporter",
    "Labels",
    "Line",
    "NoPackage",
    "Options",
    "PreLabels",
    "UnknownFormat",
    "exporter",
]
