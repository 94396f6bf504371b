"""What the live models suggest for an item: what is shown of it, and what is only compared with the answers."""

from __future__ import annotations

from dataclasses import replace

from potato.project import Project
from potato.store import Connection
from potato.store.items import ItemRow
from potato.store.training import predictions
from potato.store.training.predictions import Suggestion
from potato.training.splits import is_hidden

Suggestions = dict[str, Suggestion]
"""By scheme."""


def suggested(connection: Connection, project: Project, item: ItemRow) -> tuple[Suggestions, Suggestions]:
    """The suggestions to show, and those that `writeback.hide_share` keeps from annotators."""
    share = project.config.model_training.writeback.hide_share
    shown: Suggestions = {}
    hidden: Suggestions = {}
    for scheme, suggestion in predictions.suggestions(connection, item.seq, project.schemes).items():
        if suggestion.hidden or is_hidden(scheme, item.group, share):
            hidden[scheme] = replace(suggestion, hidden=True)
        else:
            shown[scheme] = suggestion
    return shown, hidden
