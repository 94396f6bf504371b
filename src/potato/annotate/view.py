"""What the annotation page shows of one item to one annotator."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from potato.schemes import Answer, InvalidAnswer, Scheme
from potato.schemes.asked import asked
from potato.store.assignments import Met
from potato.store.items import ItemRow
from potato.store.steps import Step
from potato.store.training.predictions import Suggestion
from potato.web.media import Medium


@dataclass(frozen=True)
class Ask:
    """One question of the page, as its template takes it."""

    index: int
    scheme: Scheme
    item: ItemRow
    shown: Any
    """How the question is shown to this annotator with this item, as `Scheme.shown_as` says."""
    keys: Mapping[str, str]
    """Label name → the key that chooses it."""
    value: Answer | None
    """What the annotator answered, as far as the project still has it; None when there is no answer."""
    gone: list[str]
    """Labels of the stored answer that are no longer in the project."""
    stored: Answer | None
    """The whole stored answer, which an undo gives back."""
    suggested: Answer | None
    """What the live model suggests, as an answer."""
    confidence: float | None
    asked: bool
    """Whether the answers so far call for the question; else it is on the page, and hidden."""

    @property
    def is_blank(self) -> bool:
        """Whether nothing of it is this annotator's or this item's own."""
        own = self.value is not None or self.gone or self.suggested is not None
        return not own and not self.scheme.varies and not self.scheme.item_fields()

    @property
    def texts(self) -> list[str | None]:
        """What the item's fields hold that the question shows; None for an item that lacks one."""
        held = [self.item.fields.get(field) for field in self.scheme.item_fields()]
        return [text if isinstance(text, str) else None for text in held]

    @property
    def suggested_text(self) -> str:
        """The suggestion in words."""
        return self.scheme.said(self.suggested, self.shown)


@dataclass(frozen=True)
class ItemPage:
    """One item with its questions.

    `shown` is the signed record of the suggestions on the page, `steps` what the annotator can undo, `saved_at` when
    they last answered; `text` is None where a question shows it; `policy` is the page's content security policy.
    """

    item: ItemRow
    met: Met
    asks: list[Ask]
    steps: list[Step]
    saved_at: str | None
    text: str | None
    shown: str
    image: Medium | None
    audio: Medium | None
    policy: str

    @property
    def answers(self) -> dict[str, Answer]:
        """What the annotator has answered, by scheme: what is no longer in the project too, so that undoing brings it
        back."""
        return {ask.scheme.name: ask.stored for ask in self.asks if ask.stored is not None}


def asks_for(
    schemes: Mapping[str, Scheme],
    item: ItemRow,
    annotator: str,
    keys: Mapping[str, Mapping[str, str]],
    answers: Mapping[str, Answer],
    suggestions: Mapping[str, Suggestion],
) -> list[Ask]:
    """The questions in the project's order, with what was answered and what is suggested."""
    asks = []
    called_for = asked(schemes, answers)
    for index, scheme in enumerate(schemes.values()):
        given = answers.get(scheme.name)
        value, gone = _still_there(scheme, given)
        stored = given if gone else value
        suggestion = suggestions.get(scheme.name)
        suggested = suggested_answer(scheme, suggestion)
        confidence = suggestion.confidence if suggestion and suggested is not None else None
        shown = scheme.shown_as(annotator, item.id)
        of_scheme = keys.get(scheme.name, {})
        is_asked = scheme.name in called_for
        asks.append(Ask(index, scheme, item, shown, of_scheme, value, gone, stored, suggested, confidence, is_asked))
    return asks


def suggested_answer(scheme: Scheme, suggestion: Suggestion | None) -> Answer | None:
    """The answer that a suggestion stands for; None for one that the project's labels no longer take."""
    return None if suggestion is None else scheme.suggested(suggestion.payload)


def _still_there(scheme: Scheme, stored: Answer | None) -> tuple[Answer | None, list[str]]:
    """The part of a stored answer that the project still takes, and the names of what it does not."""
    if stored is None:
        return None, []
    try:
        return scheme.parse(stored), []
    except InvalidAnswer:
        parts = stored if isinstance(stored, list) else [stored]
    kept: list[Answer] = []
    gone: list[str] = []
    for part in parts:
        [name] = scheme.names([part])
        if scheme.label_renames.get(name, name) in scheme.label_names():
            kept.append(part)
        else:
            gone.append(name)
    try:
        return scheme.parse(kept) if isinstance(stored, list) and kept else None, gone
    except InvalidAnswer:  # the scheme had another type before
        return None, scheme.names(parts)
