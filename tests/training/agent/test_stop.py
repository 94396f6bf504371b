"""Being asked to stop is never missed, however shortly before a wait it comes."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from potato.training.agent.patience import Contact, Patience, Timing
from potato.training.agent.stop import Stop, Stopped

WOKEN = """
import os, signal, threading, time
from potato.training.agent.stop import Stop

stop = Stop()
stop.listen([signal.SIGTERM])

def wait():
    print("ready", flush=True)
    os._exit(0 if stop.wait(120) else 1)

threading.Thread(target=wait).start()
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
time.sleep(600)
"""
"""The signal meets another thread than the main one, which then runs no handler, as right before a wait."""


def test_a_signal_wakes_whoever_waits_before_its_handler_runs() -> None:
    with subprocess.Popen([sys.executable, "-c", WOKEN], stdout=subprocess.PIPE) as program:
        assert program.stdout is not None and program.stdout.readline() == b"ready\n"
        program.send_signal(signal.SIGTERM)
        try:
            assert program.wait(60) == 0
        finally:
            program.kill()


def test_who_was_asked_to_stop_begins_no_long_wait_for_the_server() -> None:
    stop = Stop()
    stop.set()
    patience = Patience("claim", Contact(print, Timing()), stop, Timing())
    with pytest.raises(Stopped):
        patience.ask(lambda: pytest.fail("the server was asked"))
    assert stop.wait(0.0)
