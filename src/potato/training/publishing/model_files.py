"""Which files of a run are its model, and why there may be none."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any

from potato.project import Project
from potato.store.training.runs import Run, State
from potato.training.backends.homecoming import COPY_NOTE
from potato.training.contract.files import slug
from potato.training.publishing.errors import CannotPublish, ModelElsewhere, SchemeNeeded
from potato.training.trainers.provenance import FILE as RECORD

OWN_CARD = "README.md"
CALIBRATION = "calibration.json"


@dataclass(frozen=True)
class ModelFiles:
    """One model of a run: its folder, the paths of its files in it, and what its `potato.json` says."""

    folder: Path
    names: Sequence[str]
    record: Mapping[str, Any]

    @property
    def size(self) -> int:
        """Bytes of all."""
        return sum((self.folder / name).stat().st_size for name in self.names)

    def content(self, name: str) -> bytes | Path:
        """What is uploaded as `name`: the file, or its bytes where they had to be changed."""
        if name in (RECORD, "config.json"):
            return _without_folders(name, (self.folder / name).read_bytes())
        return self.folder / name


def model_files(project: Project, run: Run, scheme: str) -> ModelFiles:
    """The model of one scheme. Raises `CannotPublish` and `ModelElsewhere` with what keeps it from being published."""
    if run.state is not State.SUCCESS:
        raise CannotPublish(f"Run {run.run_id} has no model: it is '{run.state.value}'")
    if run.files_removed:
        raise CannotPublish(
            f"The model of run {run.run_id} was removed to make room (retain_runs)",
            hint="run it again, and publish that",
        )
    home = project.runs_dir / run.run_id
    folder = home / "artifacts" / slug(scheme, run.schemas.index(scheme) + 1)
    copy_broke_off = (home / COPY_NOTE).is_file()
    if copy_broke_off or _is_elsewhere(run):
        raise ModelElsewhere(run.run_id, run.artifact_uri or run.host or run.backend, copy_broke_off)
    names = _names(folder)
    if RECORD not in names:
        raise CannotPublish(f"Run {run.run_id} left no model of '{scheme}' on this server")
    if CALIBRATION in names:
        raise CannotPublish(
            f"Run {run.run_id} calibrated another run's model, and is none itself", hint="publish the model's own run"
        )
    return ModelFiles(folder, names, json.loads((folder / RECORD).read_text("utf-8")))


def scheme_of(run: Run, wanted: str | None) -> str:
    """The scheme whose model is meant. Raises `SchemeNeeded` where that is not clear."""
    if wanted is None and len(run.schemas) == 1:
        return run.schemas[0]
    if wanted is None or wanted not in run.schemas:
        raise SchemeNeeded(" and ".join(f"'{name}'" for name in run.schemas))
    return wanted


def _is_elsewhere(run: Run) -> bool:
    """Whether the run says that files of its model are on the machine that trained it, as `host:folder`."""
    return run.artifact_uri is not None and not PurePath(run.artifact_uri).is_absolute()


def _names(folder: Path) -> list[str]:
    """The model's files, the links left out, and any card that a library wrote."""
    found = folder.rglob("*") if folder.is_dir() else ()
    files = [path for path in found if path.is_file() and not path.is_symlink() and path.name != OWN_CARD]
    return sorted(path.relative_to(folder).as_posix() for path in files)


def _without_folders(name: str, data: bytes) -> bytes:
    """`potato.json` or `config.json` without this machine's folders: of a path only the last name is for others."""
    record = json.loads(data)
    for key in ("base_model", "_name_or_path"):
        if key in record:
            record[key] = _shared(record[key])
    if name == RECORD:
        record["params"] = {key: _shared(value) for key, value in record.get("params", {}).items()}
    return (json.dumps(record, ensure_ascii=False, indent=2) + "\n").encode("utf-8", "surrogatepass")


def _shared(value: Any) -> Any:
    if isinstance(value, str) and (value.startswith(("/", "~", ".")) or PurePath(value).is_absolute()):
        return PurePath(value).name or value
    return value
