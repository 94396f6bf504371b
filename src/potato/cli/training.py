"""`potato training`: what the command line does for runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from potato.errors import PotatoError
from potato.training.backends.base import CheckReport

_AS_GIVEN = {"allow_extra_args": True, "ignore_unknown_options": True}


def register(app: typer.Typer) -> None:
    """Add the command to the command line."""
    group = typer.Typer(help="Train models on the labels, here or on another machine.", no_args_is_help=True)
    group.command("check")(check)
    group.command("register")(register_backend)
    group.command("push")(push)
    group.command("webhooks")(webhooks)
    group.command("agent", context_settings=_AS_GIVEN, add_help_option=False)(agent)
    app.add_typer(group, name="training")


def check(
    backend: Annotated[str, typer.Argument(help="`local`, or a name under model_training.backends.")],
    config: Annotated[Path, typer.Argument(help="The project file.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
    trainer: Annotated[str | None, typer.Option(metavar="NAME", help="Ask about this trainer alone.")] = None,
) -> None:
    """Could a run start there now? Exit code 0: yes; 1: no."""
    report = _report(backend, config, trainer)
    if as_json:
        typer.echo(json.dumps(report.as_json(), ensure_ascii=False, indent=2))
    else:
        for line in report.lines:
            typer.echo(line)
    raise typer.Exit(0 if report.ok else 1)


def register_backend(
    backend: Annotated[str, typer.Argument(help="An agent backend under model_training.backends.")],
    config: Annotated[Path, typer.Argument(help="The project file.")],
) -> None:
    """Issue the token of an agent backend; an earlier one ends at once."""
    from potato.project.loading import load_or_raise
    from potato.training.agents.tokens import register

    token = register(load_or_raise(config), backend)
    typer.echo(f"Token for backend '{backend}' (shown once; registering again replaces it):\n")
    typer.echo(f"  {token}\n")
    typer.echo("On the training machine:\n")
    typer.echo(f"  export POTATO_TRAINING_TOKEN={token}")
    typer.echo(f"  potato training agent --server http://<this-server>:8000 --backend {backend}")


def push(
    run: Annotated[str, typer.Argument(help="The run's id.")],
    config: Annotated[Path, typer.Argument(help="The project file.")],
    repo: Annotated[str, typer.Option(metavar="ORG/NAME", help="The repository; it is made where there is none.")],
    public: Annotated[bool, typer.Option("--public", help="Let everybody see it; it is private otherwise.")] = False,
    scheme: Annotated[str | None, typer.Option(metavar="NAME", help="Whose model, where the run has several.")] = None,
) -> None:
    """Publish a run's model on the Hugging Face Hub. The token is HF_TOKEN's, or that of `hf auth login`."""
    from potato.cli.stores import opened
    from potato.training.runs.pushes import push_now

    with opened(config) as (project, database):
        done = push_now(project, database, run, repo, public, scheme, typer.echo)
    typer.echo(f"Published: {done.url}, commit {done.revision} ({'public' if done.public else 'private'}).")


def webhooks(
    config: Annotated[Path, typer.Argument(help="The project file.")],
    test: Annotated[int | None, typer.Option(metavar="NUMBER", help="Send a test event to this one, now.")] = None,
) -> None:
    """List the project's webhooks with what they were told last, or try one. Exit code 1: it did not take the test."""
    from potato.cli.stores import opened
    from potato.store.training import deliveries
    from potato.training.webhooks.hooks import hook_of, hooks_of
    from potato.training.webhooks.trying import try_now

    with opened(config) as (project, database):
        if test is not None:
            outcome = try_now(project, hook_of(project, test))
            typer.echo(outcome.error or f"it answered {outcome.status}")
            raise typer.Exit(0 if outcome.error is None else 1)
        for hook in hooks_of(project):
            typer.echo(f"{hook.number}: {hook.address}, {'signed' if hook.is_signed else 'not signed'}")
            with database.read() as connection:
                for entry in deliveries.latest(connection, hook.key, 10):
                    told = entry.error or (f"it answered {entry.status}" if entry.status else "")
                    typer.echo(f"   {entry.at}  {entry.event}  {entry.state.value}  {told}".rstrip())


def _report(backend: str, config: Path, trainer: str | None) -> CheckReport:
    from potato.project.loading import load_or_raise
    from potato.training.backends import open_backend

    project = load_or_raise(config)
    try:
        return open_backend(project, backend).check(trainer)
    except PotatoError as error:
        return CheckReport(backend, False, [line for line in (error.message, error.hint) if line], error.as_json())


def agent(context: typer.Context) -> None:
    """Run training jobs on this machine for a Potato server elsewhere. `--help` tells its options."""
    from potato.training.agent.__main__ import main

    raise typer.Exit(main(context.args))
