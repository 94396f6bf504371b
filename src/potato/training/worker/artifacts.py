"""The model folders of a run: saved beside, and at their place only when they are whole."""

import os
import shutil
from typing import Callable, Iterator, Tuple

from potato.training.contract.files import slug, sync_folder
from potato.training.trainers.base import Model


class Artifacts:
    """The folder `artifacts/`, with a folder for each scheme's model. `report(path, bytes)` is told of each file."""

    def __init__(self, folder: str, report: Callable[[str, int], None]) -> None:
        self._folder = folder
        self._report = report
        os.makedirs(folder, exist_ok=True)

    def save(self, scheme: str, number: int, model: Model) -> str:
        """Save the model of the `number`-th scheme; return its folder. What fails leaves nothing behind."""
        name = slug(scheme, number)
        place, beside = os.path.join(self._folder, name), os.path.join(self._folder, ".%s.part" % name)
        shutil.rmtree(beside, ignore_errors=True)
        os.makedirs(beside)
        try:
            model.save(beside)
            for path, _ in _files(beside):
                _flush(os.path.join(beside, path))
            os.rename(beside, place)
        except BaseException:
            shutil.rmtree(beside, ignore_errors=True)
            raise
        sync_folder(self._folder)
        for path, size in _files(place):
            self._report("%s/%s" % (name, path), size)
        return place


def _files(folder: str) -> Iterator[Tuple[str, int]]:
    """Every file under `folder`: its path from there with `/`, and its bytes, in a stable order."""
    for parent, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            path = os.path.join(parent, name)
            yield os.path.relpath(path, folder).replace(os.sep, "/"), os.path.getsize(path)


def _flush(path: str) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
