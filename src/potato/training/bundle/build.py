"""Writes a bundle: the same labels give the same bytes and the same digest."""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from potato.project import Project
from potato.schemes import Answer
from potato.store import Connection, Database
from potato.store.training import corpus
from potato.store.training.corpus import CorpusItem
from potato.training.bundle.beside import written
from potato.training.bundle.enough import require_enough
from potato.training.bundle.gathering import Gathered, gather
from potato.training.bundle.judged import Beside, require_judged
from potato.training.bundle.media import Images, reads_images
from potato.training.bundle.warnings import warnings_of
from potato.training.contract.bundle import FORMAT, SPLITS
from potato.training.contract.files import sha256_file, write_json
from potato.training.splits import split_of
from potato.training.trainers.base import TrainerInfo


@dataclass
class Built:
    """What became of a bundle. `trained` maps each scheme to the groups whose labels are in its training split;
    `answers` are the targets by scheme and split; `anchored` counts the held-out ones that were left out, as they rest
    on a model's suggestion; `labels_upto` is the last line of the answers' history that
    it reflects."""

    digest: str = ""
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(SPLITS, 0))
    warnings: list[str] = field(default_factory=list)
    trained: dict[str, set[str]] = field(default_factory=dict)
    answers: dict[str, dict[str, list[Answer]]] = field(default_factory=dict)
    skipped: int = 0
    anchored: Counter[str] = field(default_factory=Counter)
    labels_upto: int = 0
    images: Images | None = None


def build(database: Database, project: Project, info: TrainerInfo, schemas: Sequence[str], folder: Path) -> Built:
    """Write the bundle of these schemes' labels, as they are at one instant, to `folder`, replacing what is there.

    Raises `NotEnoughLabels`; then there is no bundle.
    """
    with written(folder, database) as beside:
        return _build(database, project, info, schemas, beside)


def _build(database: Database, project: Project, info: TrainerInfo, schemas: Sequence[str], folder: Path) -> Built:
    with database.read() as connection:
        labels_upto = corpus.newest_change(connection)
        gathered = [gather(connection, project, project.schemes[name]) for name in schemas]
        images = Images(project, folder) if reads_images(info, project) else None
        live = Beside(connection, project.schemes[schemas[0]]) if info.calibrates_live else None
        built = _write_items(connection, project, gathered, folder, images, live)
    built.labels_upto = labels_upto
    if live is not None:
        require_judged(info, live.scheme.name, live.judged)
    for entry in gathered if live is None else ():
        require_enough(info, entry.scheme, built.answers[entry.scheme.name]["train"])
    built.warnings = warnings_of(project, gathered, built.answers, built.counts, built.anchored)
    if images is not None and images.left_out:
        built.warnings.append(f"{images.left_out} items were left out: their image is no file under task_dir")
    _write_manifest(project, gathered, built, folder)
    return built


def _write_items(
    connection: Connection,
    project: Project,
    gathered: Sequence[Gathered],
    folder: Path,
    images: Images | None,
    live: Beside | None,
) -> Built:
    built = Built(images=images)
    for entry in gathered:
        built.trained[entry.scheme.name] = set()
        built.answers[entry.scheme.name] = {split: [] for split in SPLITS}
    skipped = corpus.skipped_items(connection)
    settings = project.config.model_training
    shown = {field for entry in gathered for field in entry.scheme.item_fields()}
    text_key = project.config.item_properties.text_key
    with ExitStack() as stack:
        files = {split: stack.enter_context((folder / f"{split}.jsonl").open("wb")) for split in SPLITS}
        for item in corpus.all_items(connection):
            if text_key in shown:
                item.fields[text_key] = item.text  # a question that shows it finds it among the fields
            split = split_of(item.group, settings.split_seed, settings.splits)
            targets = {entry.scheme.name: entry.targets[item.seq] for entry in gathered if item.seq in entry.targets}
            if split != "train":
                _leave_out_anchored(built, item, targets, gathered)
            answered = targets or any(item.seq in entry.votes for entry in gathered)
            if item.seq in skipped and not answered:
                built.skipped += 1
                continue
            to_predict = settings.writeback.include_unlabeled
            media = _media(item, images) if targets or to_predict else {}
            if media is None:
                continue
            said = live.of(item.seq) if live is not None else None
            if live is not None:
                if said is None and not (targets and split == "train"):
                    continue  # nothing that could be calibrated; what was trained on still makes the baseline
                live.note(split, bool(targets), said)
            if targets:
                _put(files, built, split, {**_labelled(item, media, targets, gathered), **(said or {})})
                _note(built, item, split, targets)
            if live is None:
                predicts = to_predict and _is_to_predict(item, targets, split, gathered)
            else:  # what has a suggestion keeps one, also where somebody has labelled the item meanwhile
                predicts = said is not None and (split == "train" or not targets)
            if predicts:
                _put(files, built, "predict", {**_plain(item, media), **(said or {})})
        for file in files.values():
            file.flush()
            os.fsync(file.fileno())
    return built


def _leave_out_anchored(
    built: Built, item: CorpusItem, targets: dict[str, Answer], gathered: Sequence[Gathered]
) -> None:
    for entry in gathered:
        if item.seq in entry.anchored and targets.pop(entry.scheme.name, None) is not None:
            built.anchored[entry.scheme.name] += 1


def _is_to_predict(item: CorpusItem, targets: dict[str, Answer], split: str, gathered: Sequence[Gathered]) -> bool:
    """Items without a label; and training items that lack one for some scheme, as the worker predicts val and test
    anyway."""
    if split == "train":
        return len(targets) < len(gathered)
    return not any(item.seq in entry.targets for entry in gathered)


def _put(files: Mapping[str, BinaryIO], built: Built, split: str, record: dict[str, Any]) -> None:
    line = json.dumps(record, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    files[split].write(line.encode("utf-8", "surrogatepass") + b"\n")
    built.counts[split] += 1


def _note(built: Built, item: CorpusItem, split: str, targets: dict[str, Answer]) -> None:
    for name, answer in targets.items():
        built.answers[name][split].append(answer)
        if split == "train":
            built.trained[name].add(item.group)


def _media(item: CorpusItem, images: Images | None) -> dict[str, str] | None:
    """The item's files in the bundle; None where its image is wanted and not there."""
    if images is None:
        return {}
    name = images.put(item.image)
    return None if name is None else {"image": name}


def _plain(item: CorpusItem, media: dict[str, str]) -> dict[str, Any]:
    return {"id": item.id, "text": item.text, "media": media, "fields": item.fields}


def _labelled(
    item: CorpusItem, media: dict[str, str], targets: dict[str, Answer], gathered: Sequence[Gathered]
) -> dict[str, Any]:
    votes = {entry.scheme.name: entry.votes[item.seq] for entry in gathered if item.seq in entry.votes}
    annotators = {name: sum(count for _, count in pairs) for name, pairs in votes.items()}
    return {**_plain(item, media), "targets": targets, "votes": votes, "annotators": annotators}


def _write_manifest(project: Project, gathered: Sequence[Gathered], built: Built, folder: Path) -> None:
    manifest: dict[str, Any] = {
        "format": FORMAT,
        "project": project.config.annotation_task_name,
        "modality": "text" if built.images is None else "image",
        "schemas": {entry.scheme.name: _schema(entry, built) for entry in gathered},
        "splits": built.counts,
        "counts": {entry.scheme.name: _counts(entry, built) for entry in gathered} | {"skipped_items": built.skipped},
        "warnings": built.warnings,
    }
    media = built.images.files() if built.images is not None else []
    files = [*(f"{split}.jsonl" for split in SPLITS), *media]
    built.digest = manifest["digest"] = digest_of(folder, files, manifest)
    write_json(str(folder / "manifest.json"), manifest)


def digest_of(folder: Path, names: Iterable[str], manifest: dict[str, Any]) -> str:
    """SHA-256 over path, length and SHA-256 of the bundle's files, and over its manifest without the digest."""
    digest = hashlib.sha256()
    for name in sorted(names):
        path = folder / name
        digest.update(f"{name}\0{path.stat().st_size}\0{sha256_file(str(path))}\n".encode())
    rest = {key: value for key, value in manifest.items() if key != "digest"}
    digest.update(json.dumps(rest, ensure_ascii=True, sort_keys=True).encode())
    return digest.hexdigest()


def _schema(entry: Gathered, built: Built) -> dict[str, Any]:
    fields = entry.scheme.item_fields()
    return {
        **({"fields": list(fields)} if fields else {}),
        "kind": entry.scheme.kind.value,
        "description": entry.scheme.description,
        "labels": entry.scheme.label_names(),
        "classes": entry.classes(built.answers[entry.scheme.name]["train"]),
    }


def _counts(entry: Gathered, built: Built) -> dict[str, Any]:
    by_split = {split: answers for split, answers in built.answers[entry.scheme.name].items() if split != "predict"}
    return {
        "items": {split: len(answers) for split, answers in by_split.items()},
        "labels": {split: _by_label(entry, answers) for split, answers in by_split.items()},
        "ties": entry.ties,
        "orphans": entry.orphans,
        "adjudicated": entry.adjudicated,
    }


def _by_label(entry: Gathered, answers: Sequence[Answer]) -> dict[str, int]:
    """How often each label stands in the answers; nothing for answers that are not made of labels."""
    if not entry.scheme.label_names():
        return {}
    return dict(Counter(name for answer in answers for name in entry.scheme.names(answer)))
