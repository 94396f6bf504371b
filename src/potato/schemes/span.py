"""`span`: labelled stretches of the item's text."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from pydantic import Field

from potato.schemes.base import WHOLE, Answer, InvalidAnswer, Kind, Label, Scheme

KEYS = frozenset({"start", "end", "label", "text"})


class Span(Scheme):
    """Stretches of the text, each with a label; they may overlap.

    The answer is a list of `{"start", "end", "label", "text"}` in the order of the text; `[]` means "nothing to mark".
    `start` and `end` count Unicode code points of the text exactly as it is stored, and `text` is what stands there.
    """

    kind: ClassVar[Kind] = Kind.SPAN
    template: ClassVar[str] = "span.html"
    quotes_text: ClassVar[bool] = True

    annotation_type: Literal["span"]
    """`span`"""
    labels: list[Label] = Field(min_length=1)
    """The labels, in the order they are shown: text, or `{name, key, description}`."""

    def parse(self, raw: Any) -> Answer:
        if not isinstance(raw, list):
            raise InvalidAnswer(f"an answer to '{self.name}' is a list of spans, not {raw!r:.80}")
        spans = {(span["start"], span["end"], span["label"]): span for span in map(self._span, raw)}
        order = {name: place for place, name in enumerate(self.label_names())}
        return sorted(spans.values(), key=lambda span: (span["start"], span["end"], order[span["label"]]))

    def check(self, answer: Answer, text: str) -> None:
        for span in answer:
            start, end = span["start"], span["end"]
            if end > len(text):
                raise InvalidAnswer(
                    f"a span of '{self.name}' goes from {start} to {end}, past the end of the text, "
                    f"which has {len(text)} characters"
                )
            if text[start:end] != span["text"]:
                raise InvalidAnswer(
                    f"from {start} to {end} the text reads {text[start:end]!r:.80}, not {span['text']!r:.80} "
                    f"as the span of '{self.name}' says"
                )

    def label_names(self) -> list[str]:
        return [label.name for label in self.labels]

    def keyed(self) -> list[str]:
        return [*self.label_names(), WHOLE]

    def names(self, answer: Answer) -> list[str]:
        return [str(span["label"]) if isinstance(span, dict) else str(span) for span in answer]

    def renamed(self, answer: Answer) -> Answer:
        if not isinstance(answer, list) or not all(isinstance(span, dict) for span in answer):
            return answer  # of another type, which the scheme had before
        return [{**span, "label": self.label_renames.get(span["label"], span["label"])} for span in answer]

    def said(self, answer: Answer, shown: Any = None) -> str:
        return ", ".join(f"\u201c{span['text']}\u201d ({span['label']})" for span in answer) or "nothing to mark"

    def _span(self, raw: Any) -> dict[str, Any]:
        if not isinstance(raw, dict) or raw.keys() != KEYS:
            raise InvalidAnswer(f"a span of '{self.name}' has start, end, label and text, and no more: {raw!r:.80}")
        start, end, label, text = raw["start"], raw["end"], raw["label"], raw["text"]
        if not (_is_count(start) and _is_count(end) and start < end):
            raise InvalidAnswer(
                f"a span of '{self.name}' begins at a whole number, 0 or more, and ends behind it, "
                f"not {start!r:.40} to {end!r:.40}"
            )
        name = self.label_renames.get(label, label) if isinstance(label, str) else label
        if name not in self.label_names():
            raise InvalidAnswer(
                f"{label!r:.80} is not a label of '{self.name}'; it takes {', '.join(self.label_names()):.300}"
            )
        if not isinstance(text, str) or len(text) != end - start:
            raise InvalidAnswer(
                f"the span of '{self.name}' from {start} to {end} has {end - start} characters, its text {text!r:.80} "
                "has not"
            )
        return {"start": start, "end": end, "label": name, "text": text}


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
