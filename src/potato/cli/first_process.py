"""Being the first process of a container: everything whose parent has died becomes its child, and no signal ends it by
default. So the program runs in a child, and this process passes signals on to it and lets every ended child go."""

from __future__ import annotations

import os
import signal
import sys

PASSED_ON = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2)


def stand_aside() -> None:
    """Where this is the first process, go on in a child and end as that ends; else do nothing."""
    if os.getpid() == 1 and sys.platform == "linux":
        run_in_child()


def run_in_child() -> None:
    """Return in a new child. This process looks after it, and leaves with its exit code."""
    heard = {*PASSED_ON, signal.SIGCHLD}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, heard)
    child = os.fork()
    if child == 0:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        return
    while (status := _ended(child)) is None:
        _pass_on(signal.sigwaitinfo(heard), child)
    code = os.waitstatus_to_exitcode(status)
    os._exit(code if code >= 0 else 128 - code)


def _pass_on(heard: signal.struct_siginfo, child: int) -> None:
    from_terminal = heard.si_code > 0  # the kernel has told the child as well
    if heard.si_signo != signal.SIGCHLD and not from_terminal:
        os.kill(child, heard.si_signo)


def _ended(child: int) -> int | None:
    """Let every child go that has ended; the status of `child`, once it is among them."""
    while True:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid in (0, child):
            return status if pid == child else None
