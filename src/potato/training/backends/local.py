"""The backend `local`: a subprocess on the annotation server. Its work folder is the run's folder."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from typing import Any

from potato.errors import PotatoError
from potato.project import Project
from potato.training.backends import memory
from potato.training.backends.base import CheckReport, Ended, Job
from potato.training.backends.report import local_report
from potato.training.contract.spec import Spec
from potato.training.trainers import registry
from potato.training.worker import launch, pressure
from potato.training.worker.launch import Launched

PROBE_TIMEOUT_S = 120
"""torch alone can take half a minute to import on a cold disk."""


class WorkerNotStarted(PotatoError):
    """The worker's process could not be started."""

    code = "worker_not_started"
    status = 500


class CheckFailed(PotatoError):
    """The check could not be made."""

    code = "check_failed"
    status = 500


class LocalExecution:
    """A worker of this machine, started by this server process or an earlier one."""

    lingers = True
    delivered = False

    def __init__(self, worker: Launched, job: Job, measured: bool) -> None:
        self.host = platform.node()
        self._worker = worker
        self._job = job
        self._measured = measured
        self._kills = pressure.kills()

    def poll(self) -> Ended | None:
        if launch.alive(self._worker):
            return None
        self.kill()  # whatever it started and did not end
        code = launch.exit_status(self._worker, str(self._job.folder))
        return Ended(code, pressure.kills() > self._kills)

    def memory_mb(self) -> float | None:
        return memory.used_mb(launch.members(self._worker)) if self._measured else None

    def stop(self) -> None:
        launch.signal_stop(self._worker)

    def kill(self) -> None:
        launch.terminate(self._worker, 0.0)

    def close(self) -> None:
        """The worker goes on; the next server process finds it in `worker.json`."""


class LocalBackend:
    """This machine."""

    name = "local"

    def __init__(self, project: Project) -> None:
        self._project = project
        self._settings = project.config.model_training

    def check(self, trainer: str | None) -> CheckReport:
        """The device that a run would use, and the trainers whose packages are here or missing.

        Asks a short-lived child, so that this process imports no training library. Raises `CheckFailed`.
        """
        return local_report(self._probe(), trainer)

    def start(self, job: Job) -> LocalExecution:
        spec = job.folder / "spec.json"
        self._spec(job).write(str(spec))
        try:
            worker = launch.start(
                sys.executable, str(spec), str(job.folder), os.environ, may_begin=job.make_sure, first=True
            )
        except FileExistsError:  # by a server that was stalled as it started one, or by the one elected while this was
            job.make_sure()
            execution = self.resume(job)
            assert execution is not None
            return execution
        except OSError as error:
            raise WorkerNotStarted(f"The worker could not be started: {error}") from error
        return self._execution(worker, job)

    def resume(self, job: Job) -> LocalExecution | None:
        worker = launch.read(str(job.folder))
        return self._execution(worker, job) if worker is not None else None

    def close(self) -> None:
        """Nothing is held."""

    def _execution(self, worker: Launched, job: Job) -> LocalExecution:
        return LocalExecution(worker, job, measured=self._settings.max_ram_mb is not None)

    def _spec(self, job: Job) -> Spec:
        info = registry.get(job.trainer).info
        return Spec(
            run_id=job.run_id,
            trainer=job.trainer,
            schemas=list(job.schemas),
            bundle=str(job.folder / "bundle"),
            work_dir=str(job.folder),
            params=info.resolve_folders(job.params, str(self._project.task_dir)),
            seed=job.seed,
            device=self._settings.device,
            num_threads=self._settings.num_threads or max(1, (os.cpu_count() or 2) - 1),
            max_ram_mb=self._settings.max_ram_mb,
            grace_seconds=job.grace_seconds,
        )

    def _probe(self) -> dict[str, Any]:
        command = [sys.executable, "-m", "potato.training.worker.probe", "--device", self._settings.device]
        try:
            done = subprocess.run(command, capture_output=True, timeout=PROBE_TIMEOUT_S, check=False)
            answer: dict[str, Any] = json.loads(done.stdout)
        except subprocess.TimeoutExpired as error:
            raise CheckFailed(f"The check gave no answer within {PROBE_TIMEOUT_S} seconds") from error
        except (OSError, ValueError) as error:
            last = (done.stderr.decode("utf-8", "replace").strip().splitlines() or [str(error)])[-1]
            raise CheckFailed(f"The check failed: {last:.300}") from error
        return answer
