"""What a project's questions must keep to, among themselves."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from potato.project.finding import KeyPath, Problem, dotted
from potato.project.wording import near, quoted
from potato.schemes import InvalidAnswer, Label, Scheme
from potato.schemes.keys import reserved
from potato.schemes.number import Number
from potato.schemes.pairwise import Pairwise
from potato.schemes.slider import Slider
from potato.schemes.text import FreeText


def broken_schemes(schemes: Sequence[Scheme], taken_keys: Collection[str] = ()) -> Iterator[Problem]:
    """What is wrong with names, labels, keys and conditions. `taken_keys` act on what the items hold."""
    by_name = {scheme.name: scheme for scheme in schemes}
    yield from _names(schemes)
    for place, scheme in enumerate(schemes):
        path: KeyPath = ("annotation_schemes", place)
        yield from _labels(labels_of(scheme), path)
        yield from _condition(scheme, by_name, path)
        yield from _renames(scheme, path)
        yield from _limits(scheme, path)
    yield from _keys(schemes, reserved(schemes) | set(taken_keys))
    yield from _circles(schemes)


def labels_of(scheme: Scheme) -> Sequence[Label]:
    """The labels as they stand in the file; none where the type has none."""
    labels: Sequence[Label] = getattr(scheme, "labels", ())
    return labels


def _names(schemes: Sequence[Scheme]) -> Iterator[Problem]:
    seen: dict[str, int] = {}
    for place, scheme in enumerate(schemes):
        path: KeyPath = ("annotation_schemes", place, "name")
        if scheme.name and (what := _unshowable(scheme.name)):
            yield Problem(path, f"a scheme's name {what}")
        if scheme.name in seen:
            first = dotted(("annotation_schemes", seen[scheme.name]))
            yield Problem(path, f"{first} is named {quoted(scheme.name)} too; each scheme has a name of its own")
        elif scheme.name:
            seen[scheme.name] = place


def _labels(labels: Iterable[Label], path: KeyPath) -> Iterator[Problem]:
    seen: set[str] = set()
    for place, label in enumerate(labels):
        here = (*path, "labels", place)
        if label.name and (what := _unshowable(label.name)):
            yield Problem(here, f"a label {what}")
        elif label.name in seen:
            yield Problem(here, f"the label {quoted(label.name)} stands twice")
        seen.update({label.name} - {""})


def _unshowable(name: str) -> str | None:
    if not name.strip():
        return "must not be blank"
    if any(ord(char) < 32 or ord(char) == 127 for char in name):
        return f"must stand on one line, without control characters: {quoted(name)}"
    if name != name.strip():
        return f"must not begin or end with a space: {quoted(repr(name))}"
    return None


def _keys(schemes: Iterable[Scheme], reserved_keys: Collection[str]) -> Iterator[Problem]:
    """One page shows all questions, so a key means one label of one question, whether typed small or capital."""
    taken: dict[str, str] = {}
    for place, scheme in enumerate(schemes):
        for number, label in enumerate(labels_of(scheme)):
            if label.key is None:
                continue
            here = ("annotation_schemes", place, "labels", number, "key")
            key = label.key.lower()
            if key in reserved_keys or not key.isprintable():
                yield Problem(here, f"the page itself uses the key {quoted(repr(label.key))}; choose another")
            elif key in taken:
                yield Problem(here, f"the key `{label.key}` chooses {taken[key]} already")
            else:
                taken[key] = f"{quoted(label.name)} of {quoted(scheme.name)}"


def _condition(scheme: Scheme, by_name: Mapping[str, Scheme], path: KeyPath) -> Iterator[Problem]:
    for name, wanted in (scheme.show_if or {}).items():
        here = (*path, "show_if", name)
        if name == scheme.name:
            yield Problem(here, "a scheme cannot wait for itself")
        elif name not in by_name:
            told = near(name, [other for other in by_name if other != scheme.name])
            yield Problem(here, f"there is no annotation scheme {quoted(name)}{told}")
        else:
            yield from _unknown_answers(here, wanted, by_name[name])


def _unknown_answers(path: KeyPath, wanted: Any, other: Scheme) -> Iterator[Problem]:
    listed = isinstance(wanted, list)
    for place, answer in enumerate(wanted if listed else [wanted]):
        told = _no_answer(answer, other) if answer and _typed(other) else None
        if told is not None:
            yield Problem(
                (*path, place) if listed else path, f"{quoted(answer)} is no answer of {quoted(path[-1])}{told}"
            )


def _no_answer(wanted: str, other: Scheme) -> str | None:
    """What may have been meant, where `other` never has the answer `wanted`; None where it may."""
    if isinstance(other, Number | Slider):
        return _no_number(wanted, other)
    known = other.label_names()
    return near(wanted, known) if known and wanted not in known else None


def _no_number(wanted: str, other: Number | Slider) -> str | None:
    try:
        answers = other.names(other.parse(float(wanted)))
    except (ValueError, InvalidAnswer):
        return f"; it takes {other.scale.words()}"
    return None if wanted in answers else f"; did you mean `{answers[0]}`?"


def _circles(schemes: Sequence[Scheme]) -> Iterator[Problem]:
    """Questions that wait for each other are never asked."""
    waits = {scheme.name: [n for n in scheme.show_if or {} if n != scheme.name] for scheme in schemes}
    for place, scheme in enumerate(schemes):
        reached: set[str] = set()
        ahead = list(waits[scheme.name])
        while ahead:
            name = ahead.pop()
            if name not in reached:
                reached.add(name)
                ahead += waits.get(name, [])
        if scheme.name in reached:
            yield Problem(
                ("annotation_schemes", place, "show_if"), "waits for an answer that itself waits for this one"
            )


def _renames(scheme: Scheme, path: KeyPath) -> Iterator[Problem]:
    known = scheme.label_names() if _typed(scheme) else []
    for old, new in scheme.label_renames.items():
        here = (*path, "label_renames", old)
        if known and old in known:
            yield Problem(here, f"{quoted(old)} is still a label of {quoted(scheme.name)}")
        if known and new and new not in known:
            yield Problem(here, f"{quoted(new)} is no label of {quoted(scheme.name)}{near(new, known)}")


def _limits(scheme: Scheme, path: KeyPath) -> Iterator[Problem]:
    """Numbers, lengths and sides that leave nothing to answer."""
    if isinstance(scheme, Number | Slider):
        low, high = scheme.min, scheme.max
        if low is not None and high is not None and low >= high:
            yield Problem((*path, "max"), f"must be more than `min`, which is {low:.15g}, not {high:.15g}")
        elif scheme.step is not None and low is not None and high is not None and scheme.step > high - low:
            yield Problem((*path, "step"), f"is {scheme.step:.15g}, more than lies between `min` and `max`")
    if isinstance(scheme, FreeText) and scheme.min_length > scheme.max_length:
        told = f"must be at least `min_length`, which is {scheme.min_length}, not {scheme.max_length}"
        yield Problem((*path, "max_length"), told)
    if isinstance(scheme, Pairwise) and scheme.field_a == scheme.field_b:
        yield Problem((*path, "field_b"), f"{quoted(scheme.field_b)} is `field_a` too; a pair has two texts")


def _typed(scheme: Scheme) -> bool:
    """False for the stand-in of a scheme whose type could not be read."""
    return type(scheme) is not Scheme
