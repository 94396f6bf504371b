"""A backup brings everything back, and nothing that is broken."""

from __future__ import annotations

import gzip
import io
import json
import tarfile
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from lab import Lab, finished, use_fakes
from potato.backup import restore, save
from potato.backup.layout import MANIFEST, BadBackup
from potato.backup.restoring import NotEmpty
from potato.items.exporting import export_labels
from potato.project import Project
from potato.project.loading import load_or_raise
from potato.store import Database
from potato.store.databases.snapshot import NoStore
from potato.store.databases.transfer import StoreFilled
from potato.training.runs.request import RunRequest


def labels(project: Project) -> str:
    """All labels of the project, as it exports them."""
    database, out = Database(project.database_url), io.BytesIO()
    try:
        export_labels(project, database, out)
    finally:
        database.close()
    return out.getvalue().decode()


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    """A project with labels."""
    lab = Lab(tmp_path / "lab", guidelines="how.md")
    (lab.folder / "how.md").write_text("Read it twice.")
    lab.label_alternately()
    return lab


def test_it_brings_back_labels_runs_and_models(lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use_fakes(monkeypatch)
    with lab.supervisor() as supervisor:
        run = finished(supervisor, supervisor.submit(RunRequest("fake", ["sentiment"])).run_id)
        written = {
            str(path.relative_to(lab.project.runs_dir)) for path in lab.project.runs_dir.rglob("*")
        }  # some more may come, once the run has ended
        saved = save(lab.project, tmp_path / "b.tar.gz")  # while it is served
    restored = restore(tmp_path / "b.tar.gz", tmp_path / "new")
    project = load_or_raise(restored.file)
    assert (restored.items, restored.annotations, restored.runs) == (60, 60, 1)
    assert (saved.items, saved.annotations, saved.runs, saved.outside) == (60, 60, 1, [])
    assert labels(project) == labels(lab.project)
    assert {path.name for path in (tmp_path / "new").iterdir()} >= {"config.yaml", "items.jsonl", "how.md"}
    kept, copied = files(lab.project.runs_dir), files(project.runs_dir)
    both = written & kept.keys()
    assert f"{run.run_id}/artifacts/1-sentiment/model.txt" in both
    assert {name: copied[name] for name in both} == {name: kept[name] for name in both}


def files(folder: Path) -> dict[str, bytes]:
    """What the files below the folder hold."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_it_is_of_one_instant_while_labels_are_saved(lab: Lab, tmp_path: Path) -> None:
    """Each annotator's sixty labels are one transaction: a backup has all of them or none."""
    stop = threading.Event()

    def label() -> None:
        number = 0
        while not stop.is_set():
            lab.label_alternately(user=f"user {number}")
            number += 1

    busy = threading.Thread(target=label)
    busy.start()
    try:
        for number in range(5):
            save(lab.project, tmp_path / f"{number}.tar.gz")
    finally:
        stop.set()
        busy.join()
    for number in range(5):
        assert restore(tmp_path / f"{number}.tar.gz", tmp_path / f"new{number}").annotations % 60 == 0


def test_a_folder_with_something_in_it_is_left_alone(lab: Lab, tmp_path: Path) -> None:
    save(lab.project, tmp_path / "b.tar.gz")
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "mine").write_text("x")
    with pytest.raises(NotEmpty):
        restore(tmp_path / "b.tar.gz", tmp_path / "new")
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["mine"]


def test_an_output_folder_of_its_own_is_never_overwritten(lab: Lab, tmp_path: Path) -> None:
    lab.write({**lab.config, "output_annotation_dir": str(lab.project.output_dir)})
    save(lab.project, tmp_path / "b.tar.gz")
    before = labels(lab.project)
    with pytest.raises((NotEmpty, StoreFilled), match="already"):
        restore(tmp_path / "b.tar.gz", tmp_path / "new")
    assert labels(lab.project) == before
    assert not (tmp_path / "new").exists()


def _cut(data: bytes) -> bytes:
    return data[: len(data) // 2]


def _flipped(data: bytes) -> bytes:
    """One bit of one file is another, and the archive is whole."""
    return _rewritten(
        data, lambda name, content: content[:-1] + bytes([content[-1] ^ 1]) if "items" in name else content
    )


def _older(data: bytes) -> bytes:
    def change(name: str, content: bytes) -> bytes:
        return json.dumps({**json.loads(content), "format": 0}).encode() if name == MANIFEST else content

    return _rewritten(data, change)


def _without_manifest(data: bytes) -> bytes:
    return _rewritten(data, lambda name, content: None if name == MANIFEST else content)


def _climbing(data: bytes) -> bytes:
    return _rewritten(data, lambda name, content: content, rename={"files/items.jsonl": "files/../../climbed"})


def _rewritten(
    data: bytes, change: Callable[[str, bytes], bytes | None], rename: dict[str, str] | None = None
) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=io.BytesIO(data)) as old, tarfile.open(fileobj=out, mode="w:gz") as new:
        for info in old:
            file = old.extractfile(info)
            assert file is not None
            content = change(info.name, file.read())
            if content is not None:
                made = tarfile.TarInfo((rename or {}).get(info.name, info.name))
                made.size = len(content)
                new.addfile(made, io.BytesIO(content))
    return out.getvalue()


def _linked(data: bytes) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as new:
        link = tarfile.TarInfo("files/x")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        new.addfile(link)
    return out.getvalue()


@pytest.mark.parametrize(
    "broken",
    [_cut, _flipped, _older, _without_manifest, _climbing, _linked, lambda data: b"", lambda data: gzip.compress(b"x")],
)
def test_a_broken_backup_is_refused_and_leaves_nothing(
    lab: Lab, tmp_path: Path, broken: Callable[[bytes], bytes]
) -> None:
    save(lab.project, tmp_path / "b.tar.gz")
    (tmp_path / "broken.tar.gz").write_bytes(broken((tmp_path / "b.tar.gz").read_bytes()))
    there = {path.name for path in tmp_path.iterdir()}
    with pytest.raises(BadBackup):
        restore(tmp_path / "broken.tar.gz", tmp_path / "new")
    assert {path.name for path in tmp_path.iterdir()} == there


def test_no_file_at_all_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(BadBackup, match="No such file"):
        restore(tmp_path / "nowhere.tar.gz", tmp_path / "new")


def test_files_that_lie_elsewhere_are_named(lab: Lab, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere.jsonl"
    elsewhere.write_text('{"id": "x", "text": "y"}\n')
    lab.write({**lab.config, "data_files": ["items.jsonl", str(elsewhere)]})
    assert save(lab.project, tmp_path / "b.tar.gz").outside == [elsewhere]


def test_a_project_that_was_never_started_has_nothing_to_back_up(lab: Lab, tmp_path: Path) -> None:
    lab.write({**lab.config, "output_annotation_dir": "another"})
    with pytest.raises(NoStore, match="there is no store in"):
        save(lab.project, tmp_path / "b.tar.gz")
    assert not list(tmp_path.glob("*b.tar.gz*"))


def test_only_the_owner_can_read_the_admin_key_in_a_backup(lab: Lab, tmp_path: Path) -> None:
    save(lab.project, tmp_path / "b.tar.gz")
    restored = restore(tmp_path / "b.tar.gz", tmp_path / "new")
    assert [path.stat().st_mode & 0o777 for path in (tmp_path / "b.tar.gz", restored.file)] == [0o600, 0o600]
