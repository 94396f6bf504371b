"""Between labelled stretches of a text and a tag for each of its tokens (BIO: Ramshaw and Marcus 1995), without any
library. Offsets count the text's code points."""

from typing import Any, Dict, List, Sequence, Tuple

OUTSIDE = 0
IGNORED = -100
"""The tag of what is no part of the text; torch's losses leave it out."""

Offsets = Tuple[int, int]
Span = Dict[str, Any]


def names(classes: Sequence[str]) -> List[str]:
    """The tags in their order: `O`, then for each label its beginning and its inside."""
    return ["O"] + [prefix + label for label in classes for prefix in ("B-", "I-")]


def apart(spans: Sequence[Span]) -> List[Span]:
    """The spans that can be tagged together: of those that overlap, the longest."""
    chosen: List[Span] = []
    for span in sorted(spans, key=lambda one: (one["start"] - one["end"], one["start"])):
        if all(span["end"] <= other["start"] or other["end"] <= span["start"] for other in chosen):
            chosen.append(span)
    return sorted(chosen, key=lambda one: one["start"])


def tags(text: str, offsets: Sequence[Offsets], spans: Sequence[Span], classes: Sequence[str]) -> List[int]:
    """The tag of each token, whose place in the text `offsets` are, for spans that do not overlap. An empty place
    (a control token) is `IGNORED`."""
    places = [_trimmed(text, span["start"], span["end"]) for span in spans]
    found: List[int] = []
    for start, end in (_trimmed(text, *place) for place in offsets):
        number = next((n for n, place in enumerate(places) if place[0] < end and start < place[1]), None)
        if start >= end:
            found.append(IGNORED)
        elif number is None:
            found.append(OUTSIDE)
        else:
            found.append(2 * classes.index(spans[number]["label"]) + (1 if start <= places[number][0] else 2))
    return found


def spans(
    text: str, offsets: Sequence[Offsets], found: Sequence[int], shares: Sequence[float], classes: Sequence[str]
) -> Tuple[List[Span], float]:
    """The spans that the tags of a text's tokens mean, and how sure the least sure of them is: the mean of its tokens'
    `shares`. Without any span, how sure the least sure token is that it is outside.

    A token in the middle of a word goes with the word's beginning. An inside that follows nothing of its label begins
    a span.
    """
    made: List[Tuple[int, int, int, List[float]]] = []
    label, sure = None, [1.0]
    last_end = -1
    for (start, end), tag, share in zip(offsets, found, shares):
        start, end = _trimmed(text, start, end)
        if start >= end:
            continue
        within = start == last_end and _joined(text, start)
        last_end = end
        here = label if within else (None if tag == OUTSIDE else (tag - 1) // 2)
        goes_on = here is not None and here == label and (within or tag % 2 == 0)
        if here is None:
            sure.append(share)
        elif goes_on:
            first, _, _, parts = made[-1]
            made[-1] = (first, end, here, [*parts, share])
        else:
            made.append((start, end, here, [share]))
        label = here
    certain = [sum(parts) / len(parts) for _, _, _, parts in made] or sure
    answer = [{"start": s, "end": e, "label": classes[n], "text": text[s:e]} for s, e, n, _ in made]
    return answer, min(certain)


def _trimmed(text: str, start: int, end: int) -> Offsets:
    """A token's place without the space that some tokenizers count to it."""
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return start, end


def _joined(text: str, place: int) -> bool:
    """Whether a place is in the middle of a word."""
    return 0 < place < len(text) and text[place - 1].isalnum() and text[place].isalnum()
