"""What kind of labels lie at a path."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from potato.items.importers.label_studio import is_task, read_task
from potato.items.importers.parquet import read_parquet
from potato.items.importers.plain import PlainLine, Texts, read_file
from potato.items.importers.user_states import FILE, has_states, read_state, read_states
from potato.items.problems import RowProblem
from potato.project import Project


def plain_lines(path: Path, project: Project, texts: Texts) -> Iterator[PlainLine | RowProblem]:
    """Every line of labels at `path` in the plain form, and what is wrong there, streamed.

    A file by its name and first bytes; a folder is one that `export --format hf-datasets` wrote, or the annotation
    folder of an earlier Potato.
    """
    if path.is_dir():
        yield from _folder(path, project, texts)
    elif path.name == FILE:
        yield from read_state(path, project, texts)
    elif path.suffix == ".parquet":
        yield from read_parquet(path)
    else:
        for line in read_file(path, project.schemes):
            if isinstance(line, PlainLine) and is_task(line.fields):
                yield from read_task(line, project, texts)
            else:
                yield line


def _folder(path: Path, project: Project, texts: Texts) -> Iterator[PlainLine | RowProblem]:
    if has_states(path):
        yield from read_states(path, project, texts)
    elif found := sorted(path.glob("data/*.parquet")):
        for file in found:
            yield from read_parquet(file)
    else:
        yield RowProblem(path.name, None, f"this folder holds neither <annotator>/{FILE} nor data/*.parquet")
