"""`python -m potato.training.worker SPEC.json [--folder F] [--when-told]`

The wrapper around a job: everything that must happen however the job ends. It imports little, so that the first event
is there before a library is.
"""

import argparse
import os
import signal
import sys
from typing import List, Optional

from potato.training.contract.events import EventWriter
from potato.training.contract.exits import Exit
from potato.training.contract.files import write_atomic
from potato.training.contract.lease import Lease
from potato.training.contract.spec import Spec, SpecError, read_spec
from potato.training.worker import launch
from potato.training.worker.launch import START
from potato.training.worker.stop import Stop
from potato.training.worker.watch import Watch

THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "RAYON_NUM_THREADS",
)


def main(arguments: Optional[List[str]] = None) -> int:
    """Run one job and return its exit code, which also stands in the file `exit_code` of the work folder."""
    options = _parser().parse_args(arguments)
    stop = Stop()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop.handle)
    if options.when_told and not sys.stdin.buffer.read(1):
        return Exit.CANCELLED  # who started us died before it had recorded us: nobody would follow this job
    os.dup2(2, 1)  # a library's print is a line of stderr.log
    try:
        spec = read_spec(options.spec)
    except SpecError as error:
        return _refuse(options.folder or os.path.dirname(os.path.abspath(options.spec)), str(error))
    folder = options.folder or spec.work_dir
    os.makedirs(folder, exist_ok=True)
    events = EventWriter(os.path.join(folder, "events.jsonl"))
    events.status("starting", "starting the worker")
    lease = Lease(spec.lease, spec.lease_s) if spec.lease and spec.lease_s else None
    with Watch(lease, spec.grace_seconds, lambda text: events.log("warning", text)) as watch:
        code = _work(spec, folder, events, stop)
    _leave(folder, events, code)
    watch.end_rest()
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m potato.training.worker", description="Run one training job.")
    parser.add_argument("spec", help="the job's spec.json")
    parser.add_argument("--folder", help="write into this folder instead of the spec's work folder")
    parser.add_argument("--when-told", action="store_true", help="begin when a byte comes on stdin")
    return parser


def _work(spec: Spec, folder: str, events: EventWriter, stop: Stop) -> int:
    if spec.num_threads is not None:
        for name in THREAD_VARIABLES:
            os.environ[name] = str(spec.num_threads)
    from potato.training.worker import failures

    try:
        with stop.raising():
            from potato.training.worker.job import Job

            Job(spec, folder, events, stop).run()
        return Exit.FINISHED
    except BaseException as error:  # whatever a trainer does, the run ends with a record and a code
        failure = failures.explain(error, spec.trainer)
        failures.report(failure, error, events)
        return failure.exit


def _leave(folder: str, events: EventWriter, code: int) -> None:
    """The final record: events are on disk first, then the code."""
    events.close()
    write_atomic(os.path.join(folder, "exit_code"), b"%d\n" % code)


def _refuse(folder: str, message: str) -> int:
    print(message, file=sys.stderr)  # noqa: T201 - stderr.log is where a person looks first
    if os.path.isdir(folder):
        events = EventWriter(os.path.join(folder, "events.jsonl"))
        events.error("spec_unreadable", message)
        _leave(folder, events, Exit.UNREADABLE)
    return Exit.UNREADABLE


def _end(code: int) -> None:
    """Leave at once: a library's thread that never ends must not hold up a job that has. Nor does anything stay behind
    that this worker started, where nobody else looks after that."""
    if START in os.environ:
        launch.kill_started(os.environ[START])
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    _end(main())
