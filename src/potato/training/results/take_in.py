"""Taking in a predictions file: whole, or not at all."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from potato.errors import PotatoError
from potato.project import Project
from potato.schemes import InvalidAnswer
from potato.store import Connection, Database, items
from potato.store.databases.pieces import PIECE, in_pieces
from potato.store.training import predictions
from potato.store.training.predictions import Target
from potato.training.contract.files import sha256_file
from potato.training.contract.predictions import Prediction, PredictionsError, read_predictions
from potato.training.results.gates import Gates


class PredictionsRefused(PotatoError):
    """The predictions file is not what the run's worker was asked for. Nothing of it was taken in."""

    code = "predictions_refused"
    status = 400

    def __init__(self, reason: str) -> None:
        super().__init__(f"The predictions were not taken in: {reason}")


@dataclass
class Taken:
    """What was taken in: the gates with their counts by scheme, and the predictions for `wanted` items."""

    gates: dict[str, Gates]
    held_out: dict[str, dict[str, Prediction]] = field(default_factory=dict)


class TakeIn:
    """Takes in one run's predictions, into rows that nobody sees until the run is made live."""

    def __init__(self, database: Database, project: Project, run_id: str, schemas: Sequence[str]) -> None:
        self._database = database
        self._project = project
        self._run_id = run_id
        settings = project.config.model_training
        gates = {name: Gates(settings, name, project.schemes) for name in schemas}
        self._taken = Taken(gates, {name: {} for name in schemas})

    def take(self, path: Path, result: dict[str, Any], held_out: set[str]) -> Taken:
        """Store the file's predictions and keep those for the items `held_out`. Raises `PredictionsRefused`, and then
        nothing of this run is stored."""
        check_file(path, result)
        remove_all(self._database, self._run_id)
        try:
            self._store(path, held_out)
            self._check_count(result)
        except (PotatoError, PredictionsError) as error:
            remove_all(self._database, self._run_id)
            raise error if isinstance(error, PotatoError) else PredictionsRefused(str(error)) from error
        return self._taken

    def _store(self, path: Path, held_out: set[str]) -> None:
        with path.open("rb") as file:
            for piece in in_pieces(read_predictions(file)):
                for prediction in piece:
                    self._check(prediction)
                    if prediction.instance_id in held_out:
                        self._taken.held_out[prediction.schema_name][prediction.instance_id] = prediction
                with self._database.write() as connection:
                    self._store_piece(connection, piece)

    def _store_piece(self, connection: Connection, piece: Sequence[Prediction]) -> None:
        for name, gates in self._taken.gates.items():
            mine = [prediction for prediction in piece if prediction.schema_name == name]
            targets = predictions.targets(connection, name, [prediction.instance_id for prediction in mine])
            found = [(prediction, _target(prediction, targets)) for prediction in mine]
            self._check_quotes(connection, name, found)
            predictions.add(connection, self._run_id, gates.judge(connection, found))

    def _check(self, prediction: Prediction) -> None:
        name = prediction.schema_name
        if name not in self._taken.gates:
            raise PredictionsRefused(f"they name the scheme {name!r:.100}, which the run did not train")
        scheme = self._project.schemes[name]
        try:
            scheme.check_prediction(prediction.payload)
        except InvalidAnswer as error:
            raise _unfit(prediction, error) from error

    def _check_quotes(self, connection: Connection, name: str, found: Sequence[tuple[Prediction, Target]]) -> None:
        """Refuse answers that quote an item's text otherwise than it reads."""
        scheme = self._project.schemes[name]
        texts = items.texts(connection, [target.seq for _, target in found]) if scheme.quotes_text else {}
        for prediction, target in found if texts else ():
            try:
                scheme.check(scheme.prediction_answer(prediction.payload), texts[target.seq])
            except InvalidAnswer as error:
                raise _unfit(prediction, error) from error

    def _check_count(self, result: dict[str, Any]) -> None:
        read = sum(gates.tally.read for gates in self._taken.gates.values())
        if result.get("n_predictions") not in (None, read):
            raise PredictionsRefused(f"there are {read}, and the worker said {result['n_predictions']!r:.40}")


def check_file(path: Path, result: dict[str, Any]) -> None:
    """Raise `PredictionsRefused` unless the file is there and is the one that the worker's result names."""
    if not path.is_file():
        raise PredictionsRefused("there is no predictions.jsonl")
    size, digest = result.get("predictions_bytes"), result.get("predictions_sha256")
    if size is not None and path.stat().st_size != size:
        raise PredictionsRefused(f"the file has {path.stat().st_size} bytes, and the worker wrote {size!r:.40}")
    if digest is not None and sha256_file(str(path)) != digest:
        raise PredictionsRefused("the file is not the one that the worker wrote (its SHA-256 differs)")


def remove_all(database: Database, run_id: str) -> None:
    """Delete every prediction of a run, in short transactions."""
    for _ in in_pieces(_removals(database, run_id), size=1):
        pass


def _removals(database: Database, run_id: str) -> Iterable[int]:
    while True:
        with database.write() as connection:
            removed = predictions.remove_some(connection, run_id, PIECE)
        if not removed:
            return
        yield removed


def _unfit(prediction: Prediction, error: InvalidAnswer) -> PredictionsRefused:
    return PredictionsRefused(f"for item {prediction.instance_id!r:.100}: {error.message}")


def _target(prediction: Prediction, targets: dict[str, Target]) -> Target:
    if prediction.instance_id not in targets:
        raise PredictionsRefused(f"they name the item {prediction.instance_id!r:.100}, which the project does not have")
    return targets[prediction.instance_id]
