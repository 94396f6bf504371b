"""`radio`: exactly one label."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from pydantic import Field

from potato.schemes.base import Answer, InvalidAnswer, Kind, Label, Scheme


class Radio(Scheme):
    """One label of a list. The answer is the label's name."""

    kind: ClassVar[Kind] = Kind.NOMINAL
    template: ClassVar[str] = "radio.html"

    annotation_type: Literal["radio"]
    """`radio`"""
    labels: list[Label] = Field(min_length=2)
    """The labels, in the order they are shown: text, or `{name, key, description}`."""

    def parse(self, raw: Any) -> Answer:
        if isinstance(raw, str):
            name = self.label_renames.get(raw, raw)
            if name in self.label_names():
                return name
        raise InvalidAnswer(
            f"{raw!r:.80} is not a label of '{self.name}'; it takes {', '.join(self.label_names()):.300}"
        )

    def label_names(self) -> list[str]:
        return [label.name for label in self.labels]
