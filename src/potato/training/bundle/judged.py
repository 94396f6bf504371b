"""What a bundle for a calibration holds beside the labels: what the live model said of each item, and the verdict."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from potato.errors import PotatoError
from potato.project import Project
from potato.schemes import Scheme
from potato.store import Connection
from potato.store.training import corpus, predictions
from potato.store.training.model_answers import said_by, verdicts_on
from potato.store.training.predictions import Stored, answer_key
from potato.training.bundle.gathering import gather
from potato.training.splits import split_of
from potato.training.trainers.base import TrainerInfo


class NothingToCalibrate(PotatoError):
    """No model's answers to that scheme are shown, or they come without a confidence."""

    code = "nothing_to_calibrate"
    status = 400

    def __init__(self, scheme: str, reason: str) -> None:
        super().__init__(
            f"There is nothing to calibrate for '{scheme}': {reason}",
            hint="put the scheme under writeback.schemas, run a trainer, and calibrate the model whose suggestions are"
            " shown then",
        )


class NotEnoughJudged(PotatoError):
    """Too few of the live model's answers are known to be right or wrong."""

    code = "not_enough_judged"
    status = 400

    def __init__(self, scheme: str, have: int, need: int) -> None:
        super().__init__(
            f"Too few answers of the live model for '{scheme}' are known to be right or wrong: {have} of {need} needed",
            hint="review suggestions, or label more items: those of val count",
        )


class OneAtATime(PotatoError):
    """A calibration is of one scheme's live model."""

    code = "one_scheme"
    status = 400

    def __init__(self, trainer: str) -> None:
        super().__init__(f"trainer '{trainer}' takes one scheme at a time", hint="start a run for each")


class Beside:
    """What the live model said, item by item; asked in the order of the items.

    It is told in the scheme as it is now: labels by their new names, and nothing of those that are gone.
    """

    def __init__(self, connection: Connection, scheme: Scheme) -> None:
        self.scheme = scheme
        self.run_id = live_run(connection, scheme.name)
        self.judged = 0
        self._said = said_by(connection, self.run_id, scheme.name)
        self._verdicts = verdicts_on(connection, scheme)
        self._next: Stored | None = next(self._said, None)

    def of(self, item: int) -> dict[str, Any] | None:
        """The bundle's record of what it said; None where it said nothing, was not sure of
        anything, or said what the scheme does not take any more."""
        while self._next is not None and self._next.item < item:
            self._next = next(self._said, None)
        said = self._next
        if said is None or said.item != item or said.confidence is None:
            return None
        payload = self.scheme.as_now(said.payload)
        if payload is None:
            return None
        record = {"payload": payload, "confidence": said.confidence, "probabilities": self._shares(said)}
        verdict = self._verdicts.get((item, answer_key(self.scheme, said.payload)))
        return {"said": {self.scheme.name: {**record, **({"verdict": verdict} if verdict else {})}}}

    def note(self, split: str, labelled: bool, record: dict[str, Any] | None) -> None:
        """An item goes into the bundle; count it where it tells whether the model was right."""
        if record is not None:
            in_val = split == "val" and labelled
            self.judged += in_val or (split == "train" and "verdict" in record["said"][self.scheme.name])

    def _shares(self, said: Stored) -> dict[str, float] | None:
        """The probabilities by the labels' new names; a label that is gone keeps its name, and so its share."""
        if said.probabilities is None:
            return None
        shares: dict[str, float] = {}
        for label, share in said.probabilities.items():
            name = self.scheme.renamed(label)
            shares[name] = shares.get(name, 0.0) + share  # two labels may have become one
        return shares


def live_run(connection: Connection, scheme: str) -> str:
    """The run whose answers are shown. Raises `NothingToCalibrate`."""
    run_id = predictions.live(connection).get(scheme)
    if run_id is None:
        raise NothingToCalibrate(scheme, "no model's suggestions are shown")
    return run_id


def require_judged(info: TrainerInfo, scheme: str, count: int) -> None:
    """Raise `NotEnoughJudged` where that is too little."""
    if count < info.min_train_items:
        raise NotEnoughJudged(scheme, count, info.min_train_items)


def look(connection: Connection, project: Project, info: TrainerInfo, schemas: Sequence[str]) -> None:
    """Before a run is queued: raise what its bundle would raise, as far as a quick look can tell."""
    if len(schemas) != 1:
        raise OneAtATime(info.name)
    scheme = project.schemes[schemas[0]]
    run_id = live_run(connection, scheme.name)
    judgements = len(verdicts_on(connection, scheme))
    if judgements < info.min_train_items:
        held = sum(1 for _ in _held_out(connection, project, scheme, run_id))
        require_judged(info, scheme.name, judgements + held)


def _held_out(connection: Connection, project: Project, scheme: Scheme, run_id: str) -> Iterator[int]:
    """The labelled items of val of which the run said something that the scheme takes still."""
    settings = project.config.model_training
    targets = gather(connection, project, scheme).targets
    groups = corpus.groups(connection, list(targets))
    held = {item for item in targets if split_of(groups[item], settings.split_seed, settings.splits) == "val"}
    for said in said_by(connection, run_id, scheme.name):
        if said.item in held and scheme.as_now(said.payload) is not None:
            yield said.item
