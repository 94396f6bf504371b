"""Every path of a run's folder."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from potato.project import Project
from potato.training.backends.homecoming import COPY_NOTE


@dataclass(frozen=True)
class RunFolder:
    """`<output_annotation_dir>/training/runs/<run id>/`; on `local` it is the worker's work folder too."""

    path: Path

    @classmethod
    def of(cls, project: Project, run_id: str) -> RunFolder:
        """The folder of that run."""
        return cls(project.runs_dir / run_id)

    @property
    def spec(self) -> Path:
        """What the worker was asked to do."""
        return self.path / "spec.json"

    @property
    def bundle(self) -> Path:
        """The labels it was trained on."""
        return self.path / "bundle"

    @property
    def archive(self) -> Path:
        """The bundle as one file, for the way to an agent."""
        return self.path / "bundle.tar.gz"

    @property
    def artifacts(self) -> Path:
        """The model's files."""
        return self.path / "artifacts"

    @property
    def events(self) -> Path:
        """The journal: what the worker wrote, byte for byte."""
        return self.path / "events.jsonl"

    @property
    def copy_note(self) -> Path:
        """There as long as the model's way home broke off, and may be begun again."""
        return self.path / COPY_NOTE

    @property
    def log(self) -> Path:
        """What a person reads."""
        return self.path / "run.log"

    @property
    def stderr(self) -> Path:
        """What the worker and its libraries printed."""
        return self.path / "stderr.log"

    @property
    def agent_log(self) -> Path:
        """What the agent printed (ssh, slurm)."""
        return self.path / "agent.log"

    @property
    def predictions(self) -> Path:
        """The worker's predictions."""
        return self.path / "predictions.jsonl"

    @property
    def exit_code(self) -> Path:
        """Left by the worker as its last act."""
        return self.path / "exit_code"
