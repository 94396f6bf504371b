"""Every answer out of the store, streamed, with a manifest of counts that equals the store."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import uuid
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from heapq import merge
from itertools import groupby
from pathlib import Path
from typing import Any, BinaryIO

from potato.errors import PotatoError
from potato.items.exporters import Exporter, Labels, Line, Options, PreLabels, exporter
from potato.items.pre_labels import pre_labels
from potato.project import Project
from potato.schemes import Answer, InvalidAnswer, Scheme
from potato.store import Connection, Database, adjudications, imports
from potato.store.annotations import count_by_scheme, count_extra, count_flags, count_skips
from potato.store.exporting import AnsweredItem, Said, answered_items, has_unfinished_import
from potato.store.rules import Rules
from potato.training.contract.files import sync_folder, write_json

_REMEMBERED, _LONG = 100_000, 200
_DIFFERENT, _OTHERS = 1_000, "(others)"


class ExportDiffers(PotatoError):
    """What was written is not what the store counts. The file was not put in place."""

    code = "export_differs"

    def __init__(self, written: Mapping[str, Any], stored: Mapping[str, Any]) -> None:
        super().__init__(f"the export would hold {dict(written)}, but the store has {dict(stored)}")


class NeedsFolder(PotatoError):
    """A format that is a folder was to go where only bytes can, or where something is already."""

    code = "needs_folder"
    status = 400

    def __init__(self, form: str, taken: Path | None = None) -> None:
        if taken is None:
            super().__init__(f"{form} is a folder, not a file", hint="name the folder with --out")
        else:
            super().__init__(f"{taken} is there already; {form} is a new folder", hint="choose another name for --out")


@dataclass
class Manifest:
    """What an export holds."""

    lines: int = 0
    items: int = 0
    annotators: set[str] = field(default_factory=set)
    answers: Counter[str] = field(default_factory=Counter)
    skipped: int = 0
    flagged: int = 0
    extra: int = 0
    adjudicated: Counter[str] = field(default_factory=Counter)
    pre_labels: Counter[str] = field(default_factory=Counter)
    no_longer_in_project: dict[str, Counter[str]] = field(default_factory=dict)

    def orphan(self, scheme: str, said: str) -> None:
        """Count an answer that the project no longer takes; of very many different ones, the rest stand together."""
        counts = self.no_longer_in_project.setdefault(scheme, Counter())
        said = said[:_LONG].encode("utf-8", "backslashreplace").decode()
        counts[said if said in counts or len(counts) < _DIFFERENT else _OTHERS] += 1

    def as_json(self) -> dict[str, Any]:
        """The manifest as it is written beside the file."""
        return {
            "lines": self.lines,
            "items": self.items,
            "annotators": len(self.annotators),
            "annotations": sum(self.answers.values()),
            "by_scheme": dict(self.answers),
            "skipped": self.skipped,
            "flagged": self.flagged,
            "extra": self.extra,
            "adjudicated": dict(self.adjudicated),
            "pre_labels": dict(self.pre_labels),
            "no_longer_in_project": {name: dict(counts) for name, counts in self.no_longer_in_project.items()},
        }


def export_labels(
    project: Project, database: Database, file: BinaryIO, form: str = "jsonl", *, guard_formulas: bool = False
) -> Manifest:
    """Write every answer in the store to `file`, from one snapshot, and tell what it was.

    Raises `ExportDiffers` when that is not what the store counts, `UnknownFormat`, and `NeedsFolder`.
    """
    writes = exporter(form)
    if writes.is_folder:
        raise NeedsFolder(form)
    with _Export(project, database, guard_formulas=guard_formulas) as export:
        return export.run(writes, lambda lines, options: writes.write(lines, file, options))


def export_file(
    project: Project, database: Database, path: Path, form: str = "jsonl", *, guard_formulas: bool = False
) -> Manifest:
    """`export_labels` into a file, or a folder, that appears whole or not at all; `<path>.manifest.json` beside it.

    Of several at once to the same file the last one stays, with its own manifest.
    """
    writes = exporter(form)
    beside = path.with_name(f"{path.name}.{uuid.uuid4().hex}.part")
    try:
        if writes.is_folder:
            manifest = _export_folder(project, database, path, beside, form)
        else:
            with beside.open("wb") as file:
                manifest = export_labels(project, database, file, form, guard_formulas=guard_formulas)
                file.flush()
                os.fsync(file.fileno())
        with database.exclusive("export", project.output_dir):  # the file and its manifest are of one export
            if writes.is_folder:
                _check_free(path, form)
            beside.replace(path)
            sync_folder(str(path.parent))
            write_json(f"{path}.manifest.json", {"format": form, **manifest.as_json()})
    finally:
        shutil.rmtree(beside) if beside.is_dir() else beside.unlink(missing_ok=True)
    return manifest


def _check_free(path: Path, form: str) -> None:
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise NeedsFolder(form, path)


def _export_folder(project: Project, database: Database, path: Path, beside: Path, form: str) -> Manifest:
    _check_free(path, form)
    writes = exporter(form)
    beside.mkdir()
    with _Export(project, database) as export:
        return export.run(writes, lambda lines, options: writes.write_folder(lines, beside, options))


@contextlib.contextmanager
def _whole(project: Project, database: Database) -> Iterator[Connection]:
    """The store at an instant at which each import is in it whole: those under way are finished, or waited for."""
    while True:
        with database.read() as conn:
            if not has_unfinished_import(conn):
                yield conn
                return
        with database.exclusive("import", project.output_dir):
            imports.apply(database, Rules.of(project))


class _Export:
    """One export: the store as it is at one instant."""

    def __init__(self, project: Project, database: Database, *, guard_formulas: bool = False) -> None:
        self._project = project
        self._guard = guard_formulas
        self._reading = _whole(project, database)

    def __enter__(self) -> _Export:
        self._conn: Connection = self._reading.__enter__()
        return self

    def __exit__(self, *raised: Any) -> None:
        self._reading.__exit__(*raised)

    def run(self, writes: Exporter, write: Any) -> Manifest:
        """Call `write(lines, options)`, and count what passes."""
        manifest = Manifest()
        stored, decided = count_by_scheme(self._conn), adjudications.count_by_scheme(self._conn)
        lines = self._lines(writes)
        write(_counted(lines, manifest, self._project.schemes), self._options(stored, decided))
        wrote = _counts(manifest.answers, manifest.skipped, manifest.flagged, manifest.extra, manifest.adjudicated)
        noted = count_skips(self._conn), count_flags(self._conn), count_extra(self._conn)
        has = _counts(stored, *noted, decided)
        if wrote != has:
            raise ExportDiffers(wrote, has)
        return manifest

    def _lines(self, writes: Exporter) -> Iterator[Line]:
        items = answered_items(self._conn, text=writes.reads_text)
        lines: Iterator[Line] = (line for item in items for line in _labels(item))
        if writes.pre_labels:
            return merge(lines, pre_labels(self._conn, self._project), key=lambda line: line.seq)
        return lines

    def _options(self, stored: Mapping[str, int], decided: Mapping[str, int]) -> Options:
        known = self._project.schemes
        given = {*stored, *decided}
        config = self._project.config
        return Options(
            schemes=[*(name for name in known if name in given), *sorted(given - set(known))],
            known=known,
            id_key=config.item_properties.id_key,
            text_key=config.item_properties.text_key,
            name=config.annotation_task_name,
            adjudicated=bool(decided),
            guard_formulas=self._guard,
        )


def _counts(
    answers: Mapping[str, int], skipped: int, flagged: int, extra: int, decided: Mapping[str, int]
) -> dict[str, Any]:
    """What must be the same in an export and in the store."""
    noted = {"skipped": skipped, "flagged": flagged, "extra": extra}
    return {"annotations": dict(answers), **noted, "adjudicated": dict(decided)}


def _labels(item: AnsweredItem) -> Iterator[Labels]:
    """An item's answers, skips and flags, a line for each annotator, by name; then what was decided."""
    notes = {note.annotator: note for note in item.notes}
    by_annotator: dict[str, list[Said]] = {}
    for said in item.answers:
        by_annotator.setdefault(said.annotator, []).append(said)
    for name in sorted({*by_annotator, *notes}) if notes else by_annotator:
        said_ = by_annotator.get(name, [])
        note = notes.get(name)
        if note is not None and not said_ and note.skipped is None and note.flagged is None:
            continue  # done without an answer, as nothing is required
        at = max(said.at for said in said_) if said_ else ""
        yield Labels(
            item.seq,
            item.id,
            item.text,
            name,
            {said.scheme: said.value for said in said_},
            at if note is None or (said_ and note.skipped is None) else max(at, note.at),
            None if note is None else note.skipped,
            {said.scheme: detail for said in said_ if (detail := _detail(said))},
            flagged=None if note is None else note.flagged,
            extra=note is not None and note.extra,
        )
    for name, made in groupby(item.decided, key=lambda each: each.annotator):
        of_one = list(made)
        answers = {each.scheme: each.value for each in of_one}
        yield Labels(item.seq, item.id, item.text, None, answers, max(each.at for each in of_one), adjudicator=name)


def _detail(said: Said) -> dict[str, Any]:
    detail: dict[str, Any] = {}
    if said.origin != "none":
        detail["origin"] = said.origin
    if said.suggestion is not None:
        detail["suggestion"] = said.suggestion
    if said.elapsed_ms is not None:
        detail["elapsed_ms"] = said.elapsed_ms
    if said.shown is not None:
        detail["shown"] = said.shown
    return detail


def _counted(lines: Iterable[Line], manifest: Manifest, schemes: Mapping[str, Scheme]) -> Iterator[Line]:
    """The same lines, each counted in `manifest` as it passes."""
    takes: dict[tuple[str, str], bool] = {}
    last = None
    for line in lines:
        manifest.lines += 1
        if isinstance(line, PreLabels):
            manifest.pre_labels.update(line.suggestions.keys())
            yield line
            continue
        manifest.items += line.item != last
        last = line.item
        if line.annotator is not None:
            manifest.annotators.add(line.annotator)
        manifest.skipped += line.skipped is not None
        manifest.flagged += line.flagged is not None
        manifest.extra += line.extra
        counts = manifest.answers if line.adjudicator is None else manifest.adjudicated
        for name, answer in line.answers.items():
            counts[name] += 1
            said = answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)
            known = takes.get((name, said))
            if known is None:
                known = _takes(schemes.get(name), answer)
                if len(takes) < _REMEMBERED and len(said) <= _LONG:
                    takes[name, said] = known
            if not known:
                manifest.orphan(name, said)
        yield line


def _takes(scheme: Scheme | None, answer: Answer) -> bool:
    try:
        return scheme is not None and scheme.parse(answer) == answer
    except InvalidAnswer:
        return False
