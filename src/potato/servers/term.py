"""A term of office: all that the one process has which supervises the runs."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator
from typing import TYPE_CHECKING

from potato.project import Project
from potato.store import Connection
from potato.store.election import Fence
from potato.store.training import predictions, runs
from potato.training.webhooks.announcer import Announcer
from potato.web.site import Site

if TYPE_CHECKING:
    from potato.store.election import Writes
    from potato.training.runs.timing import Timing

_log = logging.getLogger("potato")


@contextlib.contextmanager
def term(site: Site, epoch: int | None, timing: Timing | None) -> Iterator[None]:
    """See the project's runs through until the block ends; `epoch` is the election's number, where there was one.

    What an earlier process left is taken up as after a restart. Long work of a supervisor that was elected is done by a
    child of its own, which writes nothing any more once another was elected.
    """
    from potato.training.runs import open_supervisor

    with contextlib.ExitStack() as closing:
        keep_to_the_project(site.project, site.writer if epoch is None else Fence(site.writer, epoch))
        tasks = site.tasks
        if epoch is not None:
            tasks = site.tasks.of_term(epoch)
            tasks.start()
            closing.callback(tasks.close)
        supervisor = open_supervisor(
            site.project, site.database, site.writer, site.notifier, tasks, timing=timing, epoch=epoch
        )
        supervisor.start()
        closing.callback(supervisor.close)
        if site.project.config.model_training.auto_retrain.enabled:
            from potato.training.retraining.watch import Retraining

            retraining = Retraining(supervisor)
            retraining.start()
            closing.callback(retraining.close)
        site.supervisor = supervisor
        yield


def keep_to_the_project(project: Project, writes: Writes) -> None:
    """Let the project file win: what left `writeback.schemas` while the server was down is shown no longer."""

    def keep(connection: Connection) -> dict[str, str]:
        withdrawn = predictions.keep_live(connection, project.config.model_training.writeback.schemas)
        for scheme, run_id in withdrawn.items():
            Announcer.of(project).withdrawn(connection, runs.get_or_raise(connection, run_id), [scheme], None)
        return withdrawn

    for scheme, run_id in writes.call(keep).items():
        _log.warning("'%s' is not in writeback.schemas: run %s's suggestions are no longer shown", scheme, run_id)
