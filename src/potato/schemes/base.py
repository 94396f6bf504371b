"""What an annotation scheme is: one question asked of each item.

A scheme type is one file in this package holding one subclass of :class:`Scheme`; `registry` collects them.
"""

from __future__ import annotations

import json
from enum import Enum
from typing import Any, ClassVar

from pydantic import Field, model_validator

from potato.errors import PotatoError
from potato.model import Model

Answer = Any
"""A parsed answer as it is stored, exported and trained on: JSON of the shape that the scheme's type fixes."""


class Kind(str, Enum):
    """The measurement scale of a scheme's answers; trainers, scores and agreement are chosen by it."""

    NOMINAL = "nominal"
    MULTILABEL = "multilabel"
    ORDINAL = "ordinal"
    CONTINUOUS = "continuous"
    SPAN = "span"
    PAIRWISE = "pairwise"
    TEXT = "text"


WHOLE = ""
"""Names what is no label but has a key: the explicit "none of these", or the field of a question that has one."""


MANY_LABELS = 20
"""More of them are found faster by name than by looking."""


class InvalidAnswer(PotatoError):
    """An answer that its scheme does not take. Nothing was saved."""

    code = "invalid_answer"
    status = 400


class Label(Model):
    """One choice of a scheme."""

    name: str = Field(min_length=1, max_length=200)
    """The label, exactly as it is stored and exported."""
    key: str | None = Field(default=None, min_length=1, max_length=1)
    """The key that chooses it; numbers are given out in order where it is left out."""
    description: str | None = None
    """A short explanation, shown beside the label."""

    @model_validator(mode="before")
    @classmethod
    def _bare_text(cls, value: Any) -> Any:
        return {"name": value} if isinstance(value, str) else value


class Scheme(Model):
    """One question asked of each item. Subclasses fix `annotation_type`, the class variables and the methods."""

    kind: ClassVar[Kind]
    template: ClassVar[str]
    """The template macro file that renders the question, under `web/templates/schemes/`."""
    varies: ClassVar[bool] = False
    """Whether the question is shown differently from person to person, as `shown_as` says."""
    quotes_text: ClassVar[bool] = False
    """Whether answers quote the item's text, so that `check` wants it."""

    annotation_type: str
    """What kind of answer is asked for."""
    name: str = Field(min_length=1, max_length=100)
    """The scheme's name in files, exports and the API."""
    description: str
    """The question as annotators read it."""
    required: bool = True
    """Whether an item is done only when this is answered."""
    show_if: dict[str, str | list[str]] | None = None
    """Show this question only when another scheme has one of the given answers: `{other_scheme: answer}`."""
    label_renames: dict[str, str] = {}
    """Old label name → new one; annotations under the old name are read as the new one."""

    def parse(self, raw: Any) -> Answer:
        """The stored form of `raw`, an answer from a browser or a file. Raises `InvalidAnswer`."""
        raise NotImplementedError

    def label_names(self) -> list[str]:
        """The names that an answer may be made of, in the project's order; empty where the type has none."""
        return []

    @property
    def many(self) -> bool:
        """Whether there are so many labels that the page offers to find one by its name."""
        return len(self.label_names()) > MANY_LABELS

    def item_fields(self) -> tuple[str, ...]:
        """The item's fields that the question shows, each of which must hold a text."""
        return ()

    def keyed(self) -> list[str]:
        """What of the question has a key on the page: its labels, and `WHOLE` where there is more to press."""
        return self.label_names()

    def check(self, answer: Answer, text: str) -> None:
        """Raise `InvalidAnswer` where a parsed answer does not fit its item's text; for types that quote it."""

    def names(self, answer: Answer) -> list[str]:
        """The label names that an answer is made of, or what else it says; `show_if` compares these."""
        return [str(part) for part in answer] if isinstance(answer, list) else [str(answer)]

    def renamed(self, answer: Answer) -> Answer:
        """A stored answer with the new names of `label_renames`; names that are gone stay."""
        if isinstance(answer, list):
            names = [self.label_renames.get(name, name) if isinstance(name, str) else name for name in answer]
            known = [name for name in self.label_names() if name in names]
            return known + [name for name in names if name not in known]
        return self.label_renames.get(answer, answer) if isinstance(answer, str) else answer

    def shown_as(self, annotator: str, item: str) -> Any:
        """How the question is shown to that annotator with that item, where this differs from person to person.

        It is the same every time, and is kept with the answer. None where there is nothing to tell.
        """
        return None

    def said(self, answer: Answer, shown: Any = None) -> str:
        """An answer in a sentence, on a page that shows the question as `shown`."""
        if isinstance(answer, list):
            return ", ".join(str(part) for part in answer) or "none of these"
        return str(answer)

    def check_prediction(self, payload: Any) -> None:
        """Raise `InvalidAnswer` where a model's payload is nothing that this type can be predicted as.

        A payload may pass and yet be no answer, such as an empty text; then it is scored, and not suggested.
        """
        self.prediction_answer(payload)

    def prediction_answer(self, payload: Any) -> Answer:
        """The answer that a prediction's payload stands for; what "accept" would save. Raises `InvalidAnswer`."""
        return self.parse(payload)

    def suggested(self, payload: Any) -> Answer | None:
        """The answer that a stored payload suggests in the scheme as it is now; None where it does not fit any more."""
        try:
            return self.prediction_answer(payload)
        except InvalidAnswer:
            return None

    def as_now(self, stored: Any) -> Answer | None:
        """A stored answer or payload as it is compared and scored in the scheme as it is now, with the new names of
        labels and in their order; None where it does not fit any more.

        A number keeps what lies between the steps: how far it is off is measured, and not what it would be taken for.
        """
        try:
            self.check_prediction(stored)
            if self.kind is Kind.TEXT:
                return str(stored).strip()
            return stored if self.kind is Kind.CONTINUOUS else self.parse(stored)
        except InvalidAnswer:
            return None

    def told(self, stored: Any) -> str:
        """A stored answer or payload in words; as it was stored where it does not fit the scheme as it is now."""
        answer = self.as_now(stored)
        if answer is not None:
            return self.said(answer)
        return stored if isinstance(stored, str) else json.dumps(stored, ensure_ascii=False)
