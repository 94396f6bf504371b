"""`spec.json`: what a worker is asked to do."""

import json
from dataclasses import asdict, dataclass, field
from typing import Any, Dict, List, Optional

from potato.training.contract.files import write_json

VERSION = 1


class SpecError(Exception):
    """The spec cannot be read; the sentence says why."""


@dataclass(frozen=True)
class Spec:
    """One job. Paths are absolute on the machine that runs the worker.

    `schemas` are the schemes to train, in the project's order; `device` is `auto`, `cpu`, `cuda`, `cuda:N` or `mps`;
    `num_threads` None leaves the libraries' own number. The worker writes events, predictions and artifacts into
    `work_dir`. Where `lease` names a file (see `contract.lease`), a worker for which nobody has renewed it for
    `lease_s` seconds ends itself.
    """

    run_id: str
    trainer: str
    schemas: List[str]
    bundle: str
    work_dir: str
    params: Dict[str, Any] = field(default_factory=dict)
    seed: int = 0
    device: str = "auto"
    num_threads: Optional[int] = None
    max_ram_mb: Optional[int] = None
    grace_seconds: float = 20.0
    lease: Optional[str] = None
    lease_s: Optional[float] = None
    version: int = VERSION

    def write(self, path: str) -> None:
        """Write it as `spec.json`."""
        write_json(path, asdict(self))


_TYPES: Dict[str, Any] = {
    "run_id": str,
    "trainer": str,
    "schemas": list,
    "bundle": str,
    "work_dir": str,
    "params": dict,
    "seed": int,
    "device": str,
    "num_threads": (int, type(None)),
    "max_ram_mb": (int, type(None)),
    "grace_seconds": (int, float),
    "lease": (str, type(None)),
    "lease_s": (int, float, type(None)),
    "version": int,
}


def read_spec(path: str) -> Spec:
    """The spec in the file at `path`. Unknown fields are ignored. Raises `SpecError`."""
    try:
        with open(path, encoding="utf-8") as file:
            raw = json.load(file)
    except (OSError, ValueError) as error:
        raise SpecError("the spec %s cannot be read: %s" % (path, error)) from error
    if not isinstance(raw, dict):
        raise SpecError("the spec %s is not a JSON object" % path)
    known = {name: raw[name] for name in _TYPES if name in raw}
    for name, value in known.items():
        if not isinstance(value, _TYPES[name]):
            raise SpecError("the spec's field %r has the wrong type: %.80r" % (name, value))
    if known.get("version", VERSION) != VERSION:
        raise SpecError("the spec has version %r; this Potato reads version %d" % (known["version"], VERSION))
    try:
        return Spec(**known)
    except TypeError as error:
        missing = [name for name in ("run_id", "trainer", "schemas", "bundle", "work_dir") if name not in known]
        raise SpecError("the spec %s lacks %s" % (path, ", ".join(missing))) from error
