"""`potato start`."""

from __future__ import annotations

import contextlib
import errno
import logging
import os
import signal
import socket
from pathlib import Path
from typing import Annotated, Any

import typer

from potato.errors import PotatoError
from potato.project import Project


class PortTaken(PotatoError):
    """The port cannot be listened on. Nothing was started."""

    code = "port_taken"
    status = 409

    def __init__(self, host: str, port: int, error: OSError) -> None:
        ours = error.errno in (errno.EADDRINUSE, errno.EACCES)
        super().__init__(
            f"cannot listen on {host}, port {port}: {(error.strerror or str(error)).lower()}",
            hint="Choose another with --port." if ours else "--host takes an address of this machine.",
        )


def register(app: typer.Typer) -> None:
    """Add the command to the command line."""

    @app.command()
    def start(
        file: Annotated[Path, typer.Argument(help="The project file.", metavar="CONFIG.YAML", show_default=False)],
        port: Annotated[int, typer.Option(min=0, max=65535, help="The port to serve on; 0 takes a free one.")] = 8000,
        host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
        address: Annotated[
            str,
            typer.Option(
                envvar="POTATO_ADDRESS",
                metavar="HOST:PORT",
                help="Where other servers of the project reach this one, where there are several on one database.",
            ),
        ] = "",
    ) -> None:
        """Check the project, then serve it until Ctrl-C."""
        project = _checked(file, host)
        if address:
            address = _address(address)
        signal.signal(signal.SIGTERM, signal.default_int_handler)  # both ways of stopping are one
        try:
            serve(project, host, port, address)
        except KeyboardInterrupt:
            typer.echo("Stopped. Every answer is kept.")


def serve(project: Project, host: str, port: int, address: str = "") -> None:
    """Load what is new in the data files, then serve until a signal. Raises before it listens when it cannot."""
    from potato.store import Database
    from potato.store.databases.lock import ServerLock
    from potato.tasks import TaskRunner

    _listening(host, port).close()  # said before a long load, not after it
    database = Database(project.database_url)
    # On PostgreSQL several servers may serve one project; its own locks keep them apart where it matters.
    with ServerLock(project.output_dir) if database.is_sqlite else contextlib.nullcontext():
        tasks = TaskRunner(project)
        tasks.start()  # it imports what loading takes while the tables are made
        try:
            database.migrate()
            database.close()
            loading = tasks.run("items.load", {})
            _import_server()
            _report_load(loading.result())
            _run(project, tasks, _listening(host, port), address)
        finally:
            tasks.close()


def _import_server() -> None:
    """Import what serves, while another process loads the items."""
    import uvicorn  # noqa: F401

    import potato.app  # noqa: F401


def _checked(file: Path, host: str) -> Project:
    """The project, after its findings were printed. Errors end the program, as they end `potato validate`."""
    from potato.cli.findings import show
    from potato.project.loading import load

    loaded = load(file, host=host)
    show(loaded.findings, err=True)
    if loaded.project is None or loaded.errors:
        raise typer.Exit(1)
    return loaded.project


def _listening(host: str, port: int) -> socket.socket:
    """A socket bound to the address, not yet taking connections. Raises `PortTaken`."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        bound = socket.socket(family, kind, protocol)
        try:
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            bound.bind(address)
            bound.listen(socket.SOMAXCONN)
        except OSError:
            bound.close()
            raise
    except OSError as error:
        raise PortTaken(host, port, error) from error
    return bound


_ORPHANS = "Such answers stay, are exported, and are left out of training; label_renames carries labels over."


def _report_load(report: dict[str, Any]) -> None:
    typer.echo(f"Items: {report['added']:,} new, {report['duplicates']:,} repeated, {report['skipped']:,} left out.")
    for name, count in report["orphans"].items():
        what = f"{count:,} {'answer' if count == 1 else 'answers'} to {name!r:.80}"
        typer.echo(f"Warning: the project no longer takes {what} that it has. {_ORPHANS}", err=True)


def _run(project: Project, tasks: Any, bound: socket.socket, address: str) -> None:
    import uvicorn
    from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

    from potato.app import create_app
    from potato.training.runs.notifier import Notifier
    from potato.web.proxy import RememberPeer

    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    notifier = Notifier()

    class Server(uvicorn.Server):
        """Says where it serves, and ends the event streams first: it would wait for them for ever."""

        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            if self.started:
                _say_where(project, bound)
                _say_role(app.state.site)

        async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
            notifier.close()
            await super().shutdown(sockets)

    address = address or _own_address(project, bound)
    app = create_app(project, tasks=tasks, notifier=notifier, address=address)
    served: Any = app  # Starlette and uvicorn spell the same interface differently
    behind: Any = ProxyHeadersMiddleware(served, os.environ.get("FORWARDED_ALLOW_IPS", "127.0.0.1"))
    config = uvicorn.Config(
        RememberPeer(behind),
        proxy_headers=False,  # done above, once the peer is noted
        log_config=None,
        access_log=False,
        timeout_graceful_shutdown=10,
        lifespan="on",
    )
    Server(config).run(sockets=[bound])


def _say_where(project: Project, bound: socket.socket) -> None:
    host, port = bound.getsockname()[:2]
    if host in ("0.0.0.0", "::"):  # noqa: S104 - shown, not bound
        host = socket.gethostname()
    address = f"http://{f'[{host}]' if ':' in host else host}:{port}"
    typer.echo(f"{project.config.annotation_task_name} is served at {address}/ - Ctrl-C stops it.")
    typer.echo(f"Admin: {address}/admin")


def _address(given: str) -> str:
    from potato.servers.address import checked

    return checked(given)


def _own_address(project: Project, bound: socket.socket) -> str:
    """Where other servers on the same database reach this one; nothing where there can be none."""
    from potato.servers.address import address_of
    from potato.store.databases.postgresql import is_postgresql
    from potato.store.election import server_of

    if not is_postgresql(project.database_url):
        return ""
    host, port = bound.getsockname()[:2]
    return address_of(host, port, server_of(project.database_url))


def _say_role(site: Any) -> None:
    """Which of several servers this one is."""
    from potato.servers.address import is_only_here

    if site.standing is None:
        return
    office = site.standing.office
    if site.supervises:
        typer.echo(f"This server supervises the runs (election {office.epoch}); others reach it at {office.address}.")
        if is_only_here(office.address):
            typer.echo("Servers on other machines cannot: for them, give --host or --address.")
    elif office is not None:
        typer.echo(f"The server at {office.address} supervises the runs (election {office.epoch}).")
    else:
        typer.echo("No server supervises the runs yet.")
