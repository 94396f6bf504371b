"""The one place where a worker's events are applied, whichever way they came.

The journal is `events.jsonl` in the run's folder, byte for byte what the worker wrote. Whole lines are applied to the
run's row together with the offset up to which they were, in one transaction, so that after a crash it goes on exactly
there.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from potato.store import Connection
from potato.store.training import runs as rows
from potato.training.contract.events import MAX_LINE, Event
from potato.training.runs.folder import RunFolder
from potato.training.runs.log import RunLog
from potato.training.runs.reading import read_events
from potato.training.runs.records import Records
from potato.training.runs.words import MAX_TEXT, changes, log_lines, text

PIECE = 4 * MAX_LINE
"""At most so many bytes are applied at once; more than the longest line of an honest writer."""


@dataclass
class Outcome:
    """What the worker said of its own end so far."""

    result: dict[str, Any] | None = None
    error: dict[str, Any] | None = None

    def take(self, events: Iterable[Event]) -> None:
        """Note what these events say."""
        for event in events:
            if event.name == "result":
                self.result = event.fields
            elif event.name == "error":
                self.error = event.fields


def notes(outcome: Outcome) -> list[str]:
    """What the worker wants people to know of its result, a sentence each."""
    said = (outcome.result or {}).get("notes")
    return [text(note, MAX_TEXT) for note in said] if isinstance(said, list) else []


def _said(events: Iterable[Event]) -> list[tuple[float, str]]:
    return [line for event in events for line in log_lines(event)]


class Journal:
    """Follows the journal of one run from where the row stands."""

    def __init__(self, records: Records, folder: RunFolder, run_id: str, log: RunLog) -> None:
        self._records = records
        self._folder = folder
        self._run_id = run_id
        self._log = log
        self.outcome = Outcome()
        self.applied = 0
        self._catch_up(records.get(run_id).applied)

    def pull(self) -> bool:
        """Apply the whole lines that have come since; whether there were any."""
        events, taken = self._lines(self.applied)
        if not taken:
            return False
        self._log.add(_said(events))
        end, fields = self.applied + taken, changes(events)
        self._records.write(self._run_id, lambda connection: self._apply(connection, end, fields), bool(fields))
        self.applied = end
        self.outcome.take(events)
        return True

    def _apply(self, connection: Connection, end: int, fields: dict[str, Any]) -> None:
        rows.amend(connection, self._run_id, applied=end, **fields)

    def _catch_up(self, applied: int) -> None:
        """Read again, without applying it, what an earlier server process has applied. What it has logged beyond that,
        because it was killed between the two, is taken back, to be logged when it is applied."""
        while self.applied < applied:
            events, taken = self._lines(self.applied, min(PIECE, applied - self.applied))
            if not taken:
                break
            self.outcome.take(events)
            self.applied += taken
        self._log.take_back(_said(self._lines(self.applied)[0]))

    def _lines(self, offset: int, limit: int = PIECE) -> tuple[list[Event], int]:
        try:
            with self._folder.events.open("rb") as file:
                file.seek(offset)
                data = file.read(limit)
        except FileNotFoundError:
            return [], 0
        events, taken = read_events(data)
        if not taken and len(data) == PIECE:  # no line of an honest writer is this long
            return read_events(data + b"\n")[0], len(data)
        return events, taken
