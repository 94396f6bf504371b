"""A run's life: the queue, the states, the supervisor that sees one through at a time, its journal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from potato.store.clock import Clock, utc_now

if TYPE_CHECKING:
    from potato.project import Project
    from potato.store import Database, Writer
    from potato.tasks import TaskRunner
    from potato.training.runs.notifier import Notifier
    from potato.training.runs.supervisor import Supervisor
    from potato.training.runs.timing import Timing


def open_supervisor(
    project: Project,
    database: Database,
    writer: Writer,
    notifier: Notifier,
    tasks: TaskRunner,
    *,
    timing: Timing | None = None,
    clock: Clock = utc_now,
    epoch: int | None = None,
) -> Supervisor:
    """The supervisor of a project's runs, not yet started; `epoch` as in `Records`."""
    from potato.store.election import Fence
    from potato.training.runs.records import Records
    from potato.training.runs.supervisor import Supervisor
    from potato.training.runs.timing import Timing
    from potato.training.webhooks.announcer import Announcer
    from potato.training.webhooks.post import Post

    timing = timing or Timing()
    writes = writer if epoch is None else Fence(writer, epoch)
    post = Post(project, database, writes, clock, timing.post, epoch)
    records = Records(database, writes, notifier, clock, Announcer.of(project, clock), post.wake, epoch)
    return Supervisor(project, records, tasks, timing, post=post)
