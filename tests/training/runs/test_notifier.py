"""Waiting for news without a thread, and without losing any."""

from __future__ import annotations

import asyncio
import threading
import time

from loops import run
from potato.training.runs.notifier import Notifier


def test_a_publish_wakes_whoever_waits_at_once() -> None:
    async def wait() -> float:
        notifier = Notifier()
        threading.Timer(0.05, notifier.publish, ["run:a"]).start()
        began = time.monotonic()
        assert await notifier.wait("run:a", notifier.version("run:a"), 30) == 1
        return time.monotonic() - began

    assert run(wait()) < 5


def test_a_publish_between_two_waits_is_not_lost() -> None:
    async def wait() -> None:
        notifier = Notifier()
        seen = notifier.version("runs")
        notifier.publish("runs")
        assert await notifier.wait("runs", seen, 30) == 1

    run(wait())


def test_another_topic_does_not_wake() -> None:
    async def wait() -> None:
        notifier = Notifier()
        notifier.publish("run:b")
        assert await notifier.wait("run:a", 0, 0.01) == 0

    run(wait())


def test_closing_wakes_everyone_and_every_later_wait_returns() -> None:
    async def wait() -> None:
        notifier = Notifier()
        waits = [asyncio.ensure_future(notifier.wait(topic, 0, 30)) for topic in ("a", "b", "b")]
        await asyncio.sleep(0)
        notifier.close()
        await asyncio.wait_for(asyncio.gather(*waits), 60)
        await asyncio.wait_for(notifier.wait("c", 0, 300), 60)
        assert notifier.closed

    run(wait())


def test_a_waiter_that_gave_up_or_whose_loop_ended_does_no_harm() -> None:
    notifier = Notifier()

    async def give_up() -> None:
        waiting = asyncio.ensure_future(notifier.wait("a", 0, 30))
        await asyncio.sleep(0)
        waiting.cancel()

    run(give_up())
    notifier.publish("a")
    assert notifier.version("a") == 1
