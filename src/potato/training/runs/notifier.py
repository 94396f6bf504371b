"""Tells whoever waits that something has changed: one counter for each topic."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import dataclass, field


@dataclass
class _Topic:
    version: int = 0
    waiters: set[asyncio.Future[None]] = field(default_factory=set)


class Notifier:
    """Topics are `run:<id>` (its journal, log, state) and `runs` (the list and its states).

    A topic's version grows with each publish, so that a publish between two waits is never lost: a waiter passes the
    version that it has seen. Waiting holds no thread.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._topics: dict[str, _Topic] = {}
        self._closed = False

    @property
    def closed(self) -> bool:
        """Whether the server is going down: whoever streams ends its stream."""
        return self._closed

    def version(self, topic: str) -> int:
        """How often the topic was published so far."""
        with self._lock:
            entry = self._topics.get(topic)
            return entry.version if entry else 0

    def publish(self, topic: str) -> None:
        """Wake everyone who waits for `topic`. From any thread."""
        with self._lock:
            entry = self._topics.setdefault(topic, _Topic())
            entry.version += 1
            waiters, entry.waiters = entry.waiters, set()
        for waiter in waiters:
            _wake(waiter)

    def publish_all(self) -> None:
        """Wake everyone, whatever they wait for. From any thread."""
        with self._lock:
            topics = list(self._topics)
        for topic in topics:
            self.publish(topic)

    async def wait(self, topic: str, seen: int, timeout: float) -> int:
        """The topic's version, as soon as it is past `seen`; after `timeout` seconds, or once closed, as it is."""
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        with self._lock:
            entry = self._topics.setdefault(topic, _Topic())
            if entry.version > seen or self._closed:
                return entry.version
            entry.waiters.add(waiter)
        try:
            await asyncio.wait([waiter], timeout=timeout)
        finally:
            with self._lock:
                entry.waiters.discard(waiter)
            waiter.cancel()
        return self.version(topic)

    def close(self) -> None:
        """Wake everyone for good."""
        with self._lock:
            self._closed = True
            waiters = [waiter for entry in self._topics.values() for waiter in entry.waiters]
        for waiter in waiters:
            _wake(waiter)


def _wake(waiter: asyncio.Future[None]) -> None:
    def finish() -> None:
        if not waiter.done():
            waiter.set_result(None)

    try:
        waiter.get_loop().call_soon_threadsafe(finish)
    except RuntimeError:
        return  # its loop has ended, and with it whoever waited
