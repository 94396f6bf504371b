"""`job.sh`: what runs on the compute node before the worker, and becomes the worker."""

import shlex
from typing import List, Sequence

from potato.training.agent.slurm.starts import BEGINS, OWNER, PREFIX
from potato.training.worker.launch import MARK, START

MOST_STARTS = 1000


def script(
    folder: str,
    run_id: str,
    root: str,
    python: str,
    prelude: Sequence[str] = (),
    hide_gpus: bool = False,
) -> str:
    """The text of `job.sh` for an attempt in `folder`. `root` holds Potato's code; `python` is looked for on the node,
    after the prelude.

    With a prelude the shell is a login shell, so that what a cluster's documentation says in one works. Without
    `hide_gpus` the scheduler alone says which GPUs are the job's.
    """
    lines = ["#!/bin/bash -l" if prelude else "#!/bin/bash", "# A run of Potato: %s" % _comment(run_id)]
    lines += _guard(folder)
    lines += _start()
    if hide_gpus:  # nothing was asked for, so nothing may be taken
        lines += ["export CUDA_VISIBLE_DEVICES="]
    if prelude:
        lines += ["# The backend's prelude", *prelude, "# The worker"]
    lines += [
        "export PYTHONPATH=%s${PYTHONPATH:+:$PYTHONPATH}" % shlex.quote(root),
        "unset PYTHONHOME",
        "export %s=%s" % (MARK, shlex.quote(run_id)),
        'export %s="$potato_start"' % START,
        "potato_python=%s" % _path(python),
        'if ! command -v "$potato_python" >/dev/null 2>&1; then',
        '    echo "$potato_python was not found on ${SLURMD_NODENAME:-$(uname -n)}" | tee "$potato_start/failed"',
        "    exit 127",
        "fi",
        'exec "$potato_python" -s -B -u -m potato.training.worker "$potato_folder/spec.json" --folder "$potato_start" '
        '>"$potato_start/stderr.log" 2>&1',
    ]
    return "\n".join(lines) + "\n"


def _guard(folder: str) -> List[str]:
    """Leave at once where the run is over, or another job of the same run was first. A controller that crashed goes on
    from what it wrote last, and may start a job again long after its keeper has left; of the run's folder there may be
    the model alone by then."""
    return [
        "potato_folder=%s" % shlex.quote(folder),
        'if [ -e "$potato_folder/cancel" ] || [ -e "$potato_folder/ended.json" ] || '
        '[ ! -e "$potato_folder/spec.json" ]; then',
        '    echo "the run is over"; exit 0',
        "fi",
        '(set -C; echo "$SLURM_JOB_ID" >"$potato_folder/%s") 2>/dev/null' % OWNER,
        'if ! read -r potato_owner <"$potato_folder/%s"; then' % OWNER,
        '    echo "$potato_folder cannot be written on $(uname -n)"; exit 74',
        "fi",
        'if [ "$potato_owner" != "$SLURM_JOB_ID" ]; then',
        '    echo "job $potato_owner does this run"; exit 0',
        "fi",
    ]


def _start() -> List[str]:
    """Make this start's folder. Nothing but its number tells one start from another: whatever SLURM counts."""
    return [
        "potato_number=1",
        'until mkdir -m 700 "$potato_folder/%s$potato_number" 2>/dev/null; do' % PREFIX,
        "    potato_number=$((potato_number + 1))",
        '    if [ "$potato_number" -gt %d ]; then' % MOST_STARTS,
        '        echo "$potato_folder cannot be written on $(uname -n)"; exit 74',
        "    fi",
        "done",
        'potato_start="$potato_folder/%s$potato_number"' % PREFIX,
        'echo "%s$potato_number on $(uname -n) ---"' % BEGINS,
    ]


def _comment(text: str) -> str:
    return "".join(char if char.isprintable() else "?" for char in text)


def _path(text: str) -> str:
    return '"$HOME"/' + shlex.quote(text[2:]) if text.startswith("~/") else shlex.quote(text)
