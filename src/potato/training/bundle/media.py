"""The items' images in a bundle: files of the project, copied under a name that says what is in them."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from potato.project import Project
from potato.training.contract.files import sha256_file
from potato.training.trainers.base import TrainerInfo


def modalities(project: Project) -> set[str]:
    """What the project's items hold that a trainer may learn from."""
    return {"text"} if project.config.item_properties.image_key is None else {"text", "image"}


def reads_project(info: TrainerInfo, project: Project) -> bool:
    """Whether the trainer learns from something that the project's items hold."""
    return not modalities(project).isdisjoint(info.modalities)


def reads_images(info: TrainerInfo, project: Project) -> bool:
    """Whether a bundle for the trainer carries the items' images. A trainer of texts and images gets the texts alone
    where the project has no images."""
    return "image" in modalities(project) and "image" in info.modalities and not info.calibrates_live


class Images:
    """The folder `media/` of a bundle. `left_out` counts the items whose image is no file under `task_dir`."""

    def __init__(self, project: Project, bundle: Path) -> None:
        self._root = project.task_dir.resolve()
        self._folder = bundle / "media"
        self._folder.mkdir()
        self._names: dict[str, str] = {}
        self.left_out = 0

    def put(self, image: str | None) -> str | None:
        """Copy an item's image, and return its name in `media/`; None, and counted, where there is no such file."""
        if image not in self._names:
            name = self._copy(image) if image else None
            if image is None or name is None:
                self.left_out += 1
                return None
            self._names[image] = name
        return self._names[image]

    def files(self) -> list[str]:
        """The paths of what was copied, from the bundle."""
        return sorted(f"media/{name}" for name in set(self._names.values()))

    def _copy(self, image: str) -> str | None:
        source = (self._root / image).resolve()
        if not source.is_relative_to(self._root) or not source.is_file():
            return None
        name = sha256_file(str(source)) + re.sub(r"[^.a-z0-9]", "", source.suffix.lower())[:10]
        shutil.copyfile(source, self._folder / name)
        return name
