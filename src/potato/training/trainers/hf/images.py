"""Images as a base model's own processor makes them into numbers, read when their batch is."""

import os
from typing import Any, Dict, List, Sequence, Tuple

from potato.training.contract.bundle import BundleItem
from potato.training.trainers.base import Task, TrainerError

Example = Tuple[str, str]
"""An item's id and the path of its image."""


class Images:
    """The images of a bundle, and the processor of a base model."""

    def __init__(self, task: Task, processor: Any) -> None:
        self._task = task
        self._processor = processor

    def of_items(self, items: Sequence[BundleItem]) -> List[Example]:
        """Where each item's image is. Raises `TrainerError` for an item without one."""
        return [(item.id, self._path(item)) for item in items]

    def length(self, example: Example) -> int:
        """All images are of one size once they are read."""
        return 1

    def batch(self, examples: Sequence[Example]) -> Any:
        """The images' numbers on the run's device. Raises `TrainerError` for one that cannot be read."""
        self._task.check_stop()
        images = [_opened(*example) for example in examples]
        return {
            "pixel_values": self._processor(images=images, return_tensors="pt")["pixel_values"].to(self._task.device)
        }

    def save(self, folder: str) -> None:
        """Write the processor beside the model."""
        self._processor.save_pretrained(folder)

    def facts(self) -> Dict[str, Any]:
        """Nothing beyond what the processor's own file says."""
        return {}

    def _path(self, item: BundleItem) -> str:
        if "image" not in item.media:
            raise TrainerError("item '%s' has no image" % item.id, "no_image")
        return os.path.join(self._task.media_dir, item.media["image"])


def _opened(item: str, path: str) -> Any:
    from PIL import Image

    try:
        with Image.open(path) as image:
            return image.convert("RGB")
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        name = os.path.basename(path)
        raise TrainerError(
            "the image of item '%s' cannot be read (%s): %s" % (item, name, error), "bad_image"
        ) from error
