"""A share of a run's bundle, for a point of its learning curve: fewer training items, the same held-out ones.

Shares are nested: the items of a smaller share are all in each larger one. Which they are is a hash of the item's id
under the project's seed, so that every curve of a project adds items in the same order.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from potato.errors import PotatoError
from potato.project import Project
from potato.store import Database
from potato.training.bundle.beside import written
from potato.training.bundle.build import digest_of
from potato.training.bundle.enough import require_enough
from potato.training.contract.bundle import SPLITS, Bundle, BundleError, BundleItem
from potato.training.contract.files import write_json
from potato.training.trainers.base import TrainerInfo


class WholeIsGone(PotatoError):
    """The bundle that a share is to be taken of cannot be read any more."""

    code = "bundle_unreadable"
    status = 409


def take_share(
    project: Project, database: Database, info: TrainerInfo, whole: Path, folder: Path, share: float
) -> dict[str, Any]:
    """Write the bundle of `share` of `whole`'s training items to `folder`, replacing what is there.

    Answers `digest`, `counts`, `warnings` as `training.build` does. Nothing is predicted beyond the held-out items.
    Raises `WholeIsGone` and `NotEnoughLabels`.
    """
    try:
        bundle = Bundle(str(whole))
        chosen = chosen_ids(bundle.items("train"), share, project.config.model_training.split_seed)
        train = [item for item in bundle.items("train") if item.id in chosen]
    except BundleError as error:
        raise WholeIsGone(str(error), hint="start the run again, and ask for the new run's learning curve") from error
    for name in bundle.schemas:
        answers = [item.targets[name] for item in train if name in item.targets]
        require_enough(info, project.schemes[name], answers)
    with written(folder, database) as beside:
        _copy(whole, beside, chosen)
        digest, counts = _write_manifest(bundle, beside, train)
    return {"digest": digest, "counts": counts, "warnings": []}


def chosen_ids(items: Iterable[BundleItem], share: float, seed: int) -> set[str]:
    """The ids of `share` of the items, at least one; a larger share has all that a smaller one has, and more."""
    ids = sorted((item.id for item in items), key=lambda item: (_place(item, seed), item))
    return set(ids[: max(1, math.ceil(share * len(ids)))])


def _place(item: str, seed: int) -> bytes:
    return hashlib.sha256(f"curve:{seed}:{item}".encode("utf-8", "surrogatepass")).digest()


def _copy(whole: Path, beside: Path, chosen: set[str]) -> None:
    for split in ("val", "test"):
        shutil.copyfile(whole / f"{split}.jsonl", beside / f"{split}.jsonl")
    (beside / "predict.jsonl").write_bytes(b"")
    with (whole / "train.jsonl").open("rb") as source, (beside / "train.jsonl").open("wb") as target:
        target.writelines(line for line in source if str(json.loads(line)["id"]) in chosen)
        target.flush()
        os.fsync(target.fileno())
    if (whole / "media").is_dir():
        shutil.copytree(whole / "media", beside / "media", copy_function=_link)


def _link(source: str, target: str) -> None:
    """The same file under a second name, where the file system can; a bundle is only read."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)


def _write_manifest(bundle: Bundle, beside: Path, train: list[BundleItem]) -> tuple[str, dict[str, int]]:
    counts = {**bundle.splits, "train": len(train), "predict": 0}
    manifest = {**bundle.manifest, "splits": counts, "warnings": []}
    media = sorted(path.relative_to(beside).as_posix() for path in (beside / "media").rglob("*") if path.is_file())
    manifest["digest"] = digest_of(beside, [*(f"{split}.jsonl" for split in SPLITS), *media], manifest)
    write_json(str(beside / "manifest.json"), manifest)
    return str(manifest["digest"]), counts
