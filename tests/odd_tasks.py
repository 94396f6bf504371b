"""The child process with a few tasks more, for tests: `python -m odd_tasks`."""

from __future__ import annotations

import os
import signal
import time
from typing import Any

from potato.errors import PotatoError
from potato.project import Project
from potato.store import Database
from potato.tasks import registry
from potato.tasks.__main__ import main


class OutOfTea(PotatoError):
    code = "out_of_tea"
    status = 418


def echo(project: Project, database: Database, args: dict[str, Any]) -> Any:
    print("noise on stdout is no answer")
    return {**args, "project": project.config.annotation_task_name, "pid": os.getpid(), "nice": os.nice(0)}


def refuse(project: Project, database: Database, args: dict[str, Any]) -> Any:
    raise OutOfTea("There is no tea", hint="boil some")


def crash(project: Project, database: Database, args: dict[str, Any]) -> Any:
    raise ZeroDivisionError("by nothing")


def die(project: Project, database: Database, args: dict[str, Any]) -> Any:
    os.kill(os.getpid(), signal.SIGKILL)


def hang(project: Project, database: Database, args: dict[str, Any]) -> Any:
    time.sleep(600)


registry.TASKS.clear()
registry.TASKS.update({name: f"odd_tasks:{name}" for name in ("echo", "refuse", "crash", "die", "hang")})

if __name__ == "__main__":
    main()
