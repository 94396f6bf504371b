"""Which run has which GPU: two that begin together must not both take the one that was empty a moment ago."""

import os
from contextlib import ExitStack, suppress
from typing import Any, Dict, List, Mapping, Optional, Sequence

from potato.training.agent.folder import JobFolder, read_json
from potato.training.contract.files import write_json
from potato.training.host import couriers
from potato.training.host.lock import Lock
from potato.training.host.smi import Gpu
from potato.training.worker import processes


class Marks:
    """`gpus/taken.json`, held alone inside the context. `run_id` None marks nothing.

    A mark counts while its run lives here: its worker or keeper, its courier, or the log-in that chose the GPU and has
    not got as far.
    """

    def __init__(self, remote_dir: str, run_id: Optional[str]) -> None:
        self._remote_dir = remote_dir
        self._run_id = run_id
        self._folder = os.path.join(remote_dir, "gpus")
        self._path = os.path.join(self._folder, "taken.json")
        self._stack = ExitStack()
        self._taken: Dict[str, Dict[str, Any]] = {}

    def __enter__(self) -> "Marks":
        os.makedirs(self._folder, mode=0o700, exist_ok=True)
        self._stack.enter_context(Lock(os.path.join(self._folder, "lock")))
        found = read_json(self._path) or {}
        self._taken = {gpu: mark for gpu, mark in found.items() if self._counts(mark)}
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def of_others(self, gpus: Sequence[Gpu]) -> List[Gpu]:
        """Those that no other run has."""
        return [gpu for gpu in gpus if self._taken.get(gpu.id, {}).get("run_id", self._run_id) == self._run_id]

    def mine(self, gpus: Sequence[Gpu]) -> List[Gpu]:
        """Those that this run has, and computes on."""
        if self._run_id is None or not _is_going(JobFolder(self._remote_dir, self._run_id)):
            return []
        return [gpu for gpu in gpus if gpu.id in self._taken]

    def put(self, chosen: Sequence[Gpu]) -> None:
        """This run has these now, and no other."""
        if self._run_id is None:
            return
        kept = {gpu: mark for gpu, mark in self._taken.items() if mark["run_id"] != self._run_id}
        me = processes.stat(os.getpid())
        for gpu in chosen:
            kept[gpu.id] = {
                "run_id": self._run_id,
                "pid": os.getpid(),
                "started": me.started if me else "",
                "boot_id": processes.boot_id(),
            }
        write_json(self._path, kept)

    def _counts(self, mark: Mapping[str, Any]) -> bool:
        if mark["boot_id"] != processes.boot_id():
            return False
        folder = JobFolder(self._remote_dir, str(mark["run_id"]))
        found = processes.stat(int(mark["pid"]))
        chooser = found is not None and found.lives and found.started == mark["started"]
        return chooser or couriers.living(folder) is not None or _is_going(folder)


def _is_going(folder: JobFolder) -> bool:
    with suppress(ValueError):
        return any(attempt.is_going() for attempt in folder.attempts())
    return False
