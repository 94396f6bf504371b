"""`potato users`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from potato.cli.stores import opened
from potato.errors import PotatoError

if TYPE_CHECKING:
    from potato.admin.accounts import Change, Done

Config = Annotated[Path, typer.Argument(help="The project file.", metavar="CONFIG.YAML", show_default=False)]
Name = Annotated[str, typer.Argument(help="The annotator's name.", show_default=False)]
FromStdin = Annotated[bool, typer.Option("--password-stdin", help="Read the password from standard input.")]


class NoPassword(PotatoError):
    """There is no password: standard input holds none, or nobody is there to be asked."""

    code = "no_password"
    status = 400


def register(app: typer.Typer) -> None:
    """Add the commands to the command line."""
    group = typer.Typer(no_args_is_help=True, help="Annotators, admins, and how they sign in.")
    app.add_typer(group, name="users")
    for command in (add, passwd, link, admin, revoke, list_users):
        group.command(command.__name__.removesuffix("_users"))(command)


def add(file: Config, name: Name) -> None:
    """Add an annotator. The server may run meanwhile, here and below."""
    from potato.admin import accounts
    from potato.store.clock import utc_now

    typer.echo(_changed(file, accounts.add(name, utc_now())).what)


def passwd(file: Config, name: Name, password_stdin: FromStdin = False) -> None:
    """Give an annotator a password; sessions with an earlier one end."""
    from potato.admin import accounts

    password = _from_stdin() if password_stdin else _asked()
    typer.echo(_changed(file, accounts.new_password(name, password)).what)


def link(
    file: Config,
    name: Name,
    url: Annotated[str, typer.Option(help="The address at which annotators reach the server.")] = (
        "http://127.0.0.1:8000"
    ),
) -> None:
    """Give an annotator a sign-in link and print it, this once; an earlier one opens nothing any more."""
    from potato.admin import accounts
    from potato.store.clock import utc_now

    done = _changed(file, accounts.new_link(name, utc_now()))
    typer.echo(f"{url.rstrip('/')}/enter#{done.secret}")
    typer.echo(done.what, err=True)
    if (way := _way_in(file)) != "link":
        typer.echo(
            f"Note: links open nothing while annotators sign in by {way}: set `login: {{type: link}}`.", err=True
        )


def admin(
    file: Config, name: Name, off: Annotated[bool, typer.Option("--off", help="Take the right away.")] = False
) -> None:
    """Give an annotator who has a password admin rights, or take them away."""
    from potato.admin import accounts

    typer.echo(_changed(file, accounts.make_admin(name, not off)).what)


def revoke(file: Config, name: Name) -> None:
    """Take an annotator's password, link and admin rights away; what they answered stays."""
    from potato.admin import accounts
    from potato.store.clock import utc_now

    typer.echo(_changed(file, accounts.revoke(name, utc_now())).what)


def list_users(file: Config) -> None:
    """Print everybody, with the ways in that each has."""
    from potato.store import accounts

    after = ""
    with opened(file) as (_, database), database.read() as connection:
        while people := accounts.page(connection, after, 500):
            for person in people:
                ways = [("password", person.password_hash), ("link", person.link_digest), ("admin", person.is_admin)]
                has = ", ".join(way for way, given in ways if given) or "-"
                typer.echo(f"{person.name}\t{has}\t{person.done} done, {person.skipped} skipped")
            after = people[-1].name


def _way_in(file: Path) -> str:
    with opened(file) as (project, _):
        return project.config.login.type


def _changed(file: Path, change: Change) -> Done:
    with opened(file) as (_, database), database.write() as connection:
        return change(connection)


def _from_stdin() -> str:
    password = sys.stdin.readline().rstrip("\r\n")
    if not password:
        raise NoPassword("standard input holds no password", hint="echo the password into the command")
    return password


def _asked() -> str:
    if not sys.stdin.isatty():
        raise NoPassword("nobody is at the terminal to be asked for a password", hint="add --password-stdin")
    return str(typer.prompt("Password", hide_input=True, confirmation_prompt=True))
