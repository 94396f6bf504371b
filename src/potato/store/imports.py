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
    assignments.c.item, assignments.c.user, assignments.c.state, assignments.c.reason, assignments.c.flag
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
            return "order"
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
        state, reason = self.states.get(key, (None, None))
        if state is State.SKIPPED:
            return "same" if reason == row.value else "kept"
        return "kept" if state is State.DONE else "new"


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
    entries = [Entry(*key, scheme, None, at, "import") for key, scheme in decisions.taken_back]
    standings: dict[Key, Standing] = {}
    taken = [row for row in rows if decisions.verdicts[row.key] in WRITTEN]
    decided = [row for row in taken if row.annotator == NOBODY]
    adjudications.decide(
        conn, [Adjudicated(row.item, row.scheme, row.value, row.origin, row.at or at) for row in decided], "import"
    )
    flags: dict[Key, str] = {}
    for row in taken:
        if row.annotator == NOBODY:
            continue
        key = (row.item, decisions.users[row.annotator])
        if row.scheme == FLAG:
            flags[key] = row.value
            if key not in decisions.states:
                standings.setdefault(key, Standing(State.LAPSED, row.at or at))
            continue
        if row.scheme == SKIP:
            standings[key] = Standing(State.SKIPPED, row.at or at, reason=row.value)
            continue
        entries.append(_entry(row, key, at))
        decisions.answers[key][row.scheme] = (row.value, row.at or at)
        if standings.get(key, Standing(State.OPEN, at)).state is not State.SKIPPED:
            answers = {scheme: value for scheme, (value, _) in decisions.answers[key].items()}
            state = State.DONE if rules.is_done(answers) else State.LAPSED
            standings[key] = Standing(state, row.at or at)
    record(conn, entries)
    unsettled = {
        key: new
        for key, new in standings.items()
        if decisions.states.get(key, (None,))[0] not in (State.DONE, new.state)
    }
    if unsettled:
        late = {(row.item, decisions.users[row.annotator]) for row in rows if row.scheme == EXTRA}
        in_order = sorted(unsettled, key=lambda key: (key in late, unsettled[key].at))
        settle(conn, {key: unsettled[key] for key in in_order}, rules)
    for (item, user), reason in flags.items():
        flag(conn, user, item, reason)


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
    """Up to `PIECE` rows, and whether they are the last. All of an item's are together, so that its answers are taken
    in the order in which they were given; those of an item that has more than `PIECE` by annotator."""
    found = conn.execute(_PIECE, {"of_import": import_id, "skipped": skipped, "most": PIECE + 1})
    rows = [Staged(**row._mapping) for row in found]
    if len(rows) <= PIECE:
        return rows, True
    following = rows.pop()
    items = [row for row in rows if row.item != following.item]
    annotators = [row for row in rows if (row.item, row.annotator) != (following.item, following.annotator)]
    return items or annotators or rows, False


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


def _is_later(at: str | None, other: str | None) -> bool:
    return at is not None and (other is None or at > other)
