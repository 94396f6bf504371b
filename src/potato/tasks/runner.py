"""The server's side of the child process that does the long work."""

from __future__ import annotations

import json
import logging
import os
import queue
import subprocess
import sys
import threading
from concurrent.futures import Future
from typing import Any

from potato.project import Project
from potato.tasks import wire
from potato.tasks.wire import TaskCrashed, TaskRefused

_log = logging.getLogger("potato.tasks")

_Request = tuple[str, dict[str, Any], "Future[Any]"]


class TaskRunner:
    """Runs named tasks (see `registry`) one after another in one child process, which is started with `start` and
    started anew after it died. The child ends with the server, even when the server is killed. `module` is what the
    child runs. With `epoch` it writes only while nobody was elected after that (see `store.election`).
    """

    def __init__(self, project: Project, module: str = "potato.tasks", epoch: int | None = None) -> None:
        self._project = project
        self._epoch = epoch
        self._module = module
        self._requests: queue.SimpleQueue[_Request | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._child: subprocess.Popen[bytes] | None = None
        self._current: Future[Any] | None = None
        self._closed = False
        self._thread = threading.Thread(target=self._serve, name="tasks", daemon=True)

    def of_term(self, epoch: int) -> TaskRunner:
        """Another runner of the same tasks, whose child writes nothing once its supervisor is not the elected one."""
        return TaskRunner(self._project, self._module, epoch)

    def start(self) -> None:
        """Start the child, which begins to import what tasks need."""
        self._spawn()
        self._thread.start()

    def run(self, name: str, args: dict[str, Any]) -> Future[Any]:
        """Run a task after those before it. The future gives its JSON answer, or raises the task's own error as
        `TaskRefused`, or `TaskCrashed`."""
        future: Future[Any] = Future()
        self._requests.put((name, args, future))
        return future

    def abandon(self, future: Future[Any]) -> None:
        """End a task: one that waits is never begun, one that is going is killed with its process."""
        if future.cancel():
            return
        with self._lock:
            if self._current is future and self._child is not None:
                self._child.kill()

    def close(self) -> None:
        """End the child and whatever it is doing; what waits is cancelled."""
        with self._lock:
            self._closed = True
            if self._child is not None:
                self._child.kill()
        self._requests.put(None)
        self._thread.join()
        with self._lock:
            if self._child is not None:
                self._child.wait()
                _close_pipes(self._child)

    def _serve(self) -> None:
        while (request := self._requests.get()) is not None:
            name, args, future = request
            with self._lock:
                if self._closed or not future.set_running_or_notify_cancel():
                    future.cancel()
                    continue
                self._current = future
            self._answer(future, name, args)
            with self._lock:
                self._current = None

    def _answer(self, future: Future[Any], name: str, args: dict[str, Any]) -> None:
        try:
            answer = self._ask(name, args)
        except Exception as error:
            future.set_exception(error)
        else:
            future.set_result(answer)

    def _ask(self, name: str, args: dict[str, Any]) -> Any:
        child = self._living()
        assert child.stdin is not None and child.stdout is not None
        try:
            child.stdin.write(wire.line({"name": name, "args": args}))
            child.stdin.flush()
            said = child.stdout.readline()
        except BrokenPipeError:
            said = b""
        if not said.endswith(b"\n"):
            raise self._died(child, name)
        reply = json.loads(said)
        if "refused" in reply:
            raise wire.restored(reply["refused"])
        if "crashed" in reply:
            raise TaskCrashed(f"The server met an error in '{name}': {reply['crashed']}")
        return reply["answer"]

    def _died(self, child: subprocess.Popen[bytes], name: str) -> TaskCrashed:
        code = child.wait()
        how = f"was killed by signal {-code}" if code < 0 else f"ended with exit code {code}"
        hint = "the machine may have run out of memory" if code == -9 and not self._closed else None
        with self._lock:
            if not self._closed:
                self._spawn_locked()
        return TaskCrashed(f"The process that was doing '{name}' {how}", hint=hint)

    def _living(self) -> subprocess.Popen[bytes]:
        with self._lock:
            if self._child is None or self._child.poll() is not None:
                self._spawn_locked()
            assert self._child is not None
            return self._child

    def _spawn(self) -> None:
        with self._lock:
            self._spawn_locked()

    def _spawn_locked(self) -> None:
        if self._child is not None:
            self._child.wait()
            _close_pipes(self._child)
        command = [sys.executable, "-m", self._module]
        self._child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=_environment())
        assert self._child.stdin is not None
        try:
            self._child.stdin.write(wire.project_line(self._project, self._epoch))
            self._child.stdin.flush()
        except BrokenPipeError:
            _log.error("the process for long work ended before it began; its own output says why")


def _environment() -> dict[str, str]:
    """One thread a library: the server's machine is the annotators'."""
    single = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    return {**os.environ, **single, "PYTHONIOENCODING": "utf-8"}


def _close_pipes(child: subprocess.Popen[bytes]) -> None:
    for pipe in (child.stdin, child.stdout):
        if pipe is not None:
            try:
                pipe.close()
            except BrokenPipeError:
                continue  # what was not yet sent has no reader


__all__ = ["TaskCrashed", "TaskRefused", "TaskRunner"]
