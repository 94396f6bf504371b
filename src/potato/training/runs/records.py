"""The one way in which the server changes a run's row: through the writer, telling whoever watches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from potato.store import Connection, Database, facts
from potato.store.clock import Clock, to_text
from potato.store.election import Writes, check
from potato.store.training import runs as rows
from potato.store.training.runs import Run, State
from potato.training.runs.notifier import Notifier
from potato.training.webhooks.announcer import SILENT, Announcer

T = TypeVar("T")


class Records:
    """Reads and writes runs. A write returns once it is on disk; then the run's topics are published.

    `epoch` is the election of a server that is one of several; `writer` is fenced by it then. Reads and writes raise
    `OutOfOffice` once another server was elected.
    """

    def __init__(
        self,
        database: Database,
        writer: Writes,
        notifier: Notifier,
        clock: Clock,
        announcer: Announcer = SILENT,
        on_write: Callable[[], None] = lambda: None,
        epoch: int | None = None,
    ) -> None:
        self.database = database
        self.epoch = epoch
        self.notifier = notifier
        self.clock = clock
        self.announcer = announcer
        self._writer = writer
        self._on_write = on_write

    def now(self) -> str:
        """The present time as the store has it."""
        return to_text(self.clock())

    def get(self, run_id: str) -> Run:
        """The run. Raises `UnknownRun`."""
        return self.read(lambda connection: rows.get_or_raise(connection, run_id))

    def read(self, function: Callable[[Connection], T]) -> T:
        """What `function` finds in a read-only transaction."""
        with self.database.read() as connection:
            if self.epoch is not None:
                check(connection, self.epoch)
            return function(connection)

    def make_sure(self) -> None:
        """Raise `OutOfOffice` once another server was elected: asked before what no transaction of the store guards."""
        if self.epoch is not None:
            self.read(lambda connection: None)

    def put_fact(self, name: str, value: Any) -> None:
        """Store a single value that outlives the server (see `store.facts`)."""
        self._writer.call(lambda connection: facts.put(connection, name, value))

    def write(self, run_id: str, function: Callable[[Connection], T], listed: bool = True) -> T:
        """Run `function` as one transaction, then publish the run, and the list of runs where `listed`."""
        answer = self._writer.call(function)
        self.publish(run_id, listed)
        self._on_write()
        return answer

    def publish(self, run_id: str, listed: bool = True) -> None:
        """Tell whoever watches the run, and the list of runs where `listed`."""
        self.notifier.publish(f"run:{run_id}")
        if listed:
            self.notifier.publish("runs")

    def transition(self, run_id: str, to: State, **fields: Any) -> Run:
        """Bring the run into a state, with fields. Raises `NotAllowed`."""
        return self.write(run_id, lambda connection: self.change(connection, run_id, to, **fields))

    def change(self, connection: Connection, run_id: str, to: State, **fields: Any) -> Run:
        """`transition` within a transaction; whoever wants to be told of it will be. Raises `NotAllowed`."""
        before = rows.get_or_raise(connection, run_id).state
        run = rows.transition(connection, run_id, to, **fields)
        if run.state is not before:
            self.announcer.run(connection, run)
        return run

    def add(self, new: Run, beside: Callable[[Connection, Run], None] | None = None) -> Run:
        """Record a new run, and do `beside` just before, in the same transaction; where that raises, there is no run.
        Whoever wants to be told of it will be."""

        def add(connection: Connection) -> Run:
            if beside is not None:
                beside(connection, new)
            return self.insert(connection, new)

        return self.write(new.run_id, add)

    def insert(self, connection: Connection, new: Run) -> Run:
        """`add` within a transaction; whoever wants to be told of it will be."""
        run = rows.add(connection, new)
        self.announcer.run(connection, run)
        return run

    def amend(self, run_id: str, **fields: Any) -> None:
        """Write fields other than the state."""
        self.write(run_id, lambda connection: rows.amend(connection, run_id, **fields))
