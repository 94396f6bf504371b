"""What agents send and are answered. Unknown fields are ignored in both directions, so that versions may differ."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

Text = Annotated[str, StringConstraints(max_length=4096)]
Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
Attempt = Annotated[int, Field(ge=1, le=1 << 31)]


class Message(BaseModel):
    """Open, and read leniently enough for another version's numbers."""

    model_config = ConfigDict(extra="ignore", use_attribute_docstrings=True, allow_inf_nan=False)


class Introduction(Message):
    """An agent, as it introduces itself."""

    host: Annotated[str, StringConstraints(min_length=1, max_length=255)]
    """The machine's name, for people."""
    workdir: Text
    """The absolute folder that it works in. Host and folder together are the agent's place."""
    session: Annotated[str, StringConstraints(min_length=8, max_length=64)]
    """Random, new for each start of the agent."""
    version: Annotated[str, StringConstraints(max_length=64)] = ""
    """Its Potato's version."""


class ClaimRequest(Message):
    """Asks for work."""

    protocol: int
    """The protocol's version: 1."""
    backend: Text
    """The backend's name; it must be the token's."""
    agent: Introduction
    """Who asks."""
    wait_s: float = Field(default=25, ge=0, le=60)
    """How long to wait for work, in seconds."""
    leaving: bool = False
    """Whether the agent takes leave: nothing is given to it any more, and another may serve the backend at once. A job
    that it was given and did not hear of is the answer; its result is then due, with the reason `stopped`."""


class BundleInfo(Message):
    """The bundle as one `tar.gz`."""

    bytes: int
    """Its length."""
    sha256: Sha256
    """Its SHA-256, in hex."""


class JobBody(Message):
    """A job. Durations are seconds."""

    run_id: str
    """The run; the name of the job's folder."""
    attempt: int
    """Goes with everything that is sent of it."""
    trainer: str
    """The trainer's name."""
    schemas: list[str]
    """The schemes to train."""
    params: dict[str, Any]
    """The trainer's params, complete."""
    seed: int
    """The seed."""
    device: str
    """`auto`."""
    num_threads: int | None
    """Threads; null leaves the libraries' own number."""
    bundle: BundleInfo
    """What to download and check."""
    grace_seconds: float
    """From SIGTERM to SIGKILL."""
    heartbeat_timeout_s: float
    """A longer silence fails the run."""
    report_every_s: float
    """How often to report."""
    give_up_s: float
    """How long to keep the worker going without a word from the server."""
    piece_bytes: int
    """The largest piece of a file to send."""


class ClaimAnswer(Message):
    """A job, or none."""

    protocol: int
    """The server's version of the protocol."""
    job: JobBody | None
    """The job; null when there was none in the time asked for."""
    poll_after_s: float
    """How long to wait before asking again."""


class Report(Message):
    """A word from the agent: its heartbeat."""

    attempt: Attempt
    """Which attempt it works at."""
    step: Annotated[str, StringConstraints(max_length=300)] = ""
    """What it is doing, where no event of the worker says so."""
    clock: float | None = None
    """Its clock, in seconds since the epoch; nothing depends on it."""


class ReportAnswer(Message):
    """What the server wants."""

    cancel: bool
    """Whether to end the worker."""
    held: dict[str, int]
    """How much of each file of this attempt is here."""


class Length(Message):
    """Where to go on."""

    length: int
    """How much of the file is here."""


class DeclaredFile(Message):
    """A whole file."""

    bytes: int = Field(ge=0)
    """Its length."""
    sha256: Sha256
    """Its SHA-256, in hex."""


class Result(Message):
    """How the job ended."""

    attempt: Attempt
    """Which attempt."""
    exit_code: int | None = None
    """The worker's exit code, minus the signal that killed it, or null where nobody knows."""
    reason: Text | None = None
    """Why it ended before its time: `cancelled`, `stopped` (by the agent's person), or a sentence."""
    ran_out_of_memory: bool = False
    """Whether the machine was short of memory when it was killed."""
    files: dict[str, DeclaredFile] = Field(default={}, max_length=16)
    """Every file that was sent, whole."""
    artifact_uri: Text | None = None
    """Where the model's files are: `HOST:/absolute/folder`."""
    warnings: list[Text] = Field(default=[], max_length=16)
    """What people should know of the end, a sentence each."""


class Taken(Message):
    """The end record is here for good."""

    taken: bool
    """True."""
