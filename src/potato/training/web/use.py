"""How annotators answered where they saw a run's suggestions, and where these were hidden, in words."""

from __future__ import annotations

from potato.project import Project
from potato.store import Connection
from potato.store.runs import Run
from potato.store.suggestion_use import Use, use_of
from potato.web.render import percent


def sentences(connection: Connection, run: Run, project: Project) -> list[str]:
    """A sentence for each scheme of which a suggestion was shown or hidden and the item answered."""
    schemes = {name: project.schemes[name] for name in run.schemas if name in project.schemes}
    found = use_of(connection, run.run_id, schemes) if (run.writeback or {}).get("read") else {}
    return [_sentence(name, use) for name, use in found.items()]


def _sentence(scheme: str, use: Use) -> str:
    parts = []
    if use.shown:
        parts.append(f"{_share(use.accepted, use.shown)} suggestions were taken as they were")
    if use.hidden:
        parts.append(f"where they were hidden, {_share(use.agreed, use.hidden)} answers are the model's all the same")
    return f"{scheme}: {'; '.join(parts)}."


def _share(part: int, whole: int) -> str:
    return f"{part:,} of {whole:,} ({percent(part / whole)})"
