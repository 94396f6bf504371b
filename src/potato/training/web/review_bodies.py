"""What the API of reviews takes and answers."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints

from potato.training.web.bodies import Body, Name, Request

Verdict = Literal["accept", "correct", "reject"]


class NewVerdict(Request):
    """What a reviewer says of one pre-label."""

    run_id: Name
    """The run whose pre-label was looked at."""
    scheme: Name
    item: str = Field(min_length=1, max_length=1000)
    """The item's id."""
    verdict: Verdict
    answer: Any = None
    """The right answer, of a correction."""
    reviewer: Annotated[str, StringConstraints(min_length=1, max_length=200)] | None = None
    """Whose answer an accepted or corrected pre-label becomes; the admin's own name when left out."""
    request_id: Annotated[str, StringConstraints(min_length=8, max_length=64, pattern=r"^[\w-]+$")] | None = None
    """Names the request: the same one again changes nothing."""
    elapsed_ms: Annotated[int, Field(ge=0, le=1 << 40)] | None = None
    """Time that the pre-label was in view."""


class KeptVerdict(Body):
    """The verdict as it stands."""

    run_id: str
    scheme: str
    item: str
    verdict: Verdict
    answer: Any = None
    """What the reviewer answers by it; null for a rejection."""
    reviewer: str
    at: str
    repeated: bool
    """Whether it stood before."""


class WaitingBody(Body):
    """A pre-label that waits for a verdict."""

    item: str
    text: str
    answer: Any
    """What the model suggests."""
    confidence: float | None = None


class Queue(Body):
    """Pre-labels of the live run that wait for a verdict, the least confident first."""

    scheme: str
    run_id: str | None = None
    """The live run; null where the scheme has none, and then nothing waits."""
    model_version: str | None = None
    waiting: list[WaitingBody]
    count: int
    """How many wait in all, counted up to 1,001."""


class Precision(Body):
    """The verdicts on a run's pre-labels of one scheme."""

    reviewed: int
    accepted: int
    corrected: int
    rejected: int
    precision: float | None = None
    """Accepted over reviewed."""
    interval: tuple[float, float] | None = None
    """Its 95 % interval (Wilson)."""


class Pull(Body):
    """How annotators answered where they saw a run's suggestions, and where these were hidden."""

    shown: int
    accepted: int
    hidden: int
    agreed: int
    """Of the answers where it was hidden, those that say what the model says."""
    shown_ms: float | None = None
    """The median time to an answer where the suggestion was shown."""
    hidden_ms: float | None = None
    pull: float | None = None
    """The share accepted less the share that agreed."""
    interval: tuple[float, float] | None = None
    """Its 95 % interval (Newcombe)."""
    annotators: list[Annotator]
    """The same for each annotator."""


class Annotator(Body):
    """One annotator's answers beside a run's suggestions."""

    annotator: str
    shown: int
    accepted: int
    hidden: int
    agreed: int


class InUse(Body):
    """A run's pre-labels in use, by scheme."""

    run_id: str
    reviews: dict[str, Precision]
    annotators: dict[str, Pull]


Pull.model_rebuild()
