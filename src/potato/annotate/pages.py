"""Gathering what the annotation page shows, in one read of the store."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from potato.annotate.saving import ItemNotYours
from potato.annotate.suggested import suggested
from potato.annotate.view import ItemPage, asks_for
from potato.items.media import Kind, MediaFile
from potato.project import Project
from potato.store import Connection, assignments, items
from potato.store.annotations import of_user, saved_at
from potato.store.assignments import Progress
from potato.store.items import ItemRow
from potato.store.steps import Step, steps
from potato.web.auth import User
from potato.web.media import media_file, medium_of, policy
from potato.web.site import Site


def item_page(
    connection: Connection, site: Site, user: User, seq: int, keys: Mapping[str, Mapping[str, str]]
) -> tuple[ItemPage, Progress]:
    """The page of one item for one annotator. Raises `ItemNotYours`."""
    item, met = items.by_seq(connection, seq), assignments.met(connection, user.id, seq)
    if item is None or met is None:
        raise ItemNotYours(seq)
    suggestions, _ = suggested(connection, site.project, item)
    text = None if _shown_by_a_question(site.project) else item.text
    item = replace(item, fields={site.project.config.item_properties.text_key: item.text, **item.fields})
    asks = asks_for(site.project.schemes, item, user.name, keys, of_user(connection, user.id, seq), suggestions)
    shown = {ask.scheme.name: suggestions[ask.scheme.name].as_json() for ask in asks if ask.suggested is not None}
    page = ItemPage(
        item,
        met,
        asks,
        [_renamed(site.project, step) for step in steps(connection, user.id, seq)],
        saved_at(connection, user.id, seq),
        text=text,
        shown=site.sessions.sign("shown", {"item": seq, "suggestions": shown}) if shown else "",
        image=medium_of(site.project, item, "image"),
        audio=medium_of(site.project, item, "audio"),
        policy=policy(connection),
    )
    return page, assignments.progress(connection, user.id)


def _renamed(project: Project, step: Step) -> Step:
    """The step with the names that labels have now, as the page knows them."""
    schemes = project.schemes
    return {name: schemes[name].renamed(answer) if name in schemes else answer for name, answer in step.items()}


def _shown_by_a_question(project: Project) -> bool:
    """Whether a question shows the item's text, so that the page need not, unless another is about its words."""
    schemes = project.schemes.values()
    shown = {field for scheme in schemes for field in scheme.item_fields()}
    return project.config.item_properties.text_key in shown and not any(scheme.quotes_text for scheme in schemes)


def media_of_item(connection: Connection, site: Site, user: User | None, seq: int, kind: Kind) -> MediaFile:
    """The file of an item's image or recording, for the annotator who was given the item, or for an admin (None).

    Raises `ItemNotYours` and `NoMedia`.
    """
    item = items.by_seq(connection, seq) if user is None else _given_item(connection, user, seq)
    if item is None:
        raise ItemNotYours(seq)
    return media_file(site.project, item, kind)


def _given_item(connection: Connection, user: User, seq: int) -> ItemRow:
    item = items.by_seq(connection, seq)
    if item is None or not assignments.was_given(connection, user.id, seq):
        raise ItemNotYours(seq)
    return item
