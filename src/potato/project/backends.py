"""Where runs may execute: the keys that each type of backend takes."""

from __future__ import annotations

from typing import Annotated, Literal, Union

from pydantic import Field

from potato.model import Model


class AgentBackend(Model):
    """A machine that nobody can reach: its agent asks the server for work."""

    type: Literal["agent"]
    description: str | None = None
    """Shown in the menu Runs on."""
    heartbeat_timeout_s: float = Field(default=120, gt=0)
    """Seconds without a word from the agent after which its run fails."""
    queue_timeout_s: float | None = Field(default=None, gt=0)
    """Seconds that a run waits for an agent before it fails; it waits until cancelled when left out."""


class _ReachedBySsh(Model):
    host: str = Field(min_length=1)
    """Any name that ssh takes, an alias from `~/.ssh/config` too."""
    user: str | None = None
    """Passed to ssh as `-l`."""
    port: int | None = Field(default=None, ge=1, le=65535)
    """Passed to ssh as `-p`."""
    identity_file: str | None = None
    """Passed to ssh as `-i`."""
    description: str | None = None
    """Shown in the menu Runs on."""
    python: str = "python3"
    """The interpreter on the host."""
    min_free_gpu_mb: int = Field(default=2000, ge=0)
    """A GPU with less free memory than this is not taken by `gpus: auto`. No effect on slurm: the scheduler chooses."""
    num_threads: int | None = Field(default=None, ge=1)
    """Sets `OMP_NUM_THREADS`, `MKL_NUM_THREADS` and `OPENBLAS_NUM_THREADS`."""
    env: dict[str, str] = {}
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
    remote_dir: str = "~/.cache/potato-training"
    """Where code, environments and jobs go on the host."""
    packages: list[str] = []
    """Installed once for each interpreter and list, into a virtual environment under `remote_dir`."""
    gpus: str = "auto"
    """`auto`, `none` (train on the CPU), or indices such as `"1"` or `"0,1"`, taken whatever their free memory."""


class SlurmBackend(_ReachedBySsh):
    """A cluster whose login node the server logs in to."""

    type: Literal["slurm"]
    remote_dir: str
    """Where code and jobs go: on storage that login and compute nodes share, not under `/tmp` or `/var/tmp`."""
    job_python: str | None = None
    """The interpreter on the compute nodes; `python` when left out."""
    partition: str | None = None
    """`sbatch --partition`."""
    account: str | None = None
    """`sbatch --account`."""
    qos: str | None = None
    """`sbatch --qos`."""
    gres: str | None = None
    """`sbatch --gres`; without it (or `gpus_per_node`) a job gets no GPU."""
    gpus_per_node: str | None = None
    """`sbatch --gpus-per-node`, for clusters that want it instead of `gres`."""
    time: str | None = None
    """`sbatch --time`, in any of SLURM's forms; over 6 hours warns."""
    cpus_per_task: int | None = Field(default=None, ge=1)
    """`sbatch --cpus-per-task`."""
    mem: str | None = None
    """`sbatch --mem`."""
    constraint: str | None = None
    """`sbatch --constraint`."""
    nodelist: str | None = None
    """`sbatch --nodelist`."""
    exclude: str | None = None
    """`sbatch --exclude`."""
    reservation: str | None = None
    """`sbatch --reservation`."""
    sbatch_args: list[str] = []
    """Appended to `sbatch`, for what has no key."""
    prelude: list[str] = []
    """Shell lines before the worker: module loads, activating an environment."""
    poll_interval_s: float = Field(default=10, gt=0)
    """Seconds between two calls of `squeue`."""


Backend = Annotated[Union[SshBackend, SlurmBackend, AgentBackend], Field(discriminator="type")]  # noqa: UP007
