"""What an exporter gets, and what it says of itself."""

from __future__ import annotations

import contextlib
import importlib
import io
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, Protocol, TextIO, Union

from potato.errors import PotatoError
from potato.items.pre_labels import PreLabels as PreLabels
from potato.schemes import Answer, Scheme


class NoPackage(PotatoError):
    """A format needs a package that is not installed."""

    code = "no_package"
    status = 400

    def __init__(self, what: str, package: str, extra: str) -> None:
        super().__init__(
            f"{what} needs the package {package}, which is not installed",
            hint=f"pip install 'potato-annotation[{extra}]'",
        )


class Labels(NamedTuple):
    """What one annotator says of one item; or, with `adjudicator` and no annotator, what was decided about it.

    `text` is empty unless the exporter `reads_text`. `skipped` and `flagged` are reasons, None where there was
    neither. `extra`: enough others had answered the item already.
    """

    seq: int
    item: str
    text: str
    annotator: str | None
    answers: dict[str, Answer]
    at: str
    skipped: str | None = None
    details: Mapping[str, Mapping[str, Any]] = {}
    adjudicator: str | None = None
    flagged: str | None = None
    extra: bool = False

    @property
    def is_flag_only(self) -> bool:
        """Whether the line says nothing but that the item was flagged."""
        return self.flagged is not None and not self.answers and self.skipped is None

    def as_json(self) -> dict[str, Any]:
        """The plain form."""
        who = {"annotator": self.annotator} if self.adjudicator is None else {"adjudicator": self.adjudicator}
        line: dict[str, Any] = {"id": self.item, **who, "annotations": self.answers, "at": self.at}
        if self.skipped is not None:
            line["skipped"] = self.skipped
        if self.flagged is not None:
            line["flagged"] = self.flagged
        if self.extra:
            line["extra"] = True
        if self.details:
            line["details"] = self.details
        return line


Line = Union[Labels, PreLabels]  # noqa: UP007 - a name for both, used at run time too
"""What an export is made of, by item."""


@dataclass(frozen=True)
class Options:
    """What an exporter may want to know."""

    schemes: list[str]
    """The schemes that have answers, in the project's order; those that it no longer has last."""
    known: Mapping[str, Scheme] = field(default_factory=dict)
    """The project's schemes."""
    id_key: str = "id"
    """What the data files call an item's id."""
    text_key: str = "text"
    """What the data files call an item's text."""
    name: str = ""
    """What the project is called."""
    adjudicated: bool = False
    """Whether there are adjudicated answers."""
    guard_formulas: bool = False
    """Write a `'` before a table's cells that a spreadsheet program would take for a formula."""


class Exporter(Protocol):
    """Writes labels in one format, as they come, holding no more than a few thousand of them.

    `keeps` says in a sentence what the format holds, `comes_back` whether an import of it gives the same labels.
    `pre_labels` is whether it takes models' suggestions among people's labels, `reads_text` whether it wants the items'
    texts; `needs` names the package that it imports, `is_folder` says that it writes one.
    """

    keeps: str
    comes_back: bool
    pre_labels: bool
    reads_text: bool
    needs: str | None
    is_folder: bool

    def write(self, lines: Iterable[Line], file: BinaryIO, options: Options) -> None:
        """Write all of `lines` to `file`."""

    def write_folder(self, lines: Iterable[Line], folder: Path, options: Options) -> None:
        """Write all of `lines` into the empty `folder`; only where `is_folder`."""


class FileExporter:
    """The usual case: one file, no package, no suggestions."""

    pre_labels = False
    reads_text = True
    comes_back = True
    needs: str | None = None
    is_folder = False

    def write_folder(self, lines: Iterable[Line], folder: Path, options: Options) -> None:
        """Not for a format that is one file."""
        raise NotImplementedError(f"{type(self).__name__} writes a file")


@contextlib.contextmanager
def as_text(file: BinaryIO) -> Iterator[TextIO]:
    """`file` to write text to. Half a surrogate pair, which no file can hold, is written as JSON writes it."""
    text = io.TextIOWrapper(file, "utf-8", "backslashreplace", newline="", write_through=False)
    try:
        yield text
        text.flush()
    finally:
        text.detach()


def package(name: str, what: str, extra: str = "export") -> Any:
    """The module `name`. Raises `NoPackage`, saying what needs it."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise NoPackage(what, name.partition(".")[0], extra) from error
