"""Labels from a file into the store: whole or not at all, repeatable, never over a later human answer."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from potato.errors import PotatoError
from potato.items.labels import LabelLine, LabelReader
from potato.items.problems import Problems, RowProblem, several
from potato.items.text import storable
from potato.project import Project
from potato.schemes import InvalidAnswer
from potato.store import Connection, Database, adjudications, imports
from potato.store import items as store_items
from potato.store.clock import Clock, utc_now
from potato.store.imports import EXTRA, FLAG, NOBODY, PIECE, SKIP, Clash, Outcome, Staged
from potato.store.rederive import settled_by
from potato.store.rules import Rules


class InvalidLabels(PotatoError):
    """A file of labels with wrong lines. Nothing of it was taken in."""

    code = "invalid_labels"
    status = 400

    def __init__(self, problems: Problems) -> None:
        self.problems = problems.kept
        self.count = problems.count
        lines = f"{several(problems.count, 'line')} {'is' if problems.count == 1 else 'are'} wrong"
        super().__init__("\n".join([f"{lines}; nothing was imported:", *problems.lines()]))


@dataclass
class ImportReport:
    """What an import came to."""

    lines: int = 0
    annotators: int = 0
    outcome: Outcome = field(default_factory=Outcome)
    pre_labels: int = 0
    """Lines with a model's suggestions only; those are not answers and were left out."""
    dry_run: bool = False

    def sentences(self) -> Iterator[str]:
        """What a person wants to know, a sentence each."""
        done = self.outcome
        would = "would be " if self.dry_run else ""
        yield f"{several(self.lines, 'line')} by {several(self.annotators, 'annotator')}"
        yield f"{done.new} {would}new, {done.changed} {would}changed, {done.same} there already"
        if done.kept:
            yield (
                f"{done.kept} {would}left as they are in the project, where another answer is later, or the file "
                "does not say when; --replace takes the file's"
            )
        if done.unasked:
            yield f"{done.unasked} {would}left out, because what else is answered does not call for their questions"
        if self.pre_labels:
            yield f"{several(self.pre_labels, 'line')} with only a model's suggestions left out: those are not answers"


def import_labels(
    project: Project,
    database: Database,
    path: Path,
    *,
    replace: bool = False,
    dry_run: bool = False,
    clock: Clock = utc_now,
) -> ImportReport:
    """Take in a file of labels. Raises `InvalidLabels` with each wrong line; then, nothing was taken in.

    With `replace` the file's answers win over any that differ; `dry_run` only says what would become of them.
    """
    rules = Rules.of(project)
    with database.exclusive("import", project.output_dir):
        imports.apply(database, rules)  # what an interrupted import still owes
        import_id = imports.begin(database, storable(path.name), replace=replace, at=clock())
        work = _Import(project, database, path, import_id)
        try:
            report = work.stage()
        except BaseException:
            imports.drop(database, import_id)
            raise
        report.dry_run = dry_run
        if dry_run:
            report.outcome = imports.foresee(database, import_id, rules, replace=replace)
            imports.drop(database, import_id)
        else:
            with database.write() as connection:
                settled_by(connection, rules)
            imports.commit(database, import_id)
            report.outcome = imports.apply(database, rules)
    return report


class _Import:
    def __init__(self, project: Project, database: Database, path: Path, import_id: int) -> None:
        self._project = project
        self._database = database
        self._path = path
        self._id = import_id
        self._problems = Problems()
        self._report = ImportReport()
        self._annotators: set[str] = set()

    def stage(self) -> ImportReport:
        """Stage the whole file, or raise with everything that is wrong in it."""
        piece: list[LabelLine] = []
        for line in LabelReader(self._path, self._project, self._texts):
            if isinstance(line, RowProblem):
                self._problems.add(line)
                continue
            piece.append(line)
            if len(piece) == PIECE // max(1, len(self._project.schemes)):
                self._stage(piece)
                piece = []
        self._stage(piece)
        if self._problems:
            raise InvalidLabels(self._problems)
        self._report.annotators = len(self._annotators)
        return self._report

    def _stage(self, lines: Sequence[LabelLine]) -> None:
        if not lines:
            return
        self._report.lines += len(lines)
        with self._database.write() as conn:
            rows = self._rows(conn, lines)
            for clash in imports.stage(conn, self._id, rows):
                self._problems.add(self._clash(clash))

    def _rows(self, conn: Connection, lines: Sequence[LabelLine]) -> list[Staged]:
        seqs = store_items.seqs(conn, list({line.item for line in lines}))
        orphans = self._orphans(conn, lines, seqs)
        self._check_quotes(conn, lines, seqs)
        rows: list[Staged] = []
        for line in lines:
            if line.annotator is None and line.adjudicator is None:
                self._report.pre_labels += 1
            elif line.item not in seqs:
                self._problem(line, f"the project has no item {line.item!r:.80}")
            elif line.annotator is None:
                rows.extend(self._decided(line, seqs[line.item]))
            else:
                self._annotators.add(line.annotator)
                rows.extend(self._answers(line, line.annotator, seqs[line.item], orphans))
        return rows

    def _check_quotes(self, conn: Connection, lines: Sequence[LabelLine], seqs: dict[str, int]) -> None:
        """Refuse answers that quote the item's text otherwise than it reads."""
        schemes = self._project.schemes
        quoting = [
            (line, name) for line in lines for name in line.answers if schemes[name].quotes_text and line.item in seqs
        ]
        texts = store_items.texts(conn, list({seqs[line.item] for line, _ in quoting})) if quoting else {}
        for line, name in quoting:
            try:
                schemes[name].check(line.answers[name], texts[seqs[line.item]])
            except InvalidAnswer as error:
                self._problem(line, error.message)
                del line.answers[name]

    def _orphans(
        self, conn: Connection, lines: Sequence[LabelLine], seqs: dict[str, int]
    ) -> dict[tuple[int, str, str], object]:
        """The store's answers to the items with answers that the project no longer takes: repeating those is fine."""
        odd = {seqs[line.item] for line in lines if line.refused and line.item in seqs}
        return imports.current(conn, list(odd)) if odd else {}

    def _answers(
        self, line: LabelLine, annotator: str, item: int, orphans: dict[tuple[int, str, str], object]
    ) -> Iterator[Staged]:
        for scheme, (raw, reason) in line.refused.items():
            if (item, annotator, scheme) not in orphans or not _repeats(raw, orphans[item, annotator, scheme]):
                self._problem(line, reason)
        for scheme, value in line.answers.items():
            detail = line.details.get(scheme, {})
            yield Staged(
                item,
                annotator,
                scheme,
                value,
                line.at,
                line.line,
                origin=detail.get("origin", "none"),
                suggestion=detail.get("suggestion"),
                elapsed_ms=detail.get("elapsed_ms"),
                shown=detail.get("shown"),
            )
        if line.skipped is not None:
            yield Staged(item, annotator, SKIP, line.skipped or None, line.at, line.line)
        if line.flagged is not None:
            yield Staged(item, annotator, FLAG, line.flagged, line.at, line.line)
        if line.extra:
            yield Staged(item, annotator, EXTRA, None, line.at, line.line)

    def _decided(self, line: LabelLine, item: int) -> Iterator[Staged]:
        for scheme, (raw, reason) in line.refused.items():
            if not _repeats(raw, self._adjudicated(item, scheme)):
                self._problem(line, reason)
        for scheme, value in line.answers.items():
            yield Staged(item, NOBODY, scheme, value, line.at, line.line, origin=line.adjudicator or "")

    def _adjudicated(self, item: int, scheme: str) -> object:
        with self._database.read() as conn:
            found = adjudications.of_items(conn, [item]).get((item, scheme))
        return None if found is None else found.value

    def _texts(self, ids: list[str]) -> dict[str, str]:
        found: dict[str, str] = {}
        ids = [item for item in ids if storable(item) == item]  # no store can look for others
        for start in range(0, len(ids), PIECE):
            with self._database.read() as conn:
                seqs = store_items.seqs(conn, ids[start : start + PIECE])
                texts = store_items.texts(conn, list(seqs.values()))
            found.update({item: texts[seq] for item, seq in seqs.items()})
        return found

    def _problem(self, line: LabelLine, reason: str) -> None:
        self._problems.add(RowProblem(line.file, line.line, reason))

    def _clash(self, clash: Clash) -> RowProblem:
        reasons = {SKIP: "the reason for skipping", FLAG: "the reason for the flag"}
        what = reasons.get(clash.scheme, f"the answer to {clash.scheme!r:.80}")
        return RowProblem(
            self._path.name,
            clash.line,
            f"{what} differs from line {clash.other}, by the same annotator to the same item, and neither is later",
        )


def _repeats(raw: object, stored: object) -> bool:
    """Whether an answer that the project does not take is the one that the store has. Where a format has no place for a
    question's kind, as a table's cell for one that left the project, a text and the JSON of an answer look alike."""
    return raw == stored or _is_json_of(raw, stored) or _is_json_of(stored, raw)


def _is_json_of(text: object, value: object) -> bool:
    if not isinstance(text, str) or isinstance(value, str) or value is None:
        return False
    try:
        return bool(json.loads(text) == value)
    except (ValueError, RecursionError):
        return False
