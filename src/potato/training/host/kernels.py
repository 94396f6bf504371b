"""Whether the torch of a run's interpreter computes on each GPU: tried there, and remembered, for it takes seconds."""

import json
import os
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

from potato.training.agent.folder import read_json
from potato.training.contract.files import write_json
from potato.training.host import children
from potato.training.host.interpreter import with_code
from potato.training.host.session import Session
from potato.training.host.smi import Gpu

LIMIT_S = 120.0
NO_KERNELS = "(torch there has no kernels for it)"
SILENT = "(it does not answer)"
_SIGNS = ("no kernel image", "invalid device function", "not compatible with", "kernel image is invalid")


@dataclass(frozen=True)
class Tried:
    """What was found out. `marks` maps a GPU's id to its mark, `""` for one that computes; `detail` is a sentence on
    torch and the GPUs that it lacks kernels for. Nothing stands there where there is no torch."""

    marks: Mapping[str, str] = field(default_factory=dict)
    detail: str = ""

    def mark(self, gpu: Gpu) -> Gpu:
        """The GPU with its mark."""
        return gpu if gpu.mark else replace(gpu, mark=self.marks.get(gpu.id, ""))


def visible(gpus: Sequence[Gpu]) -> Dict[str, str]:
    """The variables that show a process these GPUs, in this order, and no other."""
    ids = [gpu.uuid for gpu in gpus] if all(gpu.uuid for gpu in gpus) else [str(gpu.index) for gpu in gpus]
    return {"CUDA_VISIBLE_DEVICES": ",".join(ids), "CUDA_DEVICE_ORDER": "PCI_BUS_ID"}


def try_out(session: Session, python: str, gpus: Sequence[Gpu], limit_s: float = LIMIT_S) -> Tried:
    """Compute on each GPU with the torch of `python`. Raises `OSError` where that cannot be started."""
    memory = _Memory(session, python, gpus)
    remembered = memory.recall()
    if remembered is not None:
        return remembered
    marks: Dict[str, str] = {}
    needs: List[str] = []
    torch: Dict[str, Any] = {}
    waiting = [gpu for gpu in gpus if not gpu.mark]
    while waiting:
        batch = _batch(waiting)
        torch, records = _ask(session, python, batch, limit_s)
        if not torch:
            return Tried()
        for gpu, record in zip(batch, records):
            marks[gpu.id] = _mark(torch, record)
            if marks[gpu.id] == NO_KERNELS:
                needs.append("%s needs %s" % (gpu.name, record["capability"] or "CUDA"))
        if len(records) < len(batch):
            marks[batch[len(records)].id] = SILENT
        waiting = [gpu for gpu in waiting if gpu.id not in marks]
    tried = Tried(marks, _detail(torch, needs, gpus))
    if torch and SILENT not in marks.values():
        memory.keep(tried, torch)
    return tried


def _batch(waiting: Sequence[Gpu]) -> Sequence[Gpu]:
    """What one process can try: it sees a single MIG device, and none beside it."""
    return waiting[:1] if waiting[0].mig else [gpu for gpu in waiting if not gpu.mig]


def _ask(
    session: Session, python: str, gpus: Sequence[Gpu], limit_s: float
) -> Tuple[Dict[str, Any], List[Dict[str, Any]]]:
    """What torch is there, and a record for each GPU up to one that does not answer."""
    env = with_code(dict(os.environ, **visible(gpus)))
    command = [python, "-m", "potato.training.worker.kernels"]
    done = children.run(session, command, "trying torch on the GPUs", limit_s, env)
    lines = [json.loads(line) for line in done.out.splitlines() if line.startswith("{")]
    if not lines or not lines[0].get("torch"):
        return {}, []  # no torch, or a broken one: the worker tells
    torch, records = lines[0], lines[1:]
    if done.code is not None and len(records) < len(gpus):
        reason = torch["unavailable"] or "torch does not see it"
        records += [{"error": reason, "capability": ""}] * (len(gpus) - len(records))
    return torch, records


def _mark(torch: Mapping[str, Any], record: Mapping[str, Any]) -> str:
    error = str(record["error"])
    if not error:
        return ""
    if not torch["built_for"] or any(sign in error for sign in _SIGNS):
        return NO_KERNELS
    return "(torch there cannot use it: %s)" % error[:200]


def _detail(torch: Mapping[str, Any], needs: Sequence[str], gpus: Sequence[Gpu]) -> str:
    built = ", ".join(torch.get("architectures") or [])
    if not torch.get("built_for"):
        told = "torch %s was built for the CPU alone" % torch.get("torch")
    else:
        told = "torch %s has kernels for %s" % (torch.get("torch"), built or "nothing")
    driver = next((gpu.driver for gpu in gpus if gpu.driver), "")
    return "; ".join([told, *dict.fromkeys(needs), *(["the driver is %s" % driver] if driver else [])])


class _Memory:
    """`gpus/kernels.json`: what was found out before, for the same interpreter, torch, driver and GPUs."""

    def __init__(self, session: Session, python: str, gpus: Sequence[Gpu]) -> None:
        self._path = os.path.join(session.remote_dir, "gpus", "kernels.json")
        self._key = "%s %s" % (os.path.realpath(python), python)
        self._gpus = sorted("%s %s %s" % (gpu.id, gpu.name, gpu.driver) for gpu in gpus if not gpu.mark)

    def recall(self) -> Optional[Tried]:
        found = (read_json(self._path) or {}).get(self._key)
        if not isinstance(found, dict) or found.get("gpus") != self._gpus:
            return None
        if _stamp(str(found.get("file"))) != found.get("stamp"):
            return None  # another torch was installed
        return Tried(found["marks"], found["detail"])

    def keep(self, tried: Tried, torch: Mapping[str, Any]) -> None:
        record = {"gpus": self._gpus, "file": torch["file"], "stamp": _stamp(torch["file"])}
        record.update(marks=dict(tried.marks), detail=tried.detail)
        with suppress(OSError):  # it is found out again next time
            os.makedirs(os.path.dirname(self._path), mode=0o700, exist_ok=True)
            write_json(self._path, dict(read_json(self._path) or {}, **{self._key: record}))


def _stamp(path: str) -> List[int]:
    try:
        found = os.stat(os.path.join(os.path.dirname(path), "version.py"))
    except OSError:
        return []
    return [found.st_mtime_ns, found.st_size]
