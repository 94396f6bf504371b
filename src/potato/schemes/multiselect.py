"""`multiselect`: any number of labels, or explicitly none of them."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from pydantic import Field

from potato.schemes.base import WHOLE, Answer, InvalidAnswer, Kind, Label, Scheme


class Multiselect(Scheme):
    """Any labels of a list. The answer is a list of names in the project's order; `[]` means "none of these"."""

    kind: ClassVar[Kind] = Kind.MULTILABEL
    template: ClassVar[str] = "multiselect.html"

    annotation_type: Literal["multiselect"]
    """`multiselect`"""
    labels: list[Label] = Field(min_length=1)
    """The labels, in the order they are shown: text, or `{name, key, description}`."""

    def parse(self, raw: Any) -> Answer:
        if not isinstance(raw, list):
            raise InvalidAnswer(f"an answer to '{self.name}' is a list of labels, not {raw!r:.80}")
        chosen = {self.label_renames.get(name, name) if isinstance(name, str) else name for name in _hashable(raw)}
        unknown = [name for name in chosen if name not in self.label_names()]
        if unknown:
            raise InvalidAnswer(
                f"{unknown[0]!r:.80} is not a label of '{self.name}'; it takes {', '.join(self.label_names()):.300}"
            )
        return [name for name in self.label_names() if name in chosen]

    def label_names(self) -> list[str]:
        return [label.name for label in self.labels]

    def keyed(self) -> list[str]:
        return [*self.label_names(), WHOLE]


def _hashable(raw: list[Any]) -> list[Any]:
    return [value if isinstance(value, str) else repr(value) for value in raw]
