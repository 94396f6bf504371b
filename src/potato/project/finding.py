"""What is wrong with a project file, one sentence each."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from potato.errors import PotatoError

KeyPath = tuple[str | int, ...]
"""Where a value stands: keys, and positions in lists."""


class Severity(str, Enum):
    """How much a finding matters: an error stops the server, a warning does not, an acknowledged one is known."""

    ERROR = "error"
    WARNING = "warning"
    ACKNOWLEDGED = "acknowledged"


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong. `line` counts from 1; `path` is the full dotted key, empty for the file as a whole."""

    severity: Severity
    file: str
    line: int
    path: str
    message: str

    def __str__(self) -> str:
        """`file:line: key: message`; a message that begins with its key does not repeat it."""
        place = f"{self.file}:{self.line}: "
        if not self.path or self.message.startswith(self.path):
            return place + self.message
        return f"{place}{self.path}: {self.message}"

    def as_json(self) -> dict[str, str | int]:
        """The shape of `potato validate --json`."""
        return {"file": self.file, "line": self.line, "key": self.path, "message": self.message}


def dotted(path: KeyPath) -> str:
    """The key as people write it: `annotation_schemes[0].labels`."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


@dataclass(frozen=True)
class Problem:
    """A finding before its file and line are known."""

    path: KeyPath
    message: str
    line: int | None = None
    """The line, where it is not that of `path`."""


class UnreadableProject(PotatoError):
    """The project file cannot be read at all."""

    code = "unreadable_project"
    status = 400

    def __init__(self, file: Path, reason: str) -> None:
        inside = file / "config.yaml"
        hint = f"Did you mean {inside}?" if inside.is_file() else None
        super().__init__(f"{file} cannot be read: {reason}", hint=hint)


class InvalidProject(PotatoError):
    """The project file has errors; nothing was started."""

    code = "invalid_project"
    status = 400

    def __init__(self, file: Path, findings: Iterable[Finding]) -> None:
        self.findings = [finding for finding in findings if finding.severity is Severity.ERROR]
        count = "an error" if len(self.findings) == 1 else f"{len(self.findings)} errors"
        super().__init__("\n".join([f"{file} has {count}", *map(str, self.findings)]))
