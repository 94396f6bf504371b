"""Data files into the store: whole or not at all, streamed, and nothing read twice that has not changed."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from potato.items.media import MediaSurvey
from potato.items.pieces import read_pieces
from potato.items.problems import InvalidData, Problems, RowProblem, several
from potato.project import Project
from potato.store import Database
from potato.store.clock import Clock, utc_now
from potato.store.intake import Intake, NewItem, Source, known_sources
from potato.training.contract.files import sha256_file

_READING = 1
"""Goes up when rows are read, hashed or grouped differently, so that files are read again."""
MANY = 1_000
"""After so many new items the database looks at its tables again, to plan well."""


@dataclass
class LoadReport:
    """What a load came to."""

    read: int = 0
    """Rows read that are items."""
    added: int = 0
    """Items that are new."""
    unchanged: int = 0
    """Files that have not changed since they were last read, and were not read again."""
    duplicates: int = 0
    """Rows that repeat an item of this load, word for word; they are one item."""
    skipped: int = 0
    """Rows without a usable text, left out as `bad_rows: skip` says."""
    problems: list[str] = field(default_factory=list)
    """The first of the rows left out, as lines."""
    unshown: list[RowProblem] = field(default_factory=list)
    """The first of the rows that name an image or a recording that cannot be shown; they are items all the same."""
    notes: list[str] = field(default_factory=list)
    """Sentences about what is allowed but may not be meant."""

    def as_json(self) -> dict[str, Any]:
        """All of it, as JSON."""
        return asdict(self)

    def sentences(self) -> Iterator[str]:
        """What a person wants to know, a sentence each."""
        if self.unchanged and not self.read:
            yield "no data file has changed"
        else:
            yield f"{several(self.added, 'new item')} of {several(self.read, 'row')} read"
        if self.skipped:
            yield f"{several(self.skipped, 'row')} without a usable text left out:"
            yield from self.problems
        yield from self.notes


def load_items(
    project: Project, database: Database, clock: Clock = utc_now, *, lock_folder: Path | None = None
) -> LoadReport:
    """Take in what is new in the data files. All or nothing: raises `InvalidData` with everything that is wrong.

    One load at a time: others wait, by a lock in `lock_folder`, the project's output folder where it is left out.
    """
    with database.exclusive("load", lock_folder or project.output_dir):
        report = _Load(project, database, clock).run()
    if report.added >= MANY:
        database.gather_statistics()
    return report


class _Load:
    def __init__(self, project: Project, database: Database, clock: Clock) -> None:
        self._project = project
        self._intake = Intake(database, clock())
        with database.read() as conn:
            self._known = known_sources(conn)
        self._settings = _settings(project)
        self._problems = Problems()
        self._skipped = Problems()
        self._report = LoadReport()
        self._first_duplicate = ""
        keys = project.config.item_properties
        self._media = MediaSurvey(project.task_dir) if keys.image_key or keys.audio_key else None

    def run(self) -> LoadReport:
        try:
            return self._run()
        except BaseException:
            self._intake.abandon()
            raise

    def _run(self) -> LoadReport:
        self._intake.discard()
        files = zip(self._project.data_files, self._project.config.data_files, strict=True)
        read = [source for path, name in files if (source := self._file(path, name)) is not None]
        if self._problems:
            self._intake.discard()
            raise InvalidData(self._problems)
        self._intake.publish(read, self._media.hosts if self._media else ())
        return self._finished()

    def _finished(self) -> LoadReport:
        report = self._report
        report.added = self._intake.added
        report.skipped = self._skipped.count
        report.problems = list(self._skipped.lines())
        if report.duplicates:
            rows = several(report.duplicates, "row") + (" repeats" if report.duplicates == 1 else " repeat")
            report.notes.append(f"{rows} an item word for word and count once; the first is {self._first_duplicate}")
        if self._media:
            report.unshown = self._media.problems.kept
            report.notes += self._media.sentences()
        for gone in sorted(set(self._known) - set(self._project.config.data_files)):
            report.notes.append(f"{gone} is no longer among the data_files; its items stay in the project")
        return report

    def _file(self, path: Path, name: str) -> Source | None:
        """Take in one file; None where there is nothing to note: it is unchanged, or it cannot be read."""
        try:
            before = path.stat()
            known = self._known.get(name)
            if known is not None and self._is_unchanged(known, before):
                self._report.unchanged += 1
                return None
            digest = sha256_file(str(path))
        except OSError as error:
            reason = "there is no such file" if isinstance(error, FileNotFoundError) else f"{error.strerror}"
            self._problems.add(RowProblem(name, None, reason))
            return None
        source = Source(name, before.st_size, before.st_mtime_ns, digest, self._settings, items=0)
        if known is not None and (known.digest, known.settings) == (digest, self._settings):
            self._report.unchanged += 1
            return Source(**{**vars(source), "items": known.items})
        return self._rows(path, source, before)

    def _is_unchanged(self, known: Source, now: os.stat_result) -> bool:
        seen = (known.bytes, known.mtime_ns, known.settings)
        return seen == (now.st_size, now.st_mtime_ns, self._settings)

    def _rows(self, path: Path, source: Source, before: os.stat_result) -> Source:
        items = 0
        for piece in read_pieces(path, source.path, self._project.config.item_properties, _shown(self._project)):
            if isinstance(piece, RowProblem):
                self._problem(piece)
            else:
                items += len(piece)
                self._add(piece)
        after = path.stat()
        if (after.st_size, after.st_mtime_ns) != (before.st_size, before.st_mtime_ns):
            self._problems.add(RowProblem(source.path, None, "it was changed while it was being read; try again"))
        self._report.read += items
        self._note_fewer(source.path, items)
        return Source(**{**vars(source), "items": items})

    def _problem(self, problem: RowProblem) -> None:
        skips = problem.unusable_text and self._project.config.bad_rows == "skip"
        (self._skipped if skips else self._problems).add(problem)

    def _add(self, piece: Sequence[NewItem]) -> None:
        if self._media:
            self._media.look(piece)
        for met in self._intake.add(piece) if piece else ():
            here, there = met.item, f"{met.source}:{met.line}"
            if not met.same:
                self._problems.add(RowProblem(here.source, here.line, _conflict(here.id, there, new=met.new)))
            elif met.new:
                self._first_duplicate = self._first_duplicate or f"{here.id!r} ({there}, {here.source}:{here.line})"
                self._report.duplicates += 1

    def _note_fewer(self, name: str, items: int) -> None:
        fewer = self._known[name].items - items if name in self._known else 0
        if fewer > 0:
            self._report.notes.append(
                f"{name} has {several(fewer, 'row')} fewer than before; the items read then stay in the project"
            )


def _settings(project: Project) -> str:
    properties = project.config.item_properties.model_dump()
    settings = [_READING, properties, project.config.bad_rows]
    return json.dumps([*settings, *([shown] if (shown := _shown(project)) else [])], sort_keys=True)


def _shown(project: Project) -> list[str]:
    """The fields that questions show, besides the item's own."""
    return sorted({field for scheme in project.schemes.values() for field in scheme.item_fields()})


def _conflict(item: str, there: str, *, new: bool) -> str:
    if new:
        return f"the id {item!r:.80} has other content here than at {there}; give one of them another id"
    return (
        f"the id {item!r:.80} has other content here than when it was read from {there}; "
        "give the changed item a new id, or put its row back as it was"
    )
