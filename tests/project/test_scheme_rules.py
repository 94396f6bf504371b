"""What the questions of a project must keep to, among themselves."""

from __future__ import annotations

import pytest

from project_texts import BASE

TWO = (
    BASE
    + "  - annotation_type: multiselect\n    name: topics\n    description: About what?\n    labels: [plot, cast]\n"
)
"""Two schemes; the second stands on lines 9 to 12."""


def labels(text: str) -> str:
    return BASE.replace("[positive, negative]", text)


LABELS = {
    '["", other]': [(8, "labels[0].name", "must not be empty")],
    '[" ", other]': [(8, "labels[0]", "a label must not be blank")],
    '["a\\nb", other]': [(8, "labels[0]", "a label must stand on one line, without control characters: `a b`")],
    '[" a", other]': [(8, "labels[0]", "a label must not begin or end with a space: `' a'`")],
    f"[{'a' * 300}, other]": [(8, "labels[0].name", "must have at most 200 characters")],
    "[one, two, one]": [(8, "labels[2]", "the label `one` stands twice")],
    "[one, {name: one}]": [(8, "labels[1]", "the label `one` stands twice")],
    "[one]": [(8, "labels", "needs at least 2 entries")],
    "[]": [(8, "labels", "needs at least 2 entries")],
    "one, two": [(8, "labels", "must be a list, not `one, two`; for one entry write [one, two]")],
    "[one, [two]]": [(8, "labels[1]", "must be a mapping of keys, not a list")],
    "[one, ]\n    labls: [two]": None,
    "[{key: a}, two]": [(8, "labels[0].name", "the required key `name` is missing"), (8, "labels[0].key", None)],
    "[{name: one, key: ab}, two]": [(8, "labels[0].key", "must have at most one character")],
    "[{name: one, key: '?'}, two]": [(8, "labels[0].key", "the page itself uses the key `'?'`; choose another")],
    "[{name: one, key: ' '}, two]": [(8, "labels[0].key", None)],
    "[{name: one, key: S}, two]": [(8, "labels[0].key", "the page itself uses the key `'S'`; choose another")],
    "[{name: one, key: x}, {name: two, key: X}]": [
        (8, "labels[1].key", "the key `X` chooses `one` of `sentiment` already")
    ],
}


@pytest.mark.parametrize("text", [text for text in LABELS if LABELS[text]])
def test_labels_that_cannot_be_shown_told_apart_or_chosen(text, findings):
    """annotation 21 and 23, as far as the project file goes."""
    found = findings(labels(text))
    wanted = LABELS[text] or []
    assert len(found) == len(wanted)
    for line, (number, key, message) in zip(found, wanted, strict=True):
        start = f"error: config.yaml:{number}: annotation_schemes[0].{key}: "
        assert line == start + message if message else line.startswith(start)


def test_keys_clash_across_the_questions_of_the_page(findings):
    text = TWO.replace("[positive, negative]", "[{name: positive, key: p}, negative]")
    assert findings(text.replace("[plot, cast]", "[cast, {name: plot, key: p}]")) == [
        "error: config.yaml:12: annotation_schemes[1].labels[1].key:"
        " the key `p` chooses `positive` of `sentiment` already"
    ]


@pytest.mark.parametrize("name", ["' '", "' a'", '"a\\tb"'])
def test_a_schemes_name_that_cannot_be_shown(name, findings):
    (found,) = findings(BASE.replace("name: sentiment", f"name: {name}"))
    assert found.startswith("error: config.yaml:6: annotation_schemes[0].name: a scheme's name must ")


SHOW_IF = {
    "{sentiment: positive}": None,
    "{sentiment: [positive, negative]}": None,
    "{sentimnet: positive}": (
        ".sentimnet",
        "there is no annotation scheme `sentimnet`; did you mean `sentiment`?",
    ),
    "{topics: plot}": (".topics", "a scheme cannot wait for itself"),
    "{sentiment: postive}": (".sentiment", "`postive` is no answer of `sentiment`; did you mean `positive`?"),
    "{sentiment: [positive, neutral]}": (".sentiment[1]", "`neutral` is no answer of `sentiment`"),
    "positive": ("", "must be a mapping of keys, not `positive`"),
}


@pytest.mark.parametrize("condition", SHOW_IF)
def test_conditions(condition, findings):
    wanted = SHOW_IF[condition]
    found = findings(TWO + f"    show_if: {condition}\n")
    assert found == (
        [f"error: config.yaml:13: annotation_schemes[1].show_if{wanted[0]}: {wanted[1]}"] if wanted else []
    )


def test_a_condition_on_a_point_of_a_scale(findings):
    likert = "  - annotation_type: likert\n    name: how\n    description: How?\n    size: 3\n"
    assert not findings(BASE + likert + "    label_renames: {}\n" + TWO[len(BASE) :] + "    show_if: {how: 3}\n")
    (found,) = findings(BASE + likert + TWO[len(BASE) :] + "    show_if: {how: 4}\n")
    assert found == "error: config.yaml:17: annotation_schemes[2].show_if.how: `4` is no answer of `how`"


def test_questions_that_wait_for_each_other(findings):
    text = TWO.replace("name: sentiment", "name: sentiment\n    show_if: {topics: plot}")
    told = "waits for an answer that itself waits for this one"
    assert findings(text + "    show_if: {sentiment: positive}\n") == [
        f"error: config.yaml:7: annotation_schemes[0].show_if: {told}",
        f"error: config.yaml:14: annotation_schemes[1].show_if: {told}",
    ]


def test_renames(findings):
    assert not findings(BASE + "    label_renames: {good: positive}\n")
    assert findings(BASE + "    label_renames: {positive: negative, good: postive}\n") == [
        "error: config.yaml:9: annotation_schemes[0].label_renames.positive:"
        " `positive` is still a label of `sentiment`",
        "error: config.yaml:9: annotation_schemes[0].label_renames.good:"
        " `postive` is no label of `sentiment`; did you mean `positive`?",
    ]


@pytest.mark.parametrize(("size", "told"), [(1, "must be at least 2, not `1`"), (12, "must be at most 11, not `12`")])
def test_the_size_of_a_scale(size, told, findings):
    text = BASE + f"  - {{annotation_type: likert, name: how, description: How?, size: {size}}}\n"
    assert findings(text) == [f"error: config.yaml:9: annotation_schemes[1].size: {told}"]


def test_a_scale_takes_no_labels(findings):
    (found,) = findings(BASE + "  - {annotation_type: likert, name: how, description: How?, labels: [a, b]}\n")
    assert (
        found
        == "error: config.yaml:9: annotation_schemes[1].labels: unknown key `labels`; a likert scheme does not take it"
    )


SPAN = "  - {annotation_type: span, name: who, description: Who?, labels: [person]}\n"


@pytest.mark.parametrize(
    ("key", "more", "refused"),
    [
        ("m", "", False),
        ("m", SPAN, True),
        ("+", "", False),
        ("+", "item_properties: {image_key: picture}\n", True),
        (".", "item_properties: {audio_key: sound}\n", True),
        (".", "item_properties: {image_key: picture}\n", False),
    ],
)
def test_keys_that_act_on_what_the_page_shows(key, more, refused, findings):
    """annotation 23"""
    found = findings(labels(f"[{{name: one, key: '{key}'}}, two]") + more)
    told = f"annotation_schemes[0].labels[0].key: the page itself uses the key `'{key}'`; choose another"
    assert found == ([f"error: config.yaml:8: {told}"] if refused else [])


LIMITS = {
    "slider, min: 1, max: 1": ("max", "must be more than `min`, which is 1, not 1"),
    "number, min: 5, max: 2": ("max", "must be more than `min`, which is 5, not 2"),
    "slider, step: 200": ("step", "is 200, more than lies between `min` and `max`"),
    "number, step: 0": ("step", "must be more than 0, not `0.0`"),
    "number, min: low": ("min", "must be a number, not `low`"),
    "text, min_length: 9, max_length: 5": ("max_length", "must be at least `min_length`, which is 9, not 5"),
    "text, max_length: 100001": ("max_length", "must be at most 100000, not `100001`"),
    "pairwise, field_a: text_b": ("field_b", "`text_b` is `field_a` too; a pair has two texts"),
}


@pytest.mark.parametrize("config", LIMITS)
def test_numbers_lengths_and_sides_that_leave_nothing_to_answer(config, findings):
    key, told = LIMITS[config]
    text = BASE + f"  - {{name: how, description: How?, annotation_type: {config}}}\n"
    assert findings(text) == [f"error: config.yaml:9: annotation_schemes[1].{key}: {told}"]


NUMBERS = {
    "3": None,
    "2.5": None,
    "3.0": "`3.0` is no answer of `how`; did you mean `3`?",
    "7": "`7` is no answer of `how`; it takes numbers from 0 up to 5 in steps of 0.5",
    "many": "`many` is no answer of `how`; it takes numbers from 0 up to 5 in steps of 0.5",
}


@pytest.mark.parametrize("wanted", NUMBERS)
def test_a_condition_on_a_number(wanted, findings):
    slider = "  - {annotation_type: slider, name: how, description: How?, max: 5, step: 0.5}\n"
    found = findings(BASE + slider + TWO[len(BASE) :] + f"    show_if: {{how: {wanted}}}\n")
    told = NUMBERS[wanted]
    assert found == ([f"error: config.yaml:14: annotation_schemes[2].show_if.how: {told}"] if told else [])
