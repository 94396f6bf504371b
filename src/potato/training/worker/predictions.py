"""Writing `predictions.jsonl`: streamed beside, and there only when it is whole."""

import hashlib
import os
from typing import Any

from potato.training.contract.files import sync_folder
from potato.training.contract.predictions import Prediction


class PredictionsFile:
    """A context: leaving it well puts the file at `path`, leaving it by an exception leaves nothing.

    `count`, `size` (bytes) and `sha256` speak of the file as written.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._beside = path + ".part"
        self._file = open(self._beside, "wb")  # noqa: SIM115 - closed by the context
        self._digest = hashlib.sha256()
        self.count = 0
        self.size = 0

    def add(self, prediction: Prediction) -> None:
        """Append one prediction."""
        line = prediction.line()
        self._file.write(line)
        self._digest.update(line)
        self.count += 1
        self.size += len(line)

    @property
    def sha256(self) -> str:
        """The SHA-256 of what was written, as hex digits."""
        return self._digest.hexdigest()

    def __enter__(self) -> "PredictionsFile":
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        try:
            if kind is None:
                self._file.flush()
                os.fsync(self._file.fileno())
                os.replace(self._beside, self._path)
                sync_folder(os.path.dirname(self._path))
        finally:
            self._file.close()
            if os.path.exists(self._beside):
                os.unlink(self._beside)
