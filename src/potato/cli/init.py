"""`potato init`."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from potato.errors import PotatoError

if TYPE_CHECKING:
    from potato.project.models import ItemProperties
    from potato.project.starting import NewProject

FILE = "config.yaml"


class AlreadyThere(PotatoError):
    """There is a project file in the folder; it is not overwritten."""

    code = "already_there"
    status = 409


class NotAsked(PotatoError):
    """Nobody is at the terminal, and an option is missing."""

    code = "not_asked"
    status = 422


class WrongAnswer(PotatoError):
    """An answer, or an option's value, that no project can have."""

    code = "wrong_answer"
    status = 422


def register(app: typer.Typer) -> None:
    """Add the command to the command line."""

    @app.command()
    def init(
        folder: Annotated[Path, typer.Argument(help="Where to put the project; made if missing.")] = Path(),
        data: Annotated[str | None, typer.Option(help="The file with your texts; '' begins with a sample.")] = None,
        question: Annotated[str | None, typer.Option(help="What to ask of each text.")] = None,
        labels: Annotated[str | None, typer.Option(help="The answers to choose from, with commas between.")] = None,
        kind: Annotated[str, typer.Option("--type", help="radio, multiselect or likert.")] = "radio",
        size: Annotated[int, typer.Option(help="The points of a likert scale.", min=2, max=100)] = 5,
        name: Annotated[str | None, typer.Option(help="The project's name; the folder's when left out.")] = None,
        id_key: Annotated[str | None, typer.Option(help="The field with the ids; guessed when left out.")] = None,
        text_key: Annotated[str | None, typer.Option(help="The field with the texts; guessed when left out.")] = None,
    ) -> None:
        """Begin a project: three questions, or options, and a commented project file that runs."""
        from potato.project.starting import TYPES, NewProject

        if (folder / FILE).exists():
            raise AlreadyThere(f"there is a project in {folder / FILE} already", hint="choose another folder")
        if kind not in TYPES:
            raise WrongAnswer(f"--type is one of {', '.join(TYPES)}, not {kind!r:.80}")
        data_file = _data_file(data)
        asked = _answer(question, "--question", "What do you ask of each text?", "Is this positive or negative?")
        chosen = [] if kind == "likert" else _labels(labels)
        _write(
            folder,
            NewProject(
                name=name or folder.resolve().name or "Project",
                data_file=_from(folder, data_file) if data_file else "data/items.jsonl",
                fields=_fields(data_file, id_key, text_key),
                question=asked,
                kind=kind,
                labels=chosen,
                size=size,
            ),
            sample=data_file is None,
        )


def _answer(given: str | None, option: str, question: str, default: str) -> str:
    """What was given; else what the person says."""
    if given is None:
        if not sys.stdin.isatty():
            raise NotAsked(f"{option} is missing, and nobody is at the terminal to be asked", hint=f"add {option}")
        given = typer.prompt(question, default=default)
    answer = given.strip()
    if not answer and default:
        raise WrongAnswer(f"{option} is empty")
    return answer


def _data_file(given: str | None) -> Path | None:
    answer = _answer(given, "--data", "Which file holds your texts? (Enter: begin with a sample)", "")
    if not answer:
        return None
    path = Path(answer).expanduser()
    if not path.is_file():
        raise WrongAnswer(f"{path} is no file", hint="--data names a JSON, JSON lines, CSV or TSV file")
    return path


def _labels(given: str | None) -> list[str]:
    answer = _answer(given, "--labels", "Which answers are there? (with commas between)", "positive, negative")
    labels = [label.strip() for label in answer.split(",") if label.strip()]
    if len(labels) < 2 or len(set(labels)) < len(labels):
        raise WrongAnswer("there must be two answers or more, each another", hint="--labels positive,negative")
    return labels


def _fields(data: Path | None, id_key: str | None, text_key: str | None) -> ItemProperties:
    from potato.items.guessing import guess_fields
    from potato.project.models import ItemProperties

    if data is None:
        return ItemProperties()
    if id_key and text_key:
        return ItemProperties(id_key=id_key, text_key=text_key)
    guessed = guess_fields(data)
    return ItemProperties(id_key=id_key or guessed.id_key, text_key=text_key or guessed.text_key)


def _from(folder: Path, file: Path) -> str:
    """The file as the project in `folder` names it: relative where it lies inside."""
    whole = file.resolve()
    return whole.relative_to(folder.resolve()).as_posix() if whole.is_relative_to(folder.resolve()) else str(whole)


def _write(folder: Path, project: NewProject, *, sample: bool) -> None:
    """Write the files, the project's last: it appears whole or not at all, and only its owner can read the key."""
    from potato.project.starting import sample_lines

    folder.mkdir(parents=True, exist_ok=True)
    if sample:
        (folder / "data").mkdir(exist_ok=True)
        items = folder / "data" / "items.jsonl"
        if not items.exists():
            items.write_text(sample_lines(), encoding="utf-8")
    file = folder / FILE
    try:
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise AlreadyThere(f"there is a project in {file} already") from None
    with os.fdopen(descriptor, "w", encoding="utf-8") as opened:
        opened.write(project.as_yaml())
    typer.echo(f"Wrote {file}. The admin key is in it.")
    typer.echo(f"Next: potato start {file}")
