"""Taking in answers from a file, whole or not at all, beside annotators who go on saving.

The file's answers are staged in short transactions. One small transaction then says that the import is `ready`: that
is the instant at which it has happened. Its answers are applied in short transactions after that; if the process
dies, the next import or start goes on where it stopped. A staging that was broken off is deleted.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, bindparam, delete, func, insert, null, select, update

from potato.schemes import Answer
from potato.store import adjudications, users
from potato.store.adjudications import Adjudicated
from potato.store.annotations import Entry, record
from potato.store.assignments import flag
from potato.store.clock import to_text
from potato.store.databases.database import Database
from potato.store.databases.upsert import upsert
from potato.store.rules import Rules
from potato.store.settling import Key, Standing, State, settle
from potato.store.tables import annotation_history, assignments, import_rows, imports
from potato.store.tables import annotations as answers_

PIECE = 2_000
SKIP = ""
"""The scheme of a staged row that says: this annotator skipped the item. Its value is why."""
FLAG = "\n"
"""The scheme, which no question can have, of a staged row that says: this annotator flagged the item, and why."""
EXTRA = "\t"
"""The scheme, which no question can have, of a staged row that says: enough others had answered before this one."""
WRITTEN = ("new", "changed")
"""The verdicts on rows that are written."""
NOTES = (SKIP, FLAG, EXTRA)
"""The schemes of staged rows that are no answers."""
NOBODY = ""
"""The annotator of a staged row that is no answer but a decision; `origin` names who made it."""


@dataclass(frozen=True)
class Staged:
    """One parsed answer of a file. `at` None: the file does not say when."""

    item: int
    annotator: str
    scheme: str
    value: Answer
    at: str | None
    line: int
    origin: str = "none"
    suggestion: Mapping[str, Any] | None = None
    elapsed_ms: int | None = None
    shown: Any = None

    @property
    def key(self) -> tuple[int, str, str]:
        """What there is one answer of."""
        return (self.item, self.annotator, self.scheme)


@dataclass(frozen=True)
class Clash:
    """Two lines that answer the same question differently, and neither is the later."""

    line: int
    other: int
    scheme: str


@dataclass
class Outcome:
    """What became of a file's answers."""

    counts: Counter[str] = field(default_factory=Counter)

    @property
    def new(self) -> int:
        """Answers that nobody had given."""
        return self.counts["new"]

    @property
    def same(self) -> int:
        """Answers that were there already."""
        return self.counts["same"]

    @property
    def changed(self) -> int:
        """Answers that took the place of earlier ones."""
        return self.counts["changed"]

    @property
    def kept(self) -> int:
        """Answers of the file that were left out, because the store has another that is not earlier."""
        return self.counts["kept"]

    @property
    def unasked(self) -> int:
        """Answers of the file that were left out, because what else is answered does not call for their question."""
        return self.counts["unasked"]


_COLUMNS = ("item", "annotator", "scheme", "value", "at", "origin", "suggestion", "elapsed_ms", "shown", "line")
_STAGED = select(*(import_rows.c[name] for name in _COLUMNS)).where(
    import_rows.c.import_id == bindparam("of_import"), import_rows.c.item.in_(bindparam("items", expanding=True))
)
_PIECE = (
    select(*(import_rows.c[name] for name in _COLUMNS))
    .where(import_rows.c.import_id == bindparam("of_import"))
    .order_by(import_rows.c.item, import_rows.c.annotator, import_rows.c.scheme)
    .limit(bindparam("most"))
    .offset(bindparam("skipped"))
)
_DELETE = delete(import_rows).where(
    import_rows.c.import_id == bindparam("of_import"),
    import_rows.c.item == bindparam("of_item"),
    import_rows.c.annotator == bindparam("of_annotator"),
    import_rows.c.scheme == bindparam("of_scheme"),
)
_CURRENT = select(answers_.c.item, answers_.c.user, answers_.c.scheme, answers_.c.value, answers_.c.at).where(
    answers_.c.item.in_(bindparam("items", expanding=True))
)
_TAKEN_BACK = (
    select(
        annotation_history.c.item,
        annotation_history.c.user,
        annotation_history.c.scheme,
        func.max(annotation_history.c.at),
    )
    .where(annotation_history.c.item.in_(bindparam("items", expanding=True)), annotation_history.c.value.is_(null()))
    .group_by(annotation_history.c.item, annotation_history.c.user, annotation_history.c.scheme)
)
_STATES = select(
    assignments.c.item,
    assignments.c.user,
    assignments.c.state,
    assignments.c.reason,
    assignments.c.flag,
    assignments.c.at,
).where(assignments.c.item.in_(bindparam("items", expanding=True)))
_READY = select(imports.c.id, imports.c.replace, imports.c.at, imports.c.counts).where(imports.c.state == "ready")


def begin(database: Database, file: str, *, replace: bool, at: datetime) -> int:
    """Open an import; what broken ones had staged is deleted. Hold the lock `import` from here on."""
    _drop_broken(database)
    row = {"file": file, "state": "staging", "replace": replace, "at": to_text(at), "counts": {}}
    with database.write() as conn:
        made: int = conn.execute(insert(imports).returning(imports.c.id), row).scalar_one()
    return made


def stage(conn: Connection, import_id: int, rows: Sequence[Staged]) -> list[Clash]:
    """Stage up to `PIECE` answers. A question that is answered twice by one annotator keeps the later answer."""
    found = conn.execute(_STAGED, {"of_import": import_id, "items": list({row.item for row in rows})})
    known = {staged.key: staged for staged in (Staged(**row._mapping) for row in found)}
    clashes, changed = [], {}
    for row in rows:
        other = known.get(row.key)
        if other is None or _is_later(row.at, other.at):
            known[row.key] = changed[row.key] = row
        elif other.value != row.value and not _is_later(other.at, row.at):
            clashes.append(Clash(row.line, other.line, row.scheme))
    written = [{"import_id": import_id, **{name: getattr(row, name) for name in _COLUMNS}} for row in changed.values()]
    upsert(conn, import_rows, ("import_id", "item", "annotator", "scheme"), written)
    return clashes


def commit(database: Database, import_id: int) -> None:
    """The instant at which the import has happened: from here on it will be applied to its end."""
    with database.write() as conn:
        conn.execute(update(imports).where(imports.c.id == import_id).values(state="ready"))


def drop(database: Database, import_id: int) -> None:
    """Forget an import that is not to happen."""
    while _drop_piece(database, import_id):
        pass


def apply(database: Database, rules: Rules) -> Outcome:
    """Apply every import that is ready, to its end. Returns what became of the last one's answers."""
    outcome = Outcome()
    with database.read() as conn:
        ready = conn.execute(_READY).all()
    for row in ready:
        outcome = Outcome(Counter(row.counts))
        while _apply_piece(database, row, outcome, rules):
            pass
    return outcome


def foresee(database: Database, import_id: int, rules: Rules, *, replace: bool) -> Outcome:
    """What `apply` would do, without doing it."""
    outcome, skipped, last = Outcome(), 0, False
    while not last:
        with database.read() as conn:
            rows, last = _piece(conn, import_id, skipped)
            outcome.counts.update(_Decisions(conn, rows, rules, replace=replace, create=None).verdicts.values())
        skipped += len(rows)
    return outcome


def current(conn: Connection, items: Sequence[int]) -> dict[tuple[int, str, str], Answer]:
    """The answers to `items` (a few thousand at most) by item, annotator's name and scheme."""
    names: dict[int, str] = {}
    found = {}
    for item, user, scheme, value, _ in conn.execute(_CURRENT, {"items": list(items)}):
        if user not in names:
            known = users.by_id(conn, user)
            names[user] = known.name if known else ""
        found[item, names[user], scheme] = value
    return found


class _Decisions:
    """What is to become of a piece: `verdicts` by row, against what the store has. `taken_back` are the store's answers
    to questions that are not asked any more after it."""

    def __init__(
        self, conn: Connection, rows: Sequence[Staged], rules: Rules, *, replace: bool, create: datetime | None
    ) -> None:
        items = {"items": list({row.item for row in rows})}
        self.users = _ids(conn, {row.annotator for row in rows} - {NOBODY}, create)
        self.decided = adjudications.of_items(conn, items["items"])
        self.answers: dict[Key, dict[str, tuple[Answer, str]]] = defaultdict(dict)
        for item, user, scheme, value, at in conn.execute(_CURRENT, items):
            self.answers[item, user][scheme] = (value, at)
        self._back = {(row[0], row[1], row[2]): row[3] for row in conn.execute(_TAKEN_BACK, items)}
        met = conn.execute(_STATES, items).all()
        self.states = {(row[0], row[1]): (State(row[2]), row[3]) for row in met}
        self._flags = {(row[0], row[1]): row[4] for row in met}
        self._latest = self._latest_of({(row[0], row[1]): row[5] for row in met if row[2] == State.SKIPPED.value})
        self._said = _latest_said(rows)
        self._replace = replace
        self.verdicts = {row.key: self._verdict(row) for row in rows}
        self.taken_back: list[tuple[Key, str]] = []
        self._unask(rows, rules)

    def _unask(self, rows: Sequence[Staged], rules: Rules) -> None:
        """Leave out the answers that the others do not call for; a piece has all of an annotator's to an item."""
        given: dict[tuple[int, str], dict[str, Staged]] = defaultdict(dict)
        for row in rows:
            if row.annotator != NOBODY and row.scheme in rules.schemes and self.verdicts[row.key] in WRITTEN:
                given[row.item, row.annotator][row.scheme] = row
        for (item, annotator), new in given.items():
            key = (item, self.users.get(annotator, 0))
            stored = {scheme: value for scheme, (value, _) in self.answers.get(key, {}).items()}
            unasked = rules.unasked({**stored, **{scheme: row.value for scheme, row in new.items()}})
            self.verdicts.update({new[scheme].key: "unasked" for scheme in unasked & new.keys()})
            self.taken_back += [(key, scheme) for scheme in sorted(unasked & stored.keys())]

    def _verdict(self, row: Staged) -> str:
        if row.annotator == NOBODY:
            return self._decision_verdict(row)
        key = (row.item, self.users.get(row.annotator, 0))
        if row.scheme == EXTRA:
            return "order"  # no answer: only a word on which came first
        if row.scheme == SKIP:
            return self._skip_verdict(key, row)
        if row.scheme == FLAG:
            has_flag = self._flags.get(key)
            return "new" if has_flag is None else "same" if has_flag == row.value else "kept"
        has = self.answers.get(key, {}).get(row.scheme)
        if has is not None and has[0] == row.value:
            return "same"
        earlier = has[1] if has is not None else self._back.get((*key, row.scheme))
        if earlier is None:
            return "new"
        if self._replace or _is_later(row.at, earlier):
            return "changed" if has is not None else "new"
        return "kept"

    def _decision_verdict(self, row: Staged) -> str:
        has = self.decided.get((row.item, row.scheme))
        if has is None:
            return "new"
        if (has.value, has.adjudicator) == (row.value, row.origin):
            return "same"
        return "changed" if self._replace or _is_later(row.at, has.at) else "kept"

    def _skip_verdict(self, key: Key, row: Staged) -> str:
        """A line that says both has skipped what it answered; else, the later of skip and answer stands."""
        if _is_later(self._said.get((row.item, row.annotator)), row.at):
            return "overtaken"  # by what the same file says
        state, reason = self.states.get(key, (None, None))
        latest = self._latest.get(key)
        if state is State.SKIPPED:
            return "same" if reason == row.value else "changed" if self._replace else "kept"
        if latest is None or self._replace or not _is_later(latest, row.at):
            return "changed" if state is State.DONE else "new"
        return "kept"

    def unskips(self, key: Key, rows: Sequence[Staged]) -> bool:
        """Whether these answers, which are written, are given by someone who has not skipped the item since.

        The store does not say when an item was skipped: after the two met, and after what is answered and stands.
        """
        return any(self._replace or _is_later(row.at, self._latest.get(key)) for row in rows)

    def _latest_of(self, skipped: Mapping[Key, str]) -> dict[Key, str]:
        """The last that the store knows of annotators and items: an answer, one taken back, or that they met."""
        latest = dict(skipped)
        answered = [(key, at) for key, said in self.answers.items() for _, at in said.values()]
        for key, at in [*answered, *(((item, user), at) for (item, user, _), at in self._back.items())]:
            latest[key] = max(at, latest.get(key, at))
        return latest


def _apply_piece(database: Database, row: Any, outcome: Outcome, rules: Rules) -> bool:
    with database.write() as conn:
        rows, last = _piece(conn, row.id, 0)
        if rows:
            now = datetime.fromisoformat(row.at.replace("Z", "+00:00"))
            decisions = _Decisions(conn, rows, rules, replace=row.replace, create=now)
            _write(conn, rows, decisions, row.at, rules)
            outcome.counts.update(decisions.verdicts.values())
            conn.execute(_DELETE, [_key(row.id, staged) for staged in rows])
        if last:
            conn.execute(delete(imports).where(imports.c.id == row.id))
            return False
        conn.execute(update(imports).where(imports.c.id == row.id).values(counts=dict(outcome.counts)))
    return True


def _write(conn: Connection, rows: Sequence[Staged], decisions: _Decisions, at: str, rules: Rules) -> None:
    taken = [row for row in rows if decisions.verdicts[row.key] in WRITTEN]
    decided = [row for row in taken if row.annotator == NOBODY]
    adjudications.decide(
        conn, [Adjudicated(row.item, row.scheme, row.value, row.origin, row.at or at) for row in decided], "import"
    )
    entries = [Entry(*key, scheme, None, at, "import") for key, scheme in decisions.taken_back]
    answers = [row for row in taken if row.annotator != NOBODY and row.scheme not in NOTES]
    entries += [_entry(row, (row.item, decisions.users[row.annotator]), at) for row in answers]
    record(conn, entries)
    standings = _standings(rows, decisions, entries, at, rules)
    late = {(row.item, decisions.users[row.annotator]) for row in rows if row.scheme == EXTRA}
    in_order = sorted(standings, key=lambda key: (key in late, standings[key].at))
    for done in (False, True):  # first those that make room, so that none is extra beside them
        changes = {key: standings[key] for key in in_order if (standings[key].state is State.DONE) is done}
        if changes:
            settle(conn, changes, rules)
    for row in taken:
        if row.scheme == FLAG:
            flag(conn, decisions.users[row.annotator], row.item, row.value)


def _standings(
    rows: Sequence[Staged], decisions: _Decisions, entries: Sequence[Entry], at: str, rules: Rules
) -> dict[Key, Standing]:
    """The standings that are others after `entries` have been written."""
    for entry in entries:
        answers = decisions.answers[entry.item, entry.user]
        if entry.value is None:
            answers.pop(entry.scheme, None)
        else:
            answers[entry.scheme] = (entry.value, entry.at)
    said: dict[Key, dict[str, Staged]] = defaultdict(dict)
    for row in rows:
        if row.annotator != NOBODY:
            said[row.item, decisions.users[row.annotator]][row.scheme] = row
    found = {key: _standing(key, lines, decisions, at, rules) for key, lines in said.items()}
    return {key: standing for key, standing in found.items() if standing is not None}


def _standing(key: Key, said: Mapping[str, Staged], decisions: _Decisions, at: str, rules: Rules) -> Standing | None:
    """How an annotator stands to an item after what the file has `said` of the two; None: as before."""
    verdicts = {scheme: decisions.verdicts[row.key] for scheme, row in said.items()}
    given = [said[s] for s, verdict in verdicts.items() if s not in NOTES and verdict in (*WRITTEN, "same")]
    was = decisions.states.get(key, (None, None))[0]
    if verdicts.get(SKIP) in WRITTEN:
        return Standing(State.SKIPPED, said[SKIP].at or at, reason=said[SKIP].value)
    says_skipped = verdicts.get(SKIP, "overtaken") != "overtaken"
    if was is State.SKIPPED and (says_skipped or not decisions.unskips(key, given)):
        return None
    answers = {scheme: value for scheme, (value, _) in decisions.answers[key].items()}
    done = rules.is_done(answers)
    if not done and was is State.OPEN:
        return None  # they are working on it, and have it until their lease ends
    if was is None and not answers and verdicts.get(FLAG) not in WRITTEN:
        return None
    state = State.DONE if done else State.LAPSED
    moment = max((row.at or at for row in given), default=next(iter(said.values())).at or at)
    return None if state is was else Standing(state, moment)


def _entry(row: Staged, key: Key, at: str) -> Entry:
    return Entry(
        item=key[0],
        user=key[1],
        scheme=row.scheme,
        value=row.value,
        at=row.at or at,
        source="import",
        origin=row.origin,
        suggestion=row.suggestion,
        elapsed_ms=row.elapsed_ms,
        shown=row.shown,
    )


def _ids(conn: Connection, names: set[str], create: datetime | None) -> dict[str, int]:
    if create is not None:
        return {name: users.ensure(conn, name, create) for name in sorted(names)}
    known = {name: users.by_name(conn, name) for name in names}
    return {name: user.id for name, user in known.items() if user is not None}


def _piece(conn: Connection, import_id: int, skipped: int) -> tuple[list[Staged], bool]:
    """Up to `PIECE` rows, and whether they are the last. All of an item's are together, however many, so that its
    answers are taken in the order in which they were given."""
    found = conn.execute(_PIECE, {"of_import": import_id, "skipped": skipped, "most": PIECE + 1})
    rows = [Staged(**row._mapping) for row in found]
    if len(rows) <= PIECE:
        return rows, True
    following = rows.pop()
    whole = [row for row in rows if row.item != following.item]
    if not whole:
        found = conn.execute(_STAGED, {"of_import": import_id, "items": [following.item]})
        whole = [Staged(**row._mapping) for row in found]
    return whole, False


def _key(import_id: int, row: Staged) -> dict[str, Any]:
    return {"of_import": import_id, "of_item": row.item, "of_annotator": row.annotator, "of_scheme": row.scheme}


def _drop_broken(database: Database) -> None:
    with database.read() as conn:
        broken = conn.execute(select(imports.c.id).where(imports.c.state == "staging")).scalars().all()
    for import_id in broken:
        drop(database, import_id)


def _drop_piece(database: Database, import_id: int) -> bool:
    with database.write() as conn:
        rows, _ = _piece(conn, import_id, 0)
        if rows:
            conn.execute(_DELETE, [_key(import_id, row) for row in rows])
        else:
            conn.execute(delete(imports).where(imports.c.id == import_id))
    return bool(rows)


def _latest_said(rows: Sequence[Staged]) -> dict[tuple[int, str], str]:
    """When annotators last answered an item, as the file says."""
    latest: dict[tuple[int, str], str] = {}
    for row in rows:
        if row.scheme not in NOTES and row.at is not None:
            latest[row.item, row.annotator] = max(row.at, latest.get((row.item, row.annotator), row.at))
    return latest


def _is_later(at: str | None, other: str | None) -> bool:
    return at is not None and (other is None or at > other)
