"""What of the project file decides how answers are stored and items handed out."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from potato.project import Project
from potato.schemes import Answer, Scheme
from potato.schemes.asked import missing, unasked


@dataclass(frozen=True)
class Rules:
    """The project's rules for handing out and saving. `random` is passed in by tests."""

    schemes: Mapping[str, Scheme]
    target: int = 1
    """How many annotators each item is given to."""
    lease: timedelta = timedelta(minutes=60)
    strategy: str = "ordered"
    random_share: float = 0.2
    """`uncertainty`: the share of items that are handed out at random."""
    random: random.Random = field(default_factory=random.Random)

    @classmethod
    def of(cls, project: Project) -> Rules:
        """The rules that a project file states."""
        config = project.config
        return cls(
            schemes=project.schemes,
            target=config.annotations_per_item,
            lease=timedelta(minutes=config.lease_minutes),
            strategy=config.assignment_strategy,
            random_share=config.uncertainty_random_share,
        )

    def is_done(self, answers: Mapping[str, Answer]) -> bool:
        """Whether someone with these answers to an item is done with it. Nobody is done who has answered nothing."""
        return bool(answers) and not missing(self.schemes, answers)

    def unasked(self, answers: Mapping[str, Answer]) -> set[str]:
        """Which of these answers are to questions that someone with these answers is not asked: they are not kept."""
        return unasked(self.schemes, answers)

    def fingerprint(self) -> dict[str, Any]:
        """What `is_done` and "has enough annotators" depend on; when it changes, the states are worked out anew."""
        asked = [[s.name, s.required, s.show_if, s.label_renames] for s in self.schemes.values()]
        return {"target": self.target, "asked": asked}
