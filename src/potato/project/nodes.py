"""A project file as it was written: text and lines, before any type is known.

YAML's own guessing of types is left out on purpose: `no`, `01` and `04:00:00` stay the text that was written, and the
field that takes the value decides what it means.
"""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass, field
from typing import Any, Union

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError, YAMLStreamError
from ruamel.yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    NodeEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)

from potato.project.finding import Problem

MAX_BYTES = 1_000_000
"""A larger project file is refused unread: it holds what belongs into `data_files`."""
MAX_DEPTH = 50
"""Deeper nesting is refused; a project file needs eight levels."""

_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ufffe\uffff]")
_TEXT_TAGS = ("!", "tag:yaml.org,2002:str")
_TAGS = (*_TEXT_TAGS, *(f"tag:yaml.org,2002:{name}" for name in ("int", "float", "bool", "null", "seq", "map")))


@dataclass(frozen=True)
class Scalar:
    """A single value. `plain` is true when it was written without quotes."""

    text: str
    plain: bool
    line: int

    @property
    def empty(self) -> bool:
        """Whether nothing was written."""
        return self.plain and not self.text


@dataclass
class ListNode:
    """A list."""

    line: int
    items: list[Node] = field(default_factory=list)


@dataclass
class Entry:
    """A key with its value."""

    key: str
    line: int
    value: Node


@dataclass
class MapNode:
    """Keys with values, in the order of the file; the first of equal keys."""

    line: int
    entries: dict[str, Entry] = field(default_factory=dict)


Node = Union[Scalar, ListNode, MapNode]  # noqa: UP007


class BadSource(Exception):
    """The text is not a YAML document that a project file may be."""

    def __init__(self, line: int, message: str) -> None:
        super().__init__(message)
        self.problem = Problem((), message, line)


def decode(data: bytes) -> str:
    """The text of a file: UTF-8 with or without BOM, UTF-16 by its BOM. Raises `BadSource`."""
    if len(data) > MAX_BYTES:
        raise BadSource(1, f"the file is larger than {MAX_BYTES:,} bytes, the most that a project file may have")
    utf16 = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    try:
        text = data.decode("utf-16" if utf16 else "utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise BadSource(line, f"the file is not text in UTF-8: {error.reason} at byte {error.start}") from None
    if found := _CONTROL.search(text):
        line = text.count("\n", 0, found.start()) + 1
        raise BadSource(line, f"the file is not text: it holds the control character U+{ord(found[0]):04X}")
    return text


def compose(text: str) -> tuple[Node | None, list[Problem]]:
    """The document (None when there is none) and its duplicate keys. Raises `BadSource`."""
    reader = _Reader()
    try:
        for event in YAML(typ="safe", pure=True).parse(text):
            reader.take(event)
    except MarkedYAMLError as error:
        raise _syntax_error(error) from None
    except (YAMLError, YAMLStreamError) as error:
        raise BadSource(1, f"not valid YAML: {_one_line(error)}") from None
    return reader.document, reader.problems


def _joined(text: str, line: int) -> str:
    """JSON writes one character beyond U+FFFF as two escapes, which YAML's reader leaves apart."""
    if not any("\ud800" <= char <= "\udfff" for char in text):
        return text
    try:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le")
    except UnicodeDecodeError:
        raise BadSource(line, "an escape such as `\\ud83d` stands for half a character only") from None


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())


def _syntax_error(error: MarkedYAMLError) -> BadSource:
    mark = error.problem_mark or error.context_mark
    line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
    what = " ".join((error.problem or error.context or "it cannot be read").split())
    if "'\\t'" in what:
        what += "; indent with spaces, not tabs"
    began = error.context_mark
    if error.context and began and began is not mark and began.line + 1 != line:
        what += f" ({error.context}, which begins on line {began.line + 1})"
    return BadSource(line, f"not valid YAML at column {column}: {what}")


class _Reader:
    """Builds the tree from parse events; no recursion, so that nesting cannot exhaust the stack."""

    def __init__(self) -> None:
        self.document: Node | None = None
        self.problems: list[Problem] = []
        self._open: list[tuple[ListNode | MapNode, str | None]] = []
        self._keys: list[Scalar | None] = []
        self._anchors: dict[str, Node | None] = {}
        self._documents = 0

    def take(self, event: Any) -> None:
        """One event of the parser."""
        if isinstance(event, DocumentStartEvent):
            self._start_document(event)
        elif isinstance(event, (MappingEndEvent, SequenceEndEvent)):
            self._close()
        elif isinstance(event, NodeEvent):
            self._node(event)

    def _start_document(self, event: Any) -> None:
        self._documents += 1
        if self._documents > 1:
            raise BadSource(event.start_mark.line + 1, "a second YAML document begins here; a project file is one")

    def _node(self, event: Any) -> None:
        line = event.start_mark.line + 1
        if isinstance(event, AliasEvent):
            self._add(self._named(event.anchor, line))
            return
        self._check_tag(event, line)
        if isinstance(event, ScalarEvent):
            scalar = Scalar(_joined(event.value, line), event.style is None and str(event.tag) not in _TEXT_TAGS, line)
            self._remember(event, scalar)
            self._add(scalar)
            return
        opened: ListNode | MapNode = ListNode(line) if isinstance(event, SequenceStartEvent) else MapNode(line)
        assert isinstance(event, (SequenceStartEvent, MappingStartEvent))
        if len(self._open) == MAX_DEPTH:
            raise BadSource(line, f"more than {MAX_DEPTH} levels of nesting")
        self._expect_key(opened)
        self._remember(event, None)
        self._open.append((opened, event.anchor))
        self._keys.append(None)

    def _named(self, anchor: str, line: int) -> Node:
        if anchor not in self._anchors:
            raise BadSource(line, f"nothing above is named `&{anchor}`, which `*{anchor}` asks for")
        node = self._anchors[anchor]
        if node is None:
            raise BadSource(line, f"`*{anchor}` stands inside of what it names")
        return node

    @staticmethod
    def _check_tag(event: Any, line: int) -> None:
        tag = str(event.tag) if event.tag is not None else None
        if tag is not None and tag not in _TAGS:
            shown = tag.replace("tag:yaml.org,2002:", "!!")
            raise BadSource(line, f"the tag `{shown}` has no meaning in a project file")

    def _remember(self, event: Any, node: Node | None) -> None:
        if event.anchor is not None:
            self._anchors[event.anchor] = node

    def _expect_key(self, opened: ListNode | MapNode) -> None:
        if self._open and isinstance(self._open[-1][0], MapNode) and self._keys[-1] is None:
            raise BadSource(opened.line, "a key is text, not a list or a mapping")

    def _close(self) -> None:
        node, anchor = self._open.pop()
        self._keys.pop()
        if anchor is not None:
            self._anchors[anchor] = node
        self._add(node)

    def _add(self, node: Node) -> None:
        if not self._open:
            self.document = node
            return
        parent = self._open[-1][0]
        if isinstance(parent, ListNode):
            parent.items.append(node)
        elif self._keys[-1] is None:
            self._keys[-1] = self._key(node)
        else:
            key, self._keys[-1] = self._keys[-1], None
            self._enter(parent, key, node)

    @staticmethod
    def _key(node: Node) -> Scalar:
        if not isinstance(node, Scalar):
            raise BadSource(node.line, "a key is text, not a list or a mapping")
        return node

    def _enter(self, parent: MapNode, key: Scalar, value: Node) -> None:
        if key.text == "<<" and key.plain:
            self._merge(parent, key, value)
        elif key.text in parent.entries and not isinstance(parent.entries[key.text], _Merged):
            first = parent.entries[key.text].line
            message = f"duplicate key `{key.text}`; it stands on line {first} already"
            self.problems.append(Problem(self._here(key.text), message, key.line))
        else:
            parent.entries[key.text] = Entry(key.text, key.line, value)

    def _merge(self, parent: MapNode, key: Scalar, value: Node) -> None:
        for source in value.items if isinstance(value, ListNode) else [value]:
            if not isinstance(source, MapNode):
                raise BadSource(key.line, "`<<` takes a mapping that was named with `&`")
            for entry in source.entries.values():
                parent.entries.setdefault(entry.key, _Merged(entry.key, key.line, entry.value))

    def _here(self, key: str) -> tuple[str | int, ...]:
        path: list[str | int] = []
        for (node, _), waiting in zip(self._open[:-1], self._keys[:-1], strict=True):
            path.append(len(node.items) if isinstance(node, ListNode) else waiting.text if waiting else "")
        return (*path, key)


class _Merged(Entry):
    """An entry that came by `<<`; the mapping's own key wins over it."""
