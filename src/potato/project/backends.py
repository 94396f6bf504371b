"""Where runs may execute: the keys that each type of backend takes."""

from __future__ import annotations

import posixpath
import re
from typing import Annotated, Literal, Union

from pydantic import AfterValidator, Field

from potato.model import Model, Text
from potato.project import slurm_time
from potato.project.wording import quoted

RESERVED = "local"
"""The backend that is always there."""


def _backend_name(name: str) -> str:
    if name == RESERVED:
        raise ValueError("`local` is reserved for runs on this machine; give the backend another name")
    if not re.fullmatch(r"[A-Za-z0-9._-]+", name) or not name.strip("."):
        raise ValueError(f"a backend's name is made of letters, digits, `-`, `_` and `.`, not {quoted(name)}")
    return name


def _one_word(text: str) -> str:
    if text.startswith("-") or any(char.isspace() or not char.isprintable() for char in text):
        raise ValueError(f"must be one word that does not begin with `-`, not {quoted(text)}")
    return text


def _one_line(text: str) -> str:
    if not text.isprintable():
        raise ValueError(f"must stand on one line, without control characters: {quoted(text)}")
    return text


def _gpus(text: str) -> str:
    packed = "".join(text.split())
    if packed in ("auto", "none") or re.fullmatch(r"[0-9]{1,4}(,[0-9]{1,4})*", packed):
        return packed
    raise ValueError(f"must be `auto`, `none` or indices such as `1` or `0,1`, not {quoted(text)}")


def _time(text: str) -> str:
    if slurm_time.seconds(text) is None:
        forms = "`minutes`, `minutes:seconds`, `hours:minutes:seconds`, `days-hours`, `days-hours:minutes`"
        raise ValueError(f"must be {forms} or `days-hours:minutes:seconds`, not {quoted(text)}")
    return text


def _shared(text: str) -> str:
    """Where a compute node's `/tmp` is its own, what the login node leaves there is never found."""
    path = posixpath.normpath(re.sub(r"^~[^/]*/*", "", text) if text.startswith("~") else text)
    parts = [part for part in path.split("/") if part]
    inside = [part for part in parts if part != ".."]
    above_home = not text.startswith("/") and parts[:1] == [".."]
    if (text.startswith("/") or above_home) and (inside[:1] == ["tmp"] or inside[:2] == ["var", "tmp"]):
        raise ValueError(f"is under /tmp or /var/tmp, which login and compute nodes do not share: {quoted(text)}")
    return text


def _variable(name: str) -> str:
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        raise ValueError(f"{quoted(name)} cannot be the name of an environment variable")
    return name


BackendName = Annotated[str, AfterValidator(_backend_name)]
Word = Annotated[Text, AfterValidator(_one_word)]
Line = Annotated[Text, AfterValidator(_one_line)]
Variable = Annotated[str, AfterValidator(_variable)]


class AgentBackend(Model):
    """A machine that nobody can reach: its agent asks the server for work."""

    type: Literal["agent"]
    """`agent`"""
    description: str | None = None
    """Shown in the menu Runs on."""
    heartbeat_timeout_s: float = Field(default=120, gt=0)
    """Seconds without a word from the agent after which its run fails."""
    queue_timeout_s: float | None = Field(default=None, gt=0)
    """Seconds that a run waits for an agent before it fails; it waits until cancelled when left out."""


class _ReachedBySsh(Model):
    host: Word
    """Any name that ssh takes, an alias from `~/.ssh/config` too."""
    user: Word | None = None
    """Passed to ssh as `-l`."""
    port: int | None = Field(default=None, ge=1, le=65535)
    """Passed to ssh as `-p`."""
    identity_file: Line | None = None
    """Passed to ssh as `-i`."""
    description: str | None = None
    """Shown in the menu Runs on."""
    python: Line = "python3"
    """The interpreter on the host."""
    min_free_gpu_mb: int = Field(default=2000, ge=0)
    """A GPU with less free memory than this is not taken by `gpus: auto`. No effect on slurm: the scheduler chooses."""
    num_threads: int | None = Field(default=None, ge=1)
    """Sets `OMP_NUM_THREADS`, `MKL_NUM_THREADS` and `OPENBLAS_NUM_THREADS`."""
    env: dict[Variable, Line] = {}
    """Environment for the agent and the worker, `PATH` included."""
    max_artifact_mb: int = Field(default=2048, ge=0)
    """Larger model files stay on the host, and the run's log names them."""
    fetch_artifacts: bool = True
    """`false` leaves every model file on the host."""
    keep_remote: bool = False
    """Keep the remote job folder."""
    heartbeat_timeout_s: float = Field(default=120, gt=0)
    """Seconds without a word from the agent, while the connection is up, after which its run fails."""
    reconnect_s: float = Field(default=600, ge=0)
    """How long the agent keeps a run going without its connection; 0 cancels at once."""


class SshBackend(_ReachedBySsh):
    """A GPU host that the server logs in to."""

    type: Literal["ssh"]
    """`ssh`"""
    remote_dir: Line = "~/.cache/potato-training"
    """Where code, environments and jobs go on the host."""
    packages: list[Line] = []
    """Installed once for each interpreter and list, into a virtual environment under `remote_dir`."""
    gpus: Annotated[str, AfterValidator(_gpus)] = "auto"
    """`auto`, `none` (train on the CPU), or indices such as `"1"` or `"0,1"`, taken whatever their free memory."""


class SlurmBackend(_ReachedBySsh):
    """A cluster whose login node the server logs in to."""

    type: Literal["slurm"]
    """`slurm`"""
    remote_dir: Annotated[Line, AfterValidator(_shared)]
    """Where code and jobs go: on storage that login and compute nodes share, not under `/tmp` or `/var/tmp`."""
    job_python: Line | None = None
    """The interpreter on the compute nodes; `python` when left out."""
    partition: Line | None = None
    """`sbatch --partition`."""
    account: Line | None = None
    """`sbatch --account`."""
    qos: Line | None = None
    """`sbatch --qos`."""
    gres: Line | None = None
    """`sbatch --gres`; without it (or `gpus_per_node`) a job gets no GPU."""
    gpus_per_node: Line | None = None
    """`sbatch --gpus-per-node`, for clusters that want it instead of `gres`."""
    time: Annotated[str, AfterValidator(_time)] | None = None
    """`sbatch --time`, in any of SLURM's forms; over 6 hours warns."""
    cpus_per_task: int | None = Field(default=None, ge=1)
    """`sbatch --cpus-per-task`."""
    mem: Line | None = None
    """`sbatch --mem`."""
    constraint: Line | None = None
    """`sbatch --constraint`."""
    nodelist: Line | None = None
    """`sbatch --nodelist`."""
    exclude: Line | None = None
    """`sbatch --exclude`."""
    reservation: Line | None = None
    """`sbatch --reservation`."""
    sbatch_args: list[Line] = []
    """Appended to `sbatch`, for what has no key."""
    prelude: list[str] = []
    """Shell lines before the worker: module loads, activating an environment."""
    poll_interval_s: float = Field(default=10, gt=0)
    """Seconds between two calls of `squeue`."""


Backend = Annotated[Union[SshBackend, SlurmBackend, AgentBackend], Field(discriminator="type")]  # noqa: UP007
