"""A project as the program uses it: the parsed file and where everything of it lies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from potato.project.finding import KeyPath
from potato.project.models import ProjectFile
from potato.schemes import Scheme


@dataclass(frozen=True)
class Project:
    """A valid project file. Every path is absolute."""

    file: Path
    config: ProjectFile
    lines: Mapping[KeyPath, int] = field(default_factory=dict, repr=False, compare=False)
    """Where each key stands, for findings."""
    given: str = field(default="", compare=False)
    """The project file as it was given on the command line."""

    @property
    def name(self) -> str:
        """What findings call the project file."""
        return self.given or str(self.file)

    @cached_property
    def task_dir(self) -> Path:
        """What relative paths in the project file start from."""
        return (self.file.parent / self.config.task_dir).resolve()

    @cached_property
    def data_files(self) -> list[Path]:
        """The data files, in the order of the project file."""
        return [self.task_dir / name for name in self.config.data_files]

    def with_data_files_there(self) -> Project:
        """This project without the data files that do not exist; for looking into the others."""
        there = [name for name, path in zip(self.config.data_files, self.data_files, strict=True) if path.is_file()]
        return replace(self, config=self.config.model_copy(update={"data_files": there}))

    @cached_property
    def output_dir(self) -> Path:
        """Where the store, the runs and the models are kept."""
        return self.task_dir / self.config.output_annotation_dir

    @cached_property
    def runs_dir(self) -> Path:
        """The folder that holds a folder for each run."""
        return self.output_dir / "training" / "runs"

    @cached_property
    def database_url(self) -> str:
        """The store's SQLAlchemy address."""
        if self.config.database_url is not None:
            return self.config.database_url.get_secret_value()
        return f"sqlite:///{self.output_dir / 'potato.db'}"

    @cached_property
    def schemes(self) -> dict[str, Scheme]:
        """Name → scheme, in the project's order."""
        return {scheme.name: scheme for scheme in self.config.annotation_schemes}
