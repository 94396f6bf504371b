"""One question by itself, asked as the annotation page asks it."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import replace

from potato.annotate.view import Ask, asks_for
from potato.project import Project
from potato.schemes import Answer, Scheme, keys
from potato.store.items import ItemRow
from potato.store.training.predictions import Suggestion


def ask_alone(
    project: Project,
    item: ItemRow,
    who: str,
    scheme: Scheme,
    answer: Answer | None,
    suggestion: Suggestion | None = None,
    own_keys: Set[str] = frozenset(),
) -> Ask:
    """The question, whatever other questions would call for; `own_keys` are the page's, so that no label has them."""
    whole = replace(item, fields={**item.fields, project.config.item_properties.text_key: item.text})
    of_page = {
        name: {label: key for label, key in of_scheme.items() if key.lower() not in own_keys}
        for name, of_scheme in keys.assign([scheme]).items()
    }
    given = {} if answer is None else {scheme.name: answer}
    suggested = {} if suggestion is None else {scheme.name: suggestion}
    [ask] = asks_for({scheme.name: scheme}, whole, who, of_page, given, suggested)
    return replace(ask, asked=True)
