"""Every time limit of the server's side of runs, in one value that tests shorten."""

from __future__ import annotations

from dataclasses import dataclass, field

from potato.training.ssh.timing import SshTiming
from potato.training.webhooks.post import PostTiming


@dataclass(frozen=True)
class Timing:
    """Seconds."""

    poll: float = 0.05
    """Between two looks at a going run's events and process."""
    limits: float = 1.0
    """Between two looks at its memory and the size of its predictions."""
    linger: float = 10.0
    """How long a worker may take to end after its `result`; then it is killed, and the result counts."""
    check: float = 60.0
    """How long a backend's check may take."""
    preflight: float = 0.8
    """How long counting labels may hold up the answer to a request for a run; the bundle counts again."""
    ssh: SshTiming = field(default_factory=SshTiming)
    """Those of runs on machines that the server logs in to."""
    post: PostTiming = field(default_factory=PostTiming)
    """Those of webhooks."""
