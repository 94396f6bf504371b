"""Taking in items: rows above the mark in short transactions, then one small transaction that moves the mark.

Only one load runs at a time (`lock.exclusive`). What a broken load left is above the mark, and deleted by the next.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import Connection, bindparam, delete, func, insert, literal, select

from potato.store import facts
from potato.store.clock import to_text
from potato.store.databases.bulk import insert_all
from potato.store.databases.database import Database
from potato.store.databases.upsert import upsert
from potato.store.items import MEDIA_HOSTS, VISIBLE
from potato.store.tables import items, sources, text_groups, wanted

PIECE = 2_000
"""Rows taken in at once; a transaction while annotators may be waiting."""
PIECES_AT_FIRST = 50
"""Pieces a transaction while the project is still empty: ids come in any order, and each commit writes every page
of their index that was touched, so that few large ones write less."""


class NewItem(NamedTuple):
    """An item as it was read. `content` is a hash over all that its row says, `text_hash` names its text."""

    id: str
    text: str
    image: str | None
    audio: str | None
    fields: str  # as JSON
    content: bytes
    text_hash: int
    source: str
    line: int


@dataclass(frozen=True)
class Met:
    """An item whose id was there already: the new one, and where the old one stands. `new` ones came in this load."""

    item: NewItem
    source: str
    line: int
    same: bool
    new: bool


@dataclass(frozen=True)
class Source:
    """A data file as it was when it was read; `settings` is what else decides how its rows become items."""

    path: str
    bytes: int
    mtime_ns: int
    digest: str
    settings: str
    items: int


_ITEM = ("seq", "id", "text", "image", "audio", "fields", "content", "grp", "source", "line", "added_at")
_GROUP = ("text_hash", "item")
_KNOWN = select(items.c.id, items.c.content, items.c.source, items.c.line, items.c.seq).where(
    items.c.id.in_(bindparam("wanted", expanding=True))
)
_WANT = insert(wanted).from_select(
    ["item", "taken"], select(items.c.seq, literal(0)).where(items.c.seq > bindparam("after")).order_by(items.c.seq)
)
_GROUPS = (
    select(text_groups.c.text_hash, items.c.grp)
    .join(items, items.c.seq == text_groups.c.item)
    .where(text_groups.c.text_hash.in_(bindparam("wanted", expanding=True)))
)
_SOURCES = select(
    sources.c.path, sources.c.bytes, sources.c.mtime_ns, sources.c.digest, sources.c.settings, sources.c["items"]
)


def known_sources(conn: Connection) -> dict[str, Source]:
    """The data files that were read, by path."""
    return {row[0]: Source(*row) for row in conn.execute(_SOURCES)}


class Intake:
    """One load. `add` rows, then `publish`, or `discard`; nothing is seen until it is published."""

    def __init__(self, database: Database, at: datetime) -> None:
        self._database = database
        self._at = to_text(at)
        with database.read() as conn:
            self._mark = facts.tally(conn, VISIBLE)
        self._next = self._mark + 1
        self._span = 1 if self._mark else PIECES_AT_FIRST
        self._open: contextlib.ExitStack | None = None
        self._conn: Connection | None = None
        self._pieces = 0
        self._met_some = self._met_texts = False

    @property
    def added(self) -> int:
        """How many items were new so far."""
        return self._next - self._mark - 1

    def add(self, rows: Sequence[NewItem]) -> list[Met]:
        """Take in up to `PIECE` rows; those whose id was there already are given back."""
        conn = self._transaction()
        met: list[Met] = []
        if self._met_some or not self._insert_new(conn, rows):
            self._met_some = True  # from here on, look first
            rows, met = self._sort_out(conn, rows)
            self._insert(conn, rows)
        self._next += len(rows)
        self._pieces += 1
        if self._pieces % self._span == 0:
            self._commit()
        return met

    def _sort_out(self, conn: Connection, rows: Sequence[NewItem]) -> tuple[list[NewItem], list[Met]]:
        known = {row[0]: row for row in conn.execute(_KNOWN, {"wanted": [row.id for row in rows]})}
        fresh: dict[str, NewItem] = {}
        met = []
        for row in rows:
            if row.id in known:
                _, content, source, line, seq = known[row.id]
                met.append(Met(row, source, line, same=content == row.content, new=seq > self._mark))
            elif row.id in fresh:
                first = fresh[row.id]
                met.append(Met(row, first.source, first.line, same=first.content == row.content, new=True))
            else:
                fresh[row.id] = row
        return list(fresh.values()), met

    def _insert_new(self, conn: Connection, rows: Sequence[NewItem]) -> bool:
        """Insert the rows if all their ids are new; else nothing."""
        attempt = conn.begin_nested()
        if not self._insert(conn, rows):
            attempt.rollback()
            return False
        attempt.commit()
        return True

    def _transaction(self) -> Connection:
        if self._conn is None:
            with contextlib.ExitStack() as stack:
                self._conn = stack.enter_context(self._database.write())
                _widen_cache(self._conn)
                self._open = stack.pop_all()
        return self._conn

    def _commit(self) -> None:
        stack, self._open, self._conn = self._open, None, None
        if stack is not None:
            stack.close()

    def publish(self, read: Sequence[Source], media_hosts: Collection[str] = ()) -> None:
        """Show everything that was added, and note the files as read, and the hosts of their media."""
        self._commit()
        with self._database.write() as conn:
            facts.set_tally(conn, VISIBLE, self._next - 1)
            rows = [{**vars(source), "read_at": self._at} for source in read]
            upsert(conn, sources, ("path",), rows)
            if media_hosts:
                facts.put(conn, MEDIA_HOSTS, sorted({*facts.get_list(conn, MEDIA_HOSTS), *media_hosts}))

    def abandon(self) -> None:
        """Let go of the store in the middle of something; the next load clears up."""
        stack, self._open, self._conn = self._open, None, None
        if stack is not None:
            stack.__exit__(*sys.exc_info())

    def discard(self) -> None:
        """Delete whatever lies above the mark: what this load added, or what a broken one left."""
        self._commit()
        with self._database.write() as conn:
            last = conn.execute(select(func.max(items.c.seq))).scalar() or 0
            if last > self._mark:
                conn.execute(delete(text_groups).where(text_groups.c.item > self._mark))
        while last > self._mark:
            last -= PIECE
            with self._database.write() as conn:
                conn.execute(delete(wanted).where(wanted.c.item > max(last, self._mark)))
                conn.execute(delete(items).where(items.c.seq > max(last, self._mark)))
        self._next = self._mark + 1

    def _insert(self, conn: Connection, rows: Sequence[NewItem]) -> bool:
        """Insert the rows if their ids are new; else the caller undoes what this did."""
        groups = self._groups(conn, rows)
        values = [
            (seq, r.id, r.text, r.image, r.audio, r.fields, r.content, groups[r.text_hash], r.source, r.line, self._at)
            for seq, r in enumerate(rows, self._next)
        ]
        if not insert_all(conn, items, _ITEM, values):
            return False
        conn.execute(_WANT, {"after": self._next - 1})
        return True

    def _groups(self, conn: Connection, rows: Sequence[NewItem]) -> dict[int, str]:
        """The group of each text; a text that is new is named for its first item."""
        groups: dict[int, str] = {}
        new = []
        for seq, row in enumerate(rows, self._next):
            if row.text_hash not in groups:
                groups[row.text_hash] = row.id
                new.append((row.text_hash, seq))
        if self._met_texts or not insert_all(conn, text_groups, _GROUP, new):
            self._met_texts = True  # from here on, look first
            known = {row[0]: row[1] for row in conn.execute(_GROUPS, {"wanted": list(groups)})}
            insert_all(conn, text_groups, _GROUP, [row for row in new if row[0] not in known])
            groups.update(known)
        return groups


def _widen_cache(conn: Connection) -> None:
    if conn.dialect.name == "sqlite":  # ids come in any order: without this, each touches a page on disk
        conn.exec_driver_sql("PRAGMA cache_size=-65536")
