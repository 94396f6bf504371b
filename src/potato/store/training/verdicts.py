"""What reviewers say of pre-labels: the one path that writes verdicts, and the queue of what waits for one.

A verdict on a pre-label counts until its reviewer thinks it over; then it is superseded, and kept. Accepting and
correcting answer the item under the reviewer's name. An answer that they gave otherwise is never changed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Any

from sqlalchemy import Connection, and_, bindparam, exists, func, insert, or_, select, update

from potato.errors import PotatoError
from potato.schemes import Answer
from potato.store import users
from potato.store.annotations import Save, save
from potato.store.clock import to_text
from potato.store.rules import Rules
from potato.store.tables import annotations as answers_
from potato.store.tables import items, live_runs, predictions, runs, trained_groups, verdicts
from potato.store.training import predictions as said_
from potato.store.training.predictions import Schemes, Suggestion

SOURCE = "review"
"""The `source` of answers that were given by a verdict."""

COUNTED = 1000
"""How far the queue is counted."""


class Judgement(str, Enum):
    """What a reviewer can say of a pre-label."""

    ACCEPT = "accept"
    CORRECT = "correct"
    REJECT = "reject"


AGAINST = (Judgement.CORRECT.value, Judgement.REJECT.value)
"""The verdicts after which the pre-label is shown to nobody any more."""


class SuggestionGone(PotatoError):
    """The pre-label is not shown any more. No verdict was kept."""

    code = "suggestion_gone"
    status = 409

    def __init__(self) -> None:
        super().__init__(
            "This suggestion is not shown any more: its run was replaced or withdrawn, or has trained on the item",
            hint="Go on with the next one; nothing of the item was changed.",
        )


class AlreadyReviewed(PotatoError):
    """Somebody else has given a verdict on the pre-label. It stands."""

    code = "already_reviewed"
    status = 409

    def __init__(self, reviewer: str) -> None:
        super().__init__(f"{reviewer} has reviewed this suggestion already", hint="Go on with the next one.")


class OwnAnswer(PotatoError):
    """The reviewer has answered the item otherwise. The answer stays, and no verdict was kept."""

    code = "own_answer"
    status = 409

    def __init__(self, reviewer: str) -> None:
        super().__init__(
            f"{reviewer} has answered this item already, and a review never changes an answer",
            hint="Change the answer on the annotation page, or reject the suggestion.",
        )


class NothingCorrected(PotatoError):
    """A correction without an answer, or with the very answer that was suggested."""

    code = "nothing_corrected"
    status = 400

    def __init__(self) -> None:
        super().__init__("A correction needs another answer than the suggested one", hint="Accept it instead.")


@dataclass(frozen=True)
class Order:
    """A verdict to be kept. `given` is the parsed answer of a correction."""

    run_id: str
    scheme: str
    item: int
    judgement: Judgement
    reviewer: str
    at: datetime
    given: Answer | None = None
    request_id: str | None = None
    elapsed_ms: int | None = None


@dataclass(frozen=True)
class Kept:
    """The verdict as it stands, and whether it stood before."""

    judgement: str
    given: Answer | None
    at: str
    repeated: bool


@dataclass(frozen=True)
class Waiting:
    """A pre-label in the queue."""

    item: int
    suggestion: Suggestion


@dataclass(frozen=True)
class Reviewed:
    """The verdicts on a run's pre-labels of one scheme, counted."""

    accepted: int = 0
    corrected: int = 0
    rejected: int = 0

    @property
    def total(self) -> int:
        """How many pre-labels have a verdict."""
        return self.accepted + self.corrected + self.rejected


_v, _p = verdicts.c, predictions.c
_CURRENT = _v.superseded.is_(False)
_OF = (_v.run_id == bindparam("of_run"), _v.scheme == bindparam("of_scheme"), _v.item == bindparam("of_item"))
_STANDING = select(verdicts).where(*_OF, _CURRENT)
_REQUEST = select(verdicts).where(_v.request_id == bindparam("request"))
_SUPERSEDE = update(verdicts).where(*_OF, _CURRENT).values(superseded=True)
_OWN = select(answers_.c.value, answers_.c.source).where(
    answers_.c.item == bindparam("of_item"),
    answers_.c.user == bindparam("of_user"),
    answers_.c.scheme == bindparam("of_scheme"),
)
_COUNTS = select(_v.scheme, _v.verdict, func.count()).where(_CURRENT).group_by(_v.scheme, _v.verdict)
_SHOWN = update(live_runs).where(live_runs.c.scheme == bindparam("of_scheme"))


def give(conn: Connection, order: Order, rules: Rules) -> Kept:
    """Keep a verdict, and what it answers. The same one again changes nothing; another of the same reviewer takes its
    place. Raises `SuggestionGone`, `AlreadyReviewed`, `OwnAnswer` or `NothingCorrected`; then nothing is changed."""
    repeated = _repeated(conn, order)
    if repeated is not None:
        return repeated
    suggestion = of_live_run(conn, order.run_id, order.scheme, order.item)
    if suggestion is None:
        raise SuggestionGone
    before = conn.execute(_STANDING, _key(order)).first()
    if before is not None and before.user != order.reviewer:
        raise AlreadyReviewed(before.user)
    given = _given(order, suggestion, rules)
    if before is not None and (before.verdict, before.given) == (order.judgement.value, given):
        return Kept(before.verdict, before.given, before.at, repeated=True)
    _answer(conn, order, given, suggestion, rules)
    _keep(conn, order, given, suggestion)
    _count(conn, order, against_before=before is not None and before.verdict in AGAINST)
    return Kept(order.judgement.value, given, to_text(order.at), repeated=False)


def of_live_run(conn: Connection, run_id: str, scheme: str, item: int) -> Suggestion | None:
    """The pre-label of that live run, reviewed or not; None where annotators could not be shown it."""
    query = _waiting(run_id, scheme).where(_p.item == item)
    row = conn.execute(query).first()
    return None if row is None else _suggestion(run_id, row)


def standing(conn: Connection, run_id: str, scheme: str, item: int) -> Kept | None:
    """The verdict that stands on a pre-label."""
    row = conn.execute(_STANDING, {"of_run": run_id, "of_scheme": scheme, "of_item": item}).first()
    return None if row is None else Kept(row.verdict, row.given, row.at, repeated=True)


def queue(
    conn: Connection, run_id: str, scheme: str, schemes: Schemes, limit: int, after: int | None = None
) -> list[Waiting]:
    """Pre-labels of a live run that wait for a verdict, the least confident first, one without confidence before all;
    past the item `after`, where it is given. Items that somebody has answered meanwhile wait for none."""
    query = _unreviewed(run_id, scheme).order_by(_p.confidence.nulls_first(), _p.item)
    if after is not None:
        query = query.where(_past(conn, run_id, scheme, after))
    refused = said_.rejected(conn, scheme, schemes)
    found: list[Waiting] = []
    with conn.execute(query, execution_options={"yield_per": 200}) as rows:  # left before its end
        for row in rows:
            if not refused.holds(row.item, row.payload):
                found.append(Waiting(row.item, _suggestion(run_id, row)))
            if len(found) == limit:
                break
    return found


def count_waiting(conn: Connection, run_id: str, scheme: str) -> int:
    """How many pre-labels wait, counted up to `COUNTED` and one more."""
    some = _unreviewed(run_id, scheme).with_only_columns(_p.item).limit(COUNTED + 1).subquery()
    return int(conn.execute(select(func.count()).select_from(some)).scalar_one())


def reviewed(conn: Connection, run_id: str | None = None) -> dict[str, Reviewed]:
    """The verdicts on a run's pre-labels, or on all, by scheme."""
    counts: dict[str, dict[str, int]] = {}
    query = _COUNTS if run_id is None else _COUNTS.where(_v.run_id == run_id)
    for scheme, verdict, count in conn.execute(query):
        counts.setdefault(scheme, {})[verdict] = count
    return {
        scheme: Reviewed(of.get("accept", 0), of.get("correct", 0), of.get("reject", 0))
        for scheme, of in counts.items()
    }


def _repeated(conn: Connection, order: Order) -> Kept | None:
    if order.request_id is None:
        return None
    row = conn.execute(_REQUEST, {"request": order.request_id}).first()
    if row is None or (row.run_id, row.scheme, row.item, row.user) != (
        order.run_id,
        order.scheme,
        order.item,
        order.reviewer,
    ):
        return None
    return Kept(row.verdict, row.given, row.at, repeated=True)


def _key(order: Order) -> dict[str, Any]:
    return {"of_run": order.run_id, "of_scheme": order.scheme, "of_item": order.item}


def _given(order: Order, suggestion: Suggestion, rules: Rules) -> Answer | None:
    if order.judgement is Judgement.REJECT:
        return None
    suggested = rules.schemes[order.scheme].prediction_answer(suggestion.payload)
    if order.judgement is Judgement.ACCEPT:
        return suggested
    if order.given is None or order.given == suggested:
        raise NothingCorrected
    return order.given


def _answer(conn: Connection, order: Order, given: Answer | None, suggestion: Suggestion, rules: Rules) -> None:
    """Answer the item for the reviewer, or take back what an earlier verdict of theirs has answered."""
    user = users.ensure(conn, order.reviewer, order.at)
    own = conn.execute(_OWN, {"of_item": order.item, "of_user": user, "of_scheme": order.scheme}).first()
    if own is not None and own.source != SOURCE:
        if given is not None and own.value != given:
            raise OwnAnswer(order.reviewer)
        return
    if given is None and own is None:
        return
    said: Mapping[str, Any] = suggestion.as_json()
    save(
        conn,
        Save(
            user=user,
            item=order.item,
            answers={order.scheme: given},
            at=order.at,
            source=SOURCE,
            suggestions={order.scheme: said},
            elapsed_ms=order.elapsed_ms,
        ),
        rules,
    )


def _keep(conn: Connection, order: Order, given: Answer | None, suggestion: Suggestion) -> None:
    conn.execute(_SUPERSEDE, _key(order))
    row = {
        "run_id": order.run_id,
        "scheme": order.scheme,
        "item": order.item,
        "payload": suggestion.payload,
        "verdict": order.judgement.value,
        "user": order.reviewer,
        "at": to_text(order.at),
        "model_version": suggestion.model_version,
        "confidence": suggestion.confidence,
        "given": given,
        "superseded": False,
        "request_id": order.request_id,
    }
    conn.execute(insert(verdicts), row)


def _count(conn: Connection, order: Order, *, against_before: bool) -> None:
    less = (order.judgement.value in AGAINST) - against_before
    if less:
        conn.execute(_SHOWN.values(shown=live_runs.c.shown - less), {"of_scheme": order.scheme})


def _waiting(run_id: str, scheme: str) -> Any:
    """The pre-labels of a run that annotators may be shown, as far as SQL can tell."""
    trained = exists().where(trained_groups.c.scheme == scheme, trained_groups.c.grp == items.c.grp)
    return (
        select(_p.item, _p.payload, _p.confidence, runs.c.model_version)
        .join(live_runs, and_(live_runs.c.scheme == _p.scheme, live_runs.c.run_id == _p.run_id))
        .join(runs, runs.c.run_id == _p.run_id)
        .join(items, items.c.seq == _p.item)
        .where(_p.run_id == run_id, _p.scheme == scheme, _p.gate.is_(None), ~trained)
    )


def _unreviewed(run_id: str, scheme: str) -> Any:
    judged = exists().where(_v.run_id == run_id, _v.scheme == scheme, _v.item == _p.item, _CURRENT)
    answered = exists().where(answers_.c.scheme == scheme, answers_.c.item == _p.item)
    return _waiting(run_id, scheme).where(~judged, ~answered)


def _past(conn: Connection, run_id: str, scheme: str, after: int) -> Any:
    query = select(_p.confidence).where(_p.run_id == run_id, _p.scheme == scheme, _p.item == after)
    sure = conn.execute(query).scalar()
    if sure is None:
        return or_(_p.confidence.is_not(None), _p.item > after)
    return or_(_p.confidence > sure, and_(_p.confidence == sure, _p.item > after))


def _suggestion(run_id: str, row: Any) -> Suggestion:
    return Suggestion(run_id, row.model_version or run_id, row.payload, row.confidence)
