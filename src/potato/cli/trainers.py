"""`potato trainers`."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

from potato.training.trainers.base import Param, TrainerInfo


def register(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command("trainers")(trainers)


def trainers(
    name: Annotated[str | None, typer.Argument(help="Tell all about this trainer alone.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print it as JSON.")] = False,
) -> None:
    """List the trainers that are there, and what each lacks on this machine. Imports no training library."""
    infos = _infos(name)
    if as_json:
        typer.echo(json.dumps([_as_json(info) for info in infos], ensure_ascii=False, indent=2))
        return
    for info in infos:
        for line in _lines(info, details=name is not None):
            typer.echo(line)


def _infos(name: str | None) -> list[TrainerInfo]:
    from potato.training.trainers import registry

    if name is None:
        return registry.infos()
    from potato.training.runs.request import trainer_info

    return [trainer_info(name)]


def _lines(info: TrainerInfo, *, details: bool) -> list[str]:
    lacks = _lacks(info)
    lines = [
        f"{info.name}: {'lacks ' + ', '.join(lacks) if lacks else 'ready'}",
        f"  {info.summary}",
        f"  for {', '.join(info.kinds)} schemes over {', '.join(info.modalities)}",
    ]
    if lacks:
        lines.append(f"  install: {info.install_command()}")
    if details:
        lines += [f"  licence of what it uses: {info.licence}", "  params:"]
        lines += [f"    {param.name} ({param.type}, default {_default(param)}): {param.help}" for param in info.params]
    return lines


def _lacks(info: TrainerInfo) -> list[str]:
    """The packages that are not here, or too old, as pip takes them."""
    from potato.training.worker.packages import lacking

    return [requirement.pip for requirement in info.requires if lacking(requirement)]


def _default(param: Param) -> str:
    return "none" if param.default is None else json.dumps(param.default)


def _as_json(info: TrainerInfo) -> dict[str, Any]:
    lacks = _lacks(info)
    return {
        "name": info.name,
        "summary": info.summary,
        "kinds": list(info.kinds),
        "modalities": list(info.modalities),
        "ready": not lacks,
        "lacks": lacks,
        "install": info.install_command() if lacks else None,
        "licence": info.licence,
    }
