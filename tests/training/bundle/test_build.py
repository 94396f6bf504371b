"""Labels → bundle."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import insert

from lab import SENTIMENT, Lab
from potato.project.training import Splits
from potato.store import tables
from potato.store.adjudications import decide, decided_at
from potato.store.training import predictions, runs
from potato.store.training.predictions import Stored
from potato.store.training.runs import Run, State
from potato.training.bundle.build import Built, build
from potato.training.bundle.enough import NotEnoughLabels
from potato.training.bundle.judged import Beside
from potato.training.bundle.preflight import preflight
from potato.training.contract.bundle import Bundle, BundleItem
from potato.training.splits import split_of
from potato.training.trainers import registry

INFO = registry.get("sklearn-text").info
TOPICS = {"annotation_type": "multiselect", "name": "topics", "description": "?", "labels": ["a", "b", "c"]}
STARS = {"annotation_type": "likert", "name": "stars", "description": "?", "size": 5}

PREDICTING = {"writeback": {"include_unlabeled": True}}


@pytest.fixture
def make_lab(tmp_path: Path) -> Callable[..., Lab]:
    return lambda items=60, **config: Lab(tmp_path / "lab", items, **config)


def built(lab: Lab, *schemas: str, where: str = "bundle") -> tuple[Built, Bundle]:
    folder = lab.folder / where
    return build(lab.database, lab.project, INFO, schemas or ["sentiment"], folder), Bundle(str(folder))


def labelled(bundle: Bundle) -> dict[str, BundleItem]:
    return {item.id: item for split in ("train", "val", "test") for item in bundle.items(split)}


def test_the_same_labels_give_the_same_bytes(make_lab: Callable[..., Lab]) -> None:
    lab = make_lab()
    lab.label_alternately()
    first, _ = built(lab, where="one")
    second, _ = built(lab, where="two")
    assert first.digest == second.digest
    for path in (lab.folder / "one").iterdir():
        assert path.read_bytes() == (lab.folder / "two" / path.name).read_bytes()
    lab.label({"i0": "negative"}, user="ben")
    assert built(lab)[0].digest != first.digest


def test_it_refers_to_nothing_outside_and_names_no_annotator(make_lab: Callable[..., Lab]) -> None:
    """annotation 36"""
    lab = make_lab()
    lab.label_alternately(user="Anna Annotator")
    built(lab)
    text = "".join(path.read_text("utf-8") for path in (lab.folder / "bundle").iterdir())
    assert "Anna" not in text
    assert str(lab.folder) not in text


def test_splits_never_change_however_the_corpus_grows(make_lab: Callable[..., Lab]) -> None:
    splits = Splits()
    before = {f"i{n}": split_of(f"i{n}", 0, splits) for n in range(1000)}
    assert before == {f"i{n}": split_of(f"i{n}", 0, splits) for n in range(1000)}
    share = sum(split == "train" for split in before.values()) / 1000
    assert 0.65 < share < 0.75
    assert split_of("i0", 0, Splits(train=1, val=0, test=0)) == "train"
    assert {split_of(f"i{n}", 0, Splits(train=0.5, val=0, test=0.5)) for n in range(99)} == {"train", "test"}
    assert {split_of(f"i{n}", 0, Splits(train=0.5, val=0.5, test=0)) for n in range(99)} == {"train", "val"}
    lab = make_lab()
    lab.label_alternately()
    _, bundle = built(lab)
    for split in ("train", "val", "test"):
        assert {item.id for item in bundle.items(split)} == {i for i in lab.ids if before[i] == split}


def test_copies_of_a_text_stay_together(make_lab: Callable[..., Lab]) -> None:
    """annotation 44"""
    rows = [{"id": f"i{n}", "text": f"text {n}"} for n in range(60)]
    copies = [{"id": f"copy{n}", "text": f"  text   {n} "} for n in range(60)]
    lab = make_lab([*rows, *copies])
    lab.label_alternately()
    _, bundle = built(lab)
    where = {item.id: split for split in ("train", "val", "test") for item in bundle.items(split)}
    assert all(where[f"i{n}"] == where[f"copy{n}"] for n in range(60))


def test_votes_ties_and_other_fields(make_lab: Callable[..., Lab]) -> None:
    rows = [{"id": f"i{n}", "text": f"text {n}", "source": "mail", "n": n} for n in range(60)]
    lab = make_lab(rows, model_training={"aggregation": "majority"})
    for user in ("ann", "ben", "cat"):
        lab.label_alternately(user=user)
    lab.label({"i1": "positive"}, user="dan")
    lab.label({"i0": "negative", "i2": "negative"}, user="dan")
    lab.label({"i0": "negative"}, user="eve")
    lab.label({"i0": "negative"}, user="fay")
    result, bundle = built(lab)
    items = labelled(bundle)
    assert "i0" not in items  # three against three
    assert items["i1"].votes == {"sentiment": [["negative", 3], ["positive", 1]]}
    assert items["i1"].annotators == {"sentiment": 4}
    assert items["i1"].targets == {"sentiment": "negative"}
    assert items["i1"].fields["source"] == "mail"
    assert "1 items were left out of 'sentiment': their annotators are exactly divided" in result.warnings


def test_no_model_is_measured_by_a_suggestion_that_was_taken_as_it_stood(make_lab: Callable[..., Lab]) -> None:
    """annotation 59: held-out items get no suggestion; but after a change of the splits some may have had one."""
    lab = make_lab(model_training={"writeback": {"include_unlabeled": True}})
    lab.label_alternately(lab.ids[:50])
    lab.label({"i0": "positive"}, user="ben")
    before = built(lab)[1]
    where = {item.id: split for split in ("train", "val", "test") for item in before.items(split)}
    held_out = [item for item in lab.ids[:50] if where[item] != "train"]
    trained = next(item for item in lab.ids[:50] if where[item] == "train")
    taken = [*held_out[:3], trained]
    with lab.database.write() as connection:
        seqs = [lab.ids.index(item) + 1 for item in taken]
        anchored = tables.annotations.update().where(tables.annotations.c.item.in_(seqs))
        connection.execute(anchored.values(origin="accepted"))
        decide(connection, [decided_at(seqs[0], "sentiment", "negative", "mira", datetime.now(timezone.utc))])
    result, bundle = built(lab)
    items = labelled(bundle)
    assert set(where) - set(items) == set(taken[1:3])
    assert items[taken[0]].targets == {"sentiment": "negative"}  # somebody decided it
    assert not {item.id for item in bundle.items("predict")} & set(taken)
    assert (
        "2 items of val and test were left out of 'sentiment': an annotator took a model's suggestion there as it"
        " stood, and no model is measured by that"
    ) in result.warnings


def test_a_suggestion_that_was_taken_by_someone_who_skipped_afterwards_counts_for_nothing(
    make_lab: Callable[..., Lab],
) -> None:
    lab = make_lab()
    lab.label_alternately(lab.ids[:50])
    lab.label_alternately(lab.ids[:50], user="ben")
    before = built(lab)[1]
    item = next(item.id for item in before.items("test"))
    seq = lab.ids.index(item) + 1
    given = tables.annotations
    with lab.database.write() as connection:
        connection.execute(given.update().where(given.c.item == seq, given.c.user == 1).values(origin="accepted"))
    assert item not in labelled(built(lab)[1])
    with lab.database.write() as connection:
        row = {"item": seq, "user": 1, "state": "skipped", "at": "2026-01-01T00:00:00.000Z"}
        connection.execute(insert(tables.assignments).values(**row))
    assert item in labelled(built(lab)[1])


def test_a_calibration_learns_what_the_live_model_said_in_the_scheme_as_it_is_now(
    make_lab: Callable[..., Lab],
) -> None:
    """A label that was renamed is told by its new name, with the verdict on it; of one that is gone nothing is."""
    at = "2026-01-01T00:00:00.000Z"
    renamed = {**SENTIMENT, "labels": ["good", "negative"], "label_renames": {"positive": "good"}}
    lab = make_lab(annotation_schemes=[renamed])
    said = {1: "positive", 2: "gone", 3: "good"}
    shares = {"positive": 0.6, "gone": 0.3, "negative": 0.1}
    with lab.database.write() as connection:
        runs.add(connection, Run("r1", State.SUCCESS, "fake", ["sentiment"], {}, "api", "local", "local", at))
        stored = [Stored(item, "sentiment", answer, 0.6, shares, None) for item, answer in said.items()]
        predictions.add(connection, "r1", stored)
        predictions.set_live(connection, "r1", ["sentiment"], at)
        verdict = {"run_id": "r0", "scheme": "sentiment", "payload": "good", "user": "rev", "at": at}
        connection.execute(insert(tables.verdicts).values(item=1, verdict="accept", **verdict))
    with lab.database.read() as connection:
        live = Beside(connection, lab.project.schemes["sentiment"])
        first, second, third = (live.of(item) for item in said)
    assert second is None
    now = {"good": 0.6, "gone": 0.3, "negative": 0.1}
    record = {"payload": "good", "confidence": 0.6, "probabilities": now}
    assert first == {"said": {"sentiment": {**record, "verdict": "accept"}}}
    assert third == {"said": {"sentiment": record}}


def test_skipped_items_never_enter(make_lab: Callable[..., Lab]) -> None:
    lab = make_lab(model_training={"writeback": {"include_unlabeled": True}})
    lab.label_alternately(lab.ids[:50])
    with lab.database.write() as connection:
        for seq, state in ((1, "skipped"), (60, "skipped"), (59, "open")):
            row = {"item": seq, "user": 1, "state": state, "at": "2026-01-01T00:00:00.000Z"}
            connection.execute(insert(tables.assignments).values(**row))
    result, bundle = built(lab)
    everywhere = {*labelled(bundle), *(item.id for item in bundle.items("predict"))}
    assert everywhere == set(lab.ids) - {"i0", "i59"}
    assert result.skipped == 2
    assert bundle.splits["predict"] == 9


def test_labels_that_the_project_lost_are_left_out_and_counted(make_lab: Callable[..., Lab]) -> None:
    """annotation 19"""
    lab = make_lab(annotation_schemes=[{**SENTIMENT, "labels": ["positive", "negative", "mixed", "unused"]}])
    lab.label({f"i{n}": ("positive", "negative", "mixed")[n % 3] for n in range(60)})
    assert built(lab)[1].schemas["sentiment"].classes == ("positive", "negative", "mixed")
    assert built(lab)[1].schemas["sentiment"].labels[-1] == "unused"
    lab.write({**lab.config, "annotation_schemes": [SENTIMENT]})
    result, bundle = built(lab)
    assert bundle.schemas["sentiment"].classes == ("positive", "negative")
    assert len(labelled(bundle)) == 40
    assert any(warning.startswith("20 answers to 'sentiment' were left out") for warning in result.warnings)


def test_several_schemes_of_every_kind(make_lab: Callable[..., Lab]) -> None:
    """annotation 42: none of the labels is an answer."""
    lab = make_lab(
        annotation_schemes=[SENTIMENT, TOPICS, STARS], model_training={"writeback": {"include_unlabeled": True}}
    )
    lab.label_alternately(lab.ids[:40])
    lab.label({f"i{n}": [[], ["c", "a"], ["b"]][n % 3] for n in range(60)}, "topics")
    lab.label({f"i{n}": n % 5 + 1 for n in range(30)}, "stars")
    _, bundle = built(lab, "sentiment", "topics", "stars")
    items = labelled(bundle)
    assert items["i0"].targets == {"sentiment": "positive", "topics": [], "stars": 1}
    assert items["i1"].targets["topics"] == ["a", "c"]  # the project's order
    assert items["i50"].targets == {"topics": ["b"]}
    assert bundle.schemas["stars"].classes == ("1", "2", "3", "4", "5")
    predicted = {item.id for item in bundle.items("predict")}
    in_training = {item.id for item in bundle.items("train")}
    assert predicted == {item for item in in_training if int(item[1:]) >= 30}  # they lack an answer to some scheme
    assert all(not item.targets for item in bundle.items("predict"))


def test_numbers_texts_and_pairs(make_lab: Callable[..., Lab]) -> None:
    """What trainers need of them, and no list of labels that would be a list of texts."""
    texts = {"annotation_type": "text", "name": "why", "description": "Why?"}
    age = {"annotation_type": "number", "name": "age", "description": "How old?"}
    better = {
        "annotation_type": "pairwise",
        "name": "better",
        "description": "Which?",
        "field_a": "text",
        "field_b": "other",
    }
    rows = [{"id": f"i{n}", "text": f"text {n}", "other": f"another {n}"} for n in range(60)]
    lab = make_lab(rows, annotation_schemes=[texts, age, better])
    ids = lab.ids[:40]
    lab.label({item: f"because {n}" for n, item in enumerate(ids)}, "why")
    lab.label({item: n / 2 for n, item in enumerate(ids)}, "age")
    lab.label({item: ["a", "b", "tie"][n % 3] for n, item in enumerate(ids)}, "better")
    _, bundle = built(lab, "why", "age", "better")
    item = labelled(bundle)["i3"]
    assert item.targets == {"why": "because 3", "age": 1.5, "better": "a"}
    assert item.fields["text"] == item.text  # the pair's first side is the item's text
    assert {name: schema.fields for name, schema in bundle.schemas.items()} == {
        "why": (),
        "age": (),
        "better": ("text", "other"),
    }
    counts = bundle.manifest["counts"]
    assert counts["why"]["labels"]["train"] == counts["age"]["labels"]["train"] == {}
    assert set(counts["better"]["labels"]["train"]) == {"a", "b", "tie"}


class TestTooLittle:
    """annotation 40, 41: the preflight and the bundle refuse alike."""

    @pytest.mark.parametrize(
        ("answers", "message"),
        [
            ({}, "Not enough labels to train 'sentiment': 0 of"),
            ({"i0": "positive"}, "1 of 2 needed in the training split"),
            (
                {f"i{n}": "negative" for n in range(60)},
                "labels in the training split are 'negative', and at least 2 different ones are needed",
            ),
        ],
    )
    def test_is_refused(self, make_lab: Callable[..., Lab], answers: dict[str, Any], message: str) -> None:
        lab = make_lab()
        lab.label(answers)
        with lab.database.read() as connection, pytest.raises(NotEnoughLabels) as early:
            preflight(connection, lab.project, INFO, ["sentiment"])
        with pytest.raises(NotEnoughLabels) as late:
            built(lab)
        assert early.value.message == late.value.message
        assert early.value.message.startswith(message) or message in early.value.message
        assert not (lab.folder / "bundle").exists()


def test_a_split_that_is_empty_or_lacks_a_class_is_a_warning(make_lab: Callable[..., Lab]) -> None:
    """annotation 39, 43"""
    lab = make_lab(model_training={"splits": {"train": 1, "val": 0, "test": 0}})
    rare = next(item for item in lab.ids if split_of(item, 0, Splits()) == "train")
    lab.label_alternately([item for item in lab.ids if item != rare])
    result, _ = built(lab)
    missing = "The test split has no label of 'sentiment': the model is not evaluated: it gets no held-out score"
    assert missing in result.warnings
    other = {**SENTIMENT, "labels": ["positive", "negative", "rare"]}
    lab.write({**lab.config, "annotation_schemes": [other], "model_training": {"enabled": True}})
    lab.label({rare: "rare"})
    result, bundle = built(lab)
    assert "The test split of 'sentiment' has no example of 'rare'" in result.warnings
    assert labelled(bundle)[rare].targets == {"sentiment": "rare"}
    manifest = json.loads((lab.folder / "bundle" / "manifest.json").read_text("utf-8"))
    assert manifest["counts"]["sentiment"]["labels"]["train"]["rare"] == 1


def test_it_is_one_instant_while_annotators_go_on(
    make_lab: Callable[..., Lab], monkeypatch: pytest.MonkeyPatch
) -> None:
    """annotation 54: labels saved while the bundle is written are in the next one."""
    lab = make_lab(annotation_schemes=[SENTIMENT, STARS])
    lab.label_alternately()
    lab.label({f"i{n}": n % 2 + 1 for n in range(60)}, "stars")
    before = built(lab, "sentiment", "stars", where="before")[0].digest
    from potato.training.bundle import build as module

    real = module.gather

    def gather_and_save(connection: Any, project: Any, scheme: Any) -> Any:
        answers = real(connection, project, scheme)
        if scheme.name == "sentiment":
            lab.label({f"i{n}": 5 for n in range(60)}, "stars", user="late")
            lab.label({f"i{n}": "positive" for n in range(60)}, user="late")
        return answers

    monkeypatch.setattr(module, "gather", gather_and_save)
    assert built(lab, "sentiment", "stars", where="during")[0].digest == before
