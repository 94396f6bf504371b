"""`text`: free text."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from pydantic import Field

from potato.schemes.base import WHOLE, Answer, InvalidAnswer, Kind, Scheme

LONGEST = 100_000


class FreeText(Scheme):
    """What the annotator writes. The answer is that text, without white space around it; an empty field is none."""

    kind: ClassVar[Kind] = Kind.TEXT
    template: ClassVar[str] = "text.html"

    annotation_type: Literal["text"]
    """`text`"""
    multiline: bool = True
    """Whether it may have several lines; `false` shows a field of one line."""
    min_length: int = Field(default=1, ge=1)
    """Characters that are needed."""
    max_length: int = Field(default=10_000, ge=1, le=LONGEST)
    """Characters that are taken."""
    placeholder: str | None = None
    """A hint that stands in the empty field."""

    def parse(self, raw: Any) -> Answer:
        if not isinstance(raw, str):
            raise InvalidAnswer(f"an answer to '{self.name}' is a text, not {raw!r:.80}")
        text = raw.replace("\r\n", "\n").replace("\r", "\n").strip()
        if reason := self._refused(text):
            raise InvalidAnswer(f"{reason} '{self.name}': {text!r:.80}")
        return text

    def keyed(self) -> list[str]:
        return [WHOLE]

    def check_prediction(self, payload: Any) -> None:
        if not isinstance(payload, str):
            raise InvalidAnswer(f"an answer to '{self.name}' is a text, not {payload!r:.80}")

    def _refused(self, text: str) -> str | None:
        """How a sentence begins that says what is wrong with `text`."""
        if not text:
            return "an empty text is no answer to"
        if len(text) < self.min_length:
            return f"{len(text)} characters are too few, and {self.min_length} needed, for"
        if len(text) > self.max_length:
            return f"{len(text)} characters are too many, and {self.max_length} the most, for"
        if "\n" in text and not self.multiline:
            return "only one line is taken by"
        if "\0" in text or any(0xD800 <= ord(char) <= 0xDFFF for char in text):
            return "there is a character that cannot be stored in an answer to"
        return None
