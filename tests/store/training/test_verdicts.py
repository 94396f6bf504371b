"""Verdicts on pre-labels: what they answer, what they change, and what they never do."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import insert

import training_scenes as scenes
from makers import NOW, Small, later, small
from potato.errors import PotatoError
from potato.store import tables, users
from potato.store.clock import to_text
from potato.store.training import predictions, verdicts
from potato.store.training.predictions import Stored
from potato.store.training.verdicts import Judgement, Order, Reviewed

SURE = {1: 0.9, 2: 0.55, 3: None, 4: 0.7, 5: 0.6, 6: 0.51}
"""Item → how sure the model is. It says positive of all."""


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Small]:
    with small(tmp_path, 8) as project:
        show(project, scenes.succeeded(1), SURE)
        yield project


def show(project: Small, run: Any, sure: dict[int, float | None], answer: str = "positive") -> None:
    """A run whose pre-labels are live; of item 7 it says something that annotators may not see."""
    with project.database.write() as conn:
        scenes.add(conn, run)
        rows = [Stored(item, "sentiment", answer, value, None, None) for item, value in sure.items()]
        hidden = Stored(7, "sentiment", answer, 0.1, None, predictions.HIDDEN)
        predictions.add(conn, run.run_id, [*rows, hidden])
        predictions.set_live(conn, run.run_id, ["sentiment"], to_text(NOW))


RUN = scenes.succeeded(1).run_id


def give(project: Small, item: int, judgement: str, answer: str | None = None, who: str = "rev", **more: Any) -> Any:
    order = Order(RUN, "sentiment", item, Judgement(judgement), who, more.pop("at", NOW), answer, **more)
    with project.database.write() as conn:
        return verdicts.give(conn, order, project.rules)


def answers(project: Small) -> dict[tuple[int, str], tuple[Any, ...]]:
    """Item and annotator → answer, source, origin, whose suggestion."""
    a = tables.annotations.c
    query = (
        tables.annotations.select()
        .join(tables.users, tables.users.c.id == a.user)
        .with_only_columns(a.item, tables.users.c.name, a.value, a.source, a.origin, a.suggestion)
    )
    rows = project.read(lambda conn: conn.execute(query).all())
    return {
        (row.item, row.name): (row.value, row.source, row.origin, (row.suggestion or {}).get("run_id")) for row in rows
    }


def waiting(project: Small, **more: Any) -> list[int]:
    found = project.read(
        lambda conn: verdicts.queue(conn, RUN, "sentiment", project.rules.schemes, more.pop("limit", 10), **more)
    )
    return [entry.item for entry in found]


def suggested(project: Small, item: int) -> bool:
    return bool(project.read(lambda conn: predictions.suggestions(conn, item, project.rules.schemes)))


def shown(project: Small) -> int:
    counted: int = project.read(predictions.shown)["sentiment"]
    assert counted == project.read(lambda conn: predictions.recount(conn, "sentiment", project.rules.schemes))
    return counted


def test_the_least_confident_come_first_and_what_is_hidden_never(project: Small) -> None:
    assert waiting(project) == [3, 6, 2, 5, 4, 1]
    assert waiting(project, limit=2) == [3, 6]
    assert waiting(project, after=2) == [5, 4, 1]
    assert waiting(project, after=3) == [6, 2, 5, 4, 1]
    assert project.read(lambda conn: verdicts.count_waiting(conn, RUN, "sentiment")) == 6


def test_what_somebody_has_answered_or_reviewed_waits_no_more(project: Small) -> None:
    project.save(project.user("ann"), 6, {"sentiment": "negative"})
    give(project, 2, "reject")
    assert waiting(project) == [3, 5, 4, 1]


def test_accepting_answers_the_item_under_the_reviewers_name(project: Small) -> None:
    """annotation 59: the origin, the score and the version stay with the answer."""
    kept = give(project, 2, "accept", elapsed_ms=1200)
    assert (kept.given, kept.repeated) == ("positive", False)
    assert answers(project) == {(2, "rev"): ("positive", "review", "accepted", RUN)}
    [row] = project.read(lambda conn: conn.execute(tables.verdicts.select()).all())
    assert (row.user, row.run_id, row.payload, row.given, row.confidence, row.at) == (
        "rev",
        RUN,
        "positive",
        "positive",
        0.55,
        to_text(NOW),
    )
    assert row.model_version == scenes.succeeded(1).model_version
    assert suggested(project, 2)
    assert shown(project) == 6


def test_an_item_that_a_reviewer_answered_wants_no_annotator_any_more(project: Small) -> None:
    """annotation 37: done means a human answer, whoever gave it and wherever."""
    give(project, 1, "accept")
    ann = project.user("ann")
    assert project.next(ann) == 2
    assert project.progress(ann).total_done == 1


def test_correcting_keeps_both_answers_and_hides_the_suggestion(project: Small) -> None:
    give(project, 2, "correct", "negative")
    assert answers(project) == {(2, "rev"): ("negative", "review", "changed", RUN)}
    assert not suggested(project, 2)
    assert shown(project) == 5


def test_a_rejected_answer_is_never_shown_again_for_the_item_by_no_model(project: Small) -> None:
    give(project, 2, "reject")
    assert answers(project) == {}
    assert not suggested(project, 2)
    assert shown(project) == 5
    show(project, scenes.succeeded(2), SURE)
    assert not suggested(project, 2)
    assert suggested(project, 1)
    assert shown(project) == 5


def test_the_same_verdict_again_changes_nothing(project: Small) -> None:
    first = give(project, 2, "accept", request_id="request-1")
    history = project.read(lambda conn: conn.execute(tables.annotation_history.select()).all())
    assert give(project, 2, "accept", at=later(1)).at == first.at
    assert give(project, 2, "accept", at=later(2), request_id="request-1").repeated
    assert project.read(lambda conn: conn.execute(tables.annotation_history.select()).all()) == history
    assert project.read(lambda conn: verdicts.reviewed(conn, RUN)) == {"sentiment": Reviewed(accepted=1)}


def test_a_late_repetition_does_not_undo_what_was_thought_over(project: Small) -> None:
    give(project, 2, "accept", request_id="request-1")
    give(project, 2, "reject", request_id="request-2")
    assert give(project, 2, "accept", request_id="request-1").repeated
    assert project.read(lambda conn: verdicts.reviewed(conn, RUN)) == {"sentiment": Reviewed(rejected=1)}


def test_a_verdict_can_be_thought_over_by_whoever_gave_it(project: Small) -> None:
    give(project, 2, "reject")
    give(project, 2, "accept", at=later(1))
    assert answers(project)[2, "rev"][:3] == ("positive", "review", "accepted")
    assert (suggested(project, 2), shown(project)) == (True, 6)
    give(project, 2, "correct", "negative", at=later(2))
    give(project, 2, "reject", at=later(3))
    assert answers(project) == {}
    assert (suggested(project, 2), shown(project)) == (False, 5)
    assert project.read(lambda conn: verdicts.reviewed(conn, RUN)) == {"sentiment": Reviewed(rejected=1)}
    kept = project.read(lambda conn: conn.execute(tables.verdicts.select().order_by(tables.verdicts.c.seq)).all())
    assert [(row.verdict, row.superseded) for row in kept] == [
        ("reject", True),
        ("accept", True),
        ("correct", True),
        ("reject", False),
    ]


@pytest.mark.parametrize("judgement", ["accept", "correct", "reject"])
def test_an_answer_that_a_person_gave_is_never_changed(project: Small, judgement: str) -> None:
    """annotation 58"""
    own = "negative" if judgement == "accept" else "positive"
    project.save(project.user("rev"), 2, {"sentiment": own})
    before = answers(project)
    if judgement == "reject":
        give(project, 2, judgement)
    else:
        with pytest.raises(verdicts.OwnAnswer, match="rev has answered this item already"):
            give(project, 2, judgement, "negative" if judgement == "correct" else None)
    assert answers(project) == before


def test_another_annotators_answer_stays_beside_the_reviewers(project: Small) -> None:
    project.save(project.user("ann"), 2, {"sentiment": "negative"})
    give(project, 2, "accept")
    assert answers(project)[2, "ann"] == ("negative", "page", "none", None)
    assert answers(project)[2, "rev"][:2] == ("positive", "review")


@pytest.mark.parametrize(
    ("item", "judgement", "answer", "refusal"),
    [
        (2, "correct", None, verdicts.NothingCorrected),
        (2, "correct", "positive", verdicts.NothingCorrected),
        (8, "accept", None, verdicts.SuggestionGone),
        (7, "accept", None, verdicts.SuggestionGone),
        (1, "accept", None, verdicts.AlreadyReviewed),
    ],
)
def test_a_verdict_that_does_not_hold_is_refused_and_changes_nothing(
    project: Small, item: int, judgement: str, answer: str | None, refusal: type[PotatoError]
) -> None:
    give(project, 1, "reject", who="other")
    before = project.read(lambda conn: conn.execute(tables.verdicts.select()).all())
    with pytest.raises(refusal):
        give(project, item, judgement, answer)
    assert project.read(lambda conn: conn.execute(tables.verdicts.select()).all()) == before
    assert answers(project) == {}


def test_nothing_is_judged_that_is_no_longer_shown(project: Small) -> None:
    with project.database.write() as conn:
        conn.execute(insert(tables.trained_groups).values(scheme="sentiment", grp="2", run_id="r9"))
    assert 2 not in waiting(project)
    with pytest.raises(verdicts.SuggestionGone):
        give(project, 2, "accept")
    with project.database.write() as conn:
        assert predictions.withdraw(conn, RUN) == 6
    with pytest.raises(verdicts.SuggestionGone):
        give(project, 1, "accept")


def test_a_review_is_no_annotators_use_of_a_suggestion(project: Small) -> None:
    from potato.store.training.suggestion_use import use_of

    give(project, 2, "accept")
    assert project.read(use_of, RUN, project.project.schemes) == {}
    assert project.read(lambda conn: users.by_name(conn, "rev")).done == 1
