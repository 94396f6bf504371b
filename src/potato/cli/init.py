"""`potato init`."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from potato.cli.failures import tell
from potato.errors import PotatoError

if TYPE_CHECKING:
    from potato.project.models import ItemProperties
    from potato.project.starting import NewProject

FILE = "config.yaml"
_DATA = "Which file holds your texts? (Enter: begin with a sample)"
_LABELS = "Which labels are there? (with commas between)"

T = TypeVar("T")


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
        labels: Annotated[str | None, typer.Option(help="The labels to choose from, with commas between.")] = None,
        kind: Annotated[
            str,
            typer.Option("--type", help="radio, multiselect, likert, slider, number, text, pairwise or span."),
        ] = "radio",
        size: Annotated[int, typer.Option(help="The points of a likert scale.", min=2, max=11)] = 5,
        name: Annotated[str | None, typer.Option(help="The project's name; the folder's when left out.")] = None,
        id_key: Annotated[str | None, typer.Option(help="The field with the ids; guessed when left out.")] = None,
        text_key: Annotated[str | None, typer.Option(help="The field with the texts; guessed when left out.")] = None,
    ) -> None:
        """Begin a project: three questions, or options, and a commented project file that runs."""
        from potato.project.starting import KINDS, NewProject

        if (folder / FILE).exists():
            raise AlreadyThere(f"there is a project in {folder / FILE} already", hint="choose another folder")
        if kind not in KINDS:
            raise WrongAnswer(f"--type is one of {', '.join(KINDS)}, not {kind!r:.80}")
        examples = KINDS[kind]
        chosen = _asked(data, "--data", _DATA, "", partial(_data, kind, id_key, text_key))
        asked = _asked(question, "--question", "What do you ask of each text?", examples.question, _question)
        listed: list[str] = []
        if examples.labels:
            listed = _asked(labels, "--labels", _LABELS, examples.labels, partial(_labels, kind))
        _write(
            folder,
            NewProject(
                name=name or folder.resolve().name or "Project",
                data_file=_from(folder, chosen.file) if chosen.file else "data/items.jsonl",
                fields=chosen.fields,
                question=asked,
                kind=kind,
                labels=listed,
                size=size,
                pair=chosen.pair,
            ),
            sample=chosen.file is None,
        )


@dataclass(frozen=True)
class Data:
    """The file with the texts (None: the sample), and its fields."""

    file: Path | None
    fields: ItemProperties
    pair: tuple[str, str] = ("text_a", "text_b")


def _asked(given: str | None, option: str, question: str, example: str, parse: Callable[[str], T]) -> T:
    """What `parse` makes of the option; without it, of what the person says, who is asked until it can be used."""
    if given is not None:
        return parse(given.strip())
    if not sys.stdin.isatty():
        raise NotAsked(f"{option} is missing, and nobody is at the terminal to be asked", hint=f"add {option}")
    while True:
        said = typer.prompt(question, default=example, show_default=bool(example))
        try:
            return parse(said.strip())
        except PotatoError as wrong:
            tell(wrong)


def _question(answer: str) -> str:
    if not answer:
        raise WrongAnswer("a question has some words", hint="--question 'Is this positive or negative?'")
    return answer


def _labels(kind: str, answer: str) -> list[str]:
    labels = [label.strip() for label in answer.split(",") if label.strip()]
    least = 2 if kind == "radio" else 1
    if len(labels) < least or len(set(labels)) < len(labels):
        raise WrongAnswer(
            f"there must be {'a label' if least == 1 else 'two labels'} or more, each another",
            hint="with commas between, such as: positive, negative",
        )
    return labels


def _data(kind: str, id_key: str | None, text_key: str | None, answer: str) -> Data:
    """The file, and which of its fields are what, where no option says it."""
    from potato.items.guessing import guess_fields, guess_pair
    from potato.project.models import ItemProperties

    if not answer:
        return Data(None, ItemProperties(text_key="text_a") if kind == "pairwise" else ItemProperties())
    path = Path(answer).expanduser()
    if not path.is_file():
        what = "is a folder, not a file" if path.is_dir() else "is not there"
        raise WrongAnswer(f"{path} {what}", hint="name a JSON, JSON lines, CSV or TSV file")
    guessed = ItemProperties() if id_key and text_key else guess_fields(path)
    fields = ItemProperties(id_key=id_key or guessed.id_key, text_key=text_key or guessed.text_key)
    return Data(path, fields, guess_pair(path)) if kind == "pairwise" else Data(path, fields)


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
            items.write_text(sample_lines(project.kind == "pairwise"), encoding="utf-8")
    file = folder / FILE
    try:
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise AlreadyThere(f"there is a project in {file} already") from None
    with os.fdopen(descriptor, "w", encoding="utf-8") as opened:
        opened.write(project.as_yaml())
    typer.echo(f"Wrote {file}. The admin key is in it.")
    typer.echo(f"Next: potato start {shlex.quote(str(file))}")
