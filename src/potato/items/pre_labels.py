"""What the live models suggest, for exports."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from heapq import merge
from itertools import groupby
from typing import Any

from potato.project import Project
from potato.schemes import Scheme
from potato.store import Connection
from potato.store.training import predictions
from potato.store.training.predictions import Suggestion
from potato.training.splits import is_hidden


@dataclass(frozen=True)
class PreLabels:
    """What models suggest for one item, by scheme. It is nobody's answer, and no import makes it one."""

    seq: int
    item: str
    suggestions: dict[str, Suggestion]

    def as_json(self) -> dict[str, Any]:
        """The plain form."""
        said = {scheme: suggestion.as_json() for scheme, suggestion in self.suggestions.items()}
        return {"id": self.item, "pre_labels": said}


def pre_labels(conn: Connection, project: Project) -> Iterator[PreLabels]:
    """Every pre-label of the models that are live, by item, streamed; those that no annotator is shown are marked.

    Each is the answer that it stands for by now; those that stand for none are left out, as the page leaves them out.
    """
    share = project.config.model_training.writeback.hide_share
    live = sorted(predictions.live(conn).keys() & project.schemes.keys())
    each = [_of_scheme(conn, project, project.schemes[name], share) for name in live]
    for (seq, item), group in groupby(merge(*each), key=lambda row: row[:2]):
        yield PreLabels(seq, item, {scheme: suggestion for _, _, scheme, suggestion in group})


def _of_scheme(
    conn: Connection, project: Project, scheme: Scheme, share: float
) -> Iterator[tuple[int, str, str, Suggestion]]:
    for seq, item, group, said in predictions.all_suggestions(conn, scheme.name, project.schemes):
        answer = scheme.suggested(said.payload)
        if answer is not None:
            hidden = said.hidden or is_hidden(scheme.name, group, share)
            yield seq, item, scheme.name, replace(said, payload=answer, hidden=hidden)
