"""What several people ask for at the same moment is found once."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from typing import Any, TypeVar

T = TypeVar("T")

KEPT = 256


class Shared:
    """Answers by key, for `fresh_s` seconds. Who asks while an answer is being found waits for that one; who leaves
    meanwhile does not end it for the others. An answer that raised is not kept."""

    def __init__(self, fresh_s: float = 1.0) -> None:
        self._fresh_s = fresh_s
        self._found: OrderedDict[Hashable, tuple[float, asyncio.Future[Any]]] = OrderedDict()

    async def get(self, key: Hashable, find: Callable[[], Awaitable[T]]) -> T:
        """What `find` gives, or has just given, for this key."""
        made_at, answer = self._found.get(key, (0.0, None))
        if answer is None or time.monotonic() - made_at > self._fresh_s or _failed(answer):
            answer = asyncio.ensure_future(_awaited(find))
            self._found[key] = (time.monotonic(), answer)
            self._found.move_to_end(key)
            while len(self._found) > KEPT:
                self._found.popitem(last=False)
        result: T = await asyncio.shield(answer)
        return result


async def _awaited(find: Callable[[], Awaitable[T]]) -> T:
    return await find()


def _failed(answer: asyncio.Future[Any]) -> bool:
    return answer.done() and (answer.cancelled() or answer.exception() is not None)
