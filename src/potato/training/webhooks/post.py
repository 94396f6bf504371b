"""The threads that empty the outbox, one for each address: one that does not answer keeps no other from being told."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from potato.project import Project
from potato.store import Connection, Database
from potato.store.clock import Clock, from_text, to_text
from potato.store.databases.unreachable import StoreUnreachable
from potato.store.election import OutOfOffice, Writes, check
from potato.store.training import deliveries
from potato.store.training.deliveries import Delivery
from potato.training.webhooks.hooks import Hook, hooks_of
from potato.training.webhooks.sending import TIMEOUT_S, Outcome, send

_log = logging.getLogger("potato.webhooks")

RETRIES_S = (10, 60, 300, 900, 3600, 3 * 3600, 6 * 3600, 12 * 3600)
"""Seconds before each further attempt; a day after the first, an event is given up."""


@dataclass(frozen=True)
class PostTiming:
    """Seconds; tests shorten them."""

    timeout: float = TIMEOUT_S
    retries: tuple[float, ...] = RETRIES_S
    farewell: float = 3.0
    """How long a server that goes down waits for an answer."""
    look: float = 60.0
    """The longest time between two looks into the outbox."""
    away: float = 2.0
    """The time between two looks while the database is away."""


class Post:
    """Delivers what stands in the outbox, at least once each, in the order of its events where nothing fails.

    A process that dies between an answer and its note sends that event again, under the same id. `epoch` is the
    election of a server that is one of several: once another was elected, it sends nothing more.
    """

    def __init__(
        self,
        project: Project,
        database: Database,
        writer: Writes,
        clock: Clock,
        timing: PostTiming | None = None,
        epoch: int | None = None,
    ) -> None:
        self._hooks = hooks_of(project)
        self._database = database
        self._writer = writer
        self._clock = clock
        self._timing = timing or PostTiming()
        self._epoch = epoch
        self._closing = threading.Event()
        self._left = threading.Event()
        self._wakes = [threading.Event() for _ in self._hooks]
        self._threads: list[threading.Thread] = []

    def start(self) -> None:
        """Go on with what an earlier server process left."""
        keys = [hook.key for hook in self._hooks]
        with self._database.read() as connection:
            left = deliveries.waiting_hooks(connection) - set(keys)
        if left:
            self._writer.call(lambda connection: deliveries.keep_hooks(connection, keys, to_text(self._clock())))
        for hook, wake in zip(self._hooks, self._wakes, strict=True):
            thread = threading.Thread(target=self._serve, args=(hook, wake), name=f"webhook-{hook.number}", daemon=True)
            self._threads.append(thread)
            thread.start()

    def wake(self) -> None:
        """Something may have come into the outbox."""
        for wake in self._wakes:
            wake.set()

    def close(self) -> None:
        """End after the requests that are under way, but wait for none that hangs; what waits, waits for the next
        server process."""
        self._closing.set()
        self.wake()
        end = time.monotonic() + self._timing.farewell
        for thread in self._threads:
            thread.join(max(0.0, end - time.monotonic()))
        self._left.set()

    def _serve(self, hook: Hook, wake: threading.Event) -> None:
        while not self._closing.is_set():
            wake.clear()
            try:
                pause = self._deliver_next(hook)
            except OutOfOffice:  # the event waits for the server that was elected
                return
            except StoreUnreachable as error:
                _log.warning("webhook %d looks again: %s", hook.number, error)
                pause = self._timing.away
            except Exception:  # the store failed: the event is still there
                _log.exception("webhook %d could not look into its outbox", hook.number)
                pause = self._timing.look
            if pause > 0:
                wake.wait(pause)

    def _deliver_next(self, hook: Hook) -> float:
        """Try the next delivery if it is due; seconds until there is something to do again."""
        with self._database.read() as connection:
            if self._epoch is not None:
                check(connection, self._epoch)
            delivery = deliveries.next_due(connection, hook.key)
        if delivery is None:
            return self._timing.look
        early = (from_text(delivery.due) - self._clock()).total_seconds()
        if early > 0:
            return min(early, self._timing.look)
        outcome = send(hook, delivery, lambda: self._clock().timestamp(), self._timing.timeout)
        if self._left.is_set():
            return 0.0  # the store is closed; the event is sent once more, under the same id
        self._writer.call(self._noted(delivery, outcome))
        if outcome.error is not None:
            _log.warning("webhook %d (%s): %s", hook.number, hook.address, outcome.error)
        return 0.0

    def _noted(self, delivery: Delivery, outcome: Outcome) -> Callable[[Connection], None]:
        now, identifier = self._clock(), delivery.id
        status, error, tried = outcome.status, outcome.error, delivery.attempts
        if error is None:
            return lambda connection: deliveries.delivered(connection, identifier, status or 200, to_text(now))
        if outcome.final or tried >= len(self._timing.retries):
            return lambda connection: deliveries.give_up(connection, identifier, status, error, to_text(now))
        due = to_text(now + timedelta(seconds=self._timing.retries[tried]))
        return lambda connection: deliveries.put_off(connection, identifier, status, error, due)
