"""`python -m quick_agent`: the agent as it is, with shorter pauses, and on another host where `FAKE_HOST` names one."""

import functools
import os
import platform
import sys

from potato.training.agent import __main__ as program
from potato.training.agent.course import Settings
from potato.training.agent.patience import Timing
from potato.training.worker import processes

QUICK = Timing(first_pause=0.02, longest_pause=0.5, poll=0.03, quick_claim=0.1, unsaid=0.5)

if "FAKE_HOST" in os.environ:
    platform.node = processes.boot_id = lambda: os.environ["FAKE_HOST"]
program.Settings = functools.partial(Settings, timing=QUICK)

if __name__ == "__main__":
    sys.exit(program.main())
