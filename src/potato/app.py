"""The application factory: joins the pages into one server."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING

from fastapi import FastAPI
from starlette.staticfiles import StaticFiles

from potato import __version__
from potato.admin.routes import router as admin_router
from potato.annotate.entering import router as entering_router
from potato.annotate.questions import Questions
from potato.annotate.routes import router as annotate_router
from potato.metrics.requests import Measured
from potato.metrics.routes import Meter
from potato.metrics.routes import router as metrics_router
from potato.project import Project
from potato.review.deciding import router as deciding_router
from potato.servers.member import Member
from potato.servers.term import keep_to_the_project, term
from potato.store import Database, Writer, facts
from potato.store.clock import Clock, utc_now
from potato.store.databases.postgresql import is_postgresql
from potato.store.election import Candidate
from potato.tasks import TaskRunner
from potato.training.runs.notifier import Notifier
from potato.web import errors, health
from potato.web.protection import BodyLimit, SecurityHeaders
from potato.web.render import HERE
from potato.web.session import Sessions, new_keys
from potato.web.site import Site

if TYPE_CHECKING:
    from potato.training.runs.supervisor import Supervisor
    from potato.training.runs.timing import Timing


def create_app(
    project: Project,
    *,
    supervisor: Supervisor | None = None,
    tasks: TaskRunner | None = None,
    notifier: Notifier | None = None,
    timing: Timing | None = None,
    clock: Clock = utc_now,
    address: str = "",
) -> FastAPI:
    """The server of `project`. What is not passed in is opened at its start and closed at its end. `address` is where
    other servers of the project reach this one, where its store is in PostgreSQL."""
    forwarding = contextlib.AsyncExitStack()

    @contextlib.asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        with _opened(project, supervisor, tasks, notifier or Notifier(), timing, clock, address) as site:
            async with forwarding:
                app.state.site, app.state.questions = site, Questions(project)
                yield

    app = FastAPI(
        title=project.config.annotation_task_name,
        version=__version__,
        lifespan=lifespan,
        openapi_url=None,  # the training pages serve it, to admins
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,  # its redirects name the host, which is wrong behind a proxy
    )
    if project.config.model_training.enabled and is_postgresql(project.database_url):
        _forward(app, project, forwarding)
    app.add_middleware(BodyLimit)
    app.add_middleware(SecurityHeaders)
    app.state.meter = Meter()
    app.add_middleware(Measured, requests=app.state.meter.requests)  # the outermost: it sees every answer
    errors.install(app)
    _mount(app, project)
    return app


def _forward(app: FastAPI, project: Project, closing: contextlib.AsyncExitStack) -> None:
    """Have another server process be asked for what this one, which is not in office, cannot do."""
    from potato.servers.forwarding import Connections, Forwarding

    connections = Connections()
    closing.push_async_callback(connections.close)
    app.add_middleware(Forwarding, connections=connections, login_header=project.config.login.header)


def _mount(app: FastAPI, project: Project) -> None:
    app.include_router(annotate_router)  # the first, as it is asked for most
    app.mount("/static", StaticFiles(directory=HERE / "static"), name="static")
    app.include_router(health.router)
    app.include_router(metrics_router)
    app.include_router(entering_router)
    app.include_router(admin_router)
    app.include_router(deciding_router)
    if project.config.model_training.enabled:
        from potato.review.routes import router as review_router
        from potato.training.web.routes import router as training_router

        app.include_router(training_router)
        app.include_router(review_router)


@contextlib.contextmanager
def _opened(
    project: Project,
    supervisor: Supervisor | None,
    tasks: TaskRunner | None,
    notifier: Notifier,
    timing: Timing | None,
    clock: Clock,
    address: str,
) -> Iterator[Site]:
    with contextlib.ExitStack() as closing:
        database = Database(project.database_url)
        closing.callback(database.close)
        database.migrate()
        sessions = _sessions(database)
        writer = Writer(database)
        writer.start()
        closing.callback(writer.close)
        if tasks is None:
            tasks = TaskRunner(project)
            tasks.start()
            closing.callback(tasks.close)
        site = Site(project, database, writer, sessions, notifier, tasks, supervisor, clock)
        if supervisor is not None or not project.config.model_training.enabled:
            keep_to_the_project(project, writer)
        elif database.is_sqlite:
            closing.enter_context(term(site, None, timing))
        else:
            member = Member(site, Candidate(database.url, address), lambda epoch: term(site, epoch, timing))
            closing.callback(member.close)
            member.start()
        closing.callback(site.close)
        closing.callback(notifier.close)
        yield site


def _sessions(database: Database) -> Sessions:
    with database.write() as connection:
        keys = facts.get(connection, "session_keys")
        if keys is None:
            keys = new_keys()
            facts.put(connection, "session_keys", keys)
    return Sessions(**keys)
