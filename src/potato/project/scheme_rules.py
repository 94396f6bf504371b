"""What a project's questions must keep to, among themselves."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from potato.project.finding import KeyPath, Problem, dotted
from potato.project.wording import near, quoted
from potato.schemes import Label, Scheme
from potato.schemes.keys import reserved


def broken_schemes(schemes: Sequence[Scheme], taken_keys: Collection[str] = ()) -> Iterator[Problem]:
    """What is wrong with names, labels, keys and conditions. `taken_keys` act on what the items hold."""
    by_name = {scheme.name: scheme for scheme in schemes}
    yield from _names(schemes)
    for place, scheme in enumerate(schemes):
        path: KeyPath = ("annotation_schemes", place)
        yield from _labels(labels_of(scheme), path)
        yield from _condition(scheme, by_name, path)
        yield from _renames(scheme, path)
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
            known = by_name[name].label_names() if _typed(by_name[name]) else []
            yield from _unknown_answers(here, wanted, known)


def _unknown_answers(path: KeyPath, wanted: Any, known: Sequence[str]) -> Iterator[Problem]:
    listed = isinstance(wanted, list)
    for place, answer in enumerate(wanted if listed else [wanted]):
        if known and answer and answer not in known:
            here = (*path, place) if listed else path
            yield Problem(here, f"{quoted(answer)} is no answer of {quoted(path[-1])}{near(answer, known)}")


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


def _typed(scheme: Scheme) -> bool:
    """False for the stand-in of a scheme whose type could not be read."""
    return type(scheme) is not Scheme
