"""From a project file to a `Project`, or to everything that is wrong with it at once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from potato.project.draft import Draft
from potato.project.finding import Finding, InvalidProject, KeyPath, Problem, Severity, UnreadableProject, dotted
from potato.project.models import ProjectFile
from potato.project.nodes import MAX_BYTES, BadSource, MapNode, Node, compose, decode
from potato.project.places import line_of
from potato.project.project import Project
from potato.project.rules import broken_rules, missing_files
from potato.project.shape import Shaper, TooManyValues
from potato.project.warnings import warnings
from potato.project.wording import sentence

__all__ = ["Finding", "InvalidProject", "Loaded", "Severity", "UnreadableProject", "load", "load_or_raise", "warnings"]


@dataclass(frozen=True)
class Loaded:
    """What a project file gave. `project` is None when there are errors; `draft` is then what could be read of it."""

    project: Project | None
    draft: Project | None
    findings: list[Finding]

    @property
    def errors(self) -> list[Finding]:
        """The findings that stop the server."""
        return [finding for finding in self.findings if finding.severity is Severity.ERROR]


def load(path: Path, *, host: str | None = None, check_files: bool = True) -> Loaded:
    """Read and check the project file at `path`; all findings, in the order of the file.

    `host` is the address that a server is about to listen on; some warnings depend on it. With `check_files` the
    files that the project names must exist; what is in them is not looked at. Raises `UnreadableProject` when there
    is no such file or it may not be read.
    """
    data = _read(path)
    try:
        node, duplicates = compose(decode(data))
        root = _root(node)
        shaper = Shaper()
        tree = shaper.model(ProjectFile, root, ())
    except BadSource as bad:
        return Loaded(None, None, _findings(path, {}, [bad.problem]))
    except TooManyValues:
        problem = Problem((), "the file's `*` references multiply into more values than a project can have", 1)
        return Loaded(None, None, _findings(path, {}, [problem]))
    return _checked(path, shaper, tree, duplicates, host=host, check_files=check_files)


def load_or_raise(path: Path) -> Project:
    """The project at `path`, for a command that just needs it. Raises `InvalidProject` or `UnreadableProject`.

    Whether the data files are still there is not asked: labels can be exported without them.
    """
    loaded = load(path, check_files=False)
    if loaded.project is None:
        raise InvalidProject(path, loaded.findings)
    return loaded.project


def _read(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(MAX_BYTES + 1)
    except OSError as error:
        raise UnreadableProject(path, (error.strerror or str(error)).lower()) from error


def _root(node: Node | None) -> MapNode:
    if node is None:
        raise BadSource(1, "the file is empty; a project file begins with `annotation_task_name`")
    if not isinstance(node, MapNode):
        kind = "a list" if hasattr(node, "items") else "a single value"
        raise BadSource(node.line, f"a project file is a mapping of keys, not {kind}")
    return node


def _checked(
    path: Path, shaper: Shaper, tree: dict[str, Any], duplicates: list[Problem], *, host: str | None, check_files: bool
) -> Loaded:
    config, misfits, faulty = _validated(tree, shaper)
    draft = Project(path.absolute(), config, shaper.lines, given=str(path))
    problems = [*duplicates, *shaper.problems, *misfits, *broken_rules(draft.config)]
    if check_files:
        problems += missing_files(draft, faulty)
    findings = sorted([*_findings(path, shaper.lines, problems), *warnings(draft, host)], key=lambda found: found.line)
    return Loaded(None if problems else draft, draft, findings)


def _validated(tree: dict[str, Any], shaper: Shaper) -> tuple[ProjectFile, list[Problem], set[KeyPath]]:
    """The typed file (a draft where something does not fit), the misfits, and the places of all that is wrong."""
    faulty = set(shaper.unusable)
    problems: list[Problem] = []
    try:
        return ProjectFile.model_validate(tree), problems, faulty
    except ValidationError as error:
        for detail in error.errors(include_url=False):
            place = _place(tree, detail)
            if not any(place[: len(bad)] == bad for bad in shaper.unusable):
                problems.append(Problem(place, sentence(detail, secret=_is_secret(place))))
                faulty.add(place)
    draft: ProjectFile = Draft(faulty).model(ProjectFile, tree, ())
    return draft, problems, faulty


def _place(tree: Any, detail: ErrorDetails) -> KeyPath:
    """Where in the file pydantic's location is: without the names of the models that it tried."""
    path: list[str | int] = []
    here = tree
    for part in detail["loc"]:
        inside = isinstance(here, dict) and part in here
        if inside or (isinstance(here, list) and isinstance(part, int) and part < len(here)):
            path.append(part)
            here = here[part]
    missing = [detail["loc"][-1]] if detail["type"] == "missing" else []
    return (*path, *missing)


def _is_secret(path: KeyPath) -> bool:
    return path[-1:] in (("admin_api_key",), ("database_url",), ("secret",))


def _findings(path: Path, lines: dict[KeyPath, int], problems: Iterable[Problem]) -> list[Finding]:
    return [
        Finding(Severity.ERROR, str(path), p.line or line_of(lines, p.path), dotted(p.path), p.message)
        for p in dict.fromkeys(problems)
    ]
