"""What can be wrong with data files: typed, collected, told all at once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from potato.errors import PotatoError

SHOWN = 100


def several(count: int, thing: str) -> str:
    """`1 line`, `2 lines`."""
    return f"{count} {thing}" if count == 1 else f"{count} {thing}s"


@dataclass(frozen=True)
class RowProblem:
    """Something wrong in a data file. `line` is None where it concerns the whole file.

    `unusable_text` marks a row that only lacks a text that can be shown; `bad_rows: skip` leaves such rows out.
    """

    file: str
    line: int | None
    reason: str
    unusable_text: bool = False

    def __str__(self) -> str:
        where = self.file if self.line is None else f"{self.file}:{self.line}"
        return f"{where}: {self.reason}"


@dataclass
class Problems:
    """Problems as they are found: the first `SHOWN` are kept, all are counted."""

    kept: list[RowProblem] = field(default_factory=list)
    count: int = 0

    def add(self, problem: RowProblem) -> None:
        """Count `problem`, and keep it while there is room."""
        self.count += 1
        if len(self.kept) < SHOWN:
            self.kept.append(problem)

    def __bool__(self) -> bool:
        return self.count > 0

    def lines(self) -> Iterator[str]:
        """A line for each problem kept, in the order of the files, and one for how many more there are."""
        files = {problem.file: None for problem in self.kept}
        for file in files:
            of_file = [problem for problem in self.kept if problem.file == file]
            yield from map(str, sorted(of_file, key=lambda problem: problem.line or 0))
        if self.count > len(self.kept):
            yield f"and {self.count - len(self.kept)} more"


class InvalidData(PotatoError):
    """The data files cannot be taken in as they are. Nothing of them was."""

    code = "invalid_data"
    status = 400

    def __init__(self, problems: Problems) -> None:
        self.problems = problems.kept
        self.count = problems.count
        things = "is a problem" if problems.count == 1 else f"are {problems.count} problems"
        super().__init__("\n".join([f"there {things} in the data files; nothing was loaded:", *problems.lines()]))
