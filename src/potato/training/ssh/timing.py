"""Every time limit of a way by ssh, in one value that tests shorten."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class SshTiming:
    """Seconds, unless a name says otherwise."""

    connect: int = 20
    """ssh's own `ConnectTimeout`: until the other side speaks."""
    log_in: float = 90.0
    """Until the shell there takes the first line: keys that want a touch and slow jump hosts included."""
    log_ins: int = 4
    """How often a log-in is tried that a busy sshd turns away; the first pause doubles from one to the next."""
    early_losses: int = 3
    """How often a connection may be lost before a run begins there."""
    alive_interval: int = 15
    alive_count: int = 3
    """ssh gives a silent connection up after interval times count."""
    silence: float = 60.0
    """A call that shows no sign of life for so long has failed; the host shows one every 5 seconds."""
    first_pause: float = 0.5
    longest_pause: float = 15.0
    """Between two tries to connect again."""
    copy_silence: float = 180.0
    """A copy that brings nothing for so long is given up."""
    clean_up: float = 120.0
    """How long tidying up after an end that the host did not see is tried, in the background."""
    nvidia_smi: float = 20.0
    """How long each question to nvidia-smi may take there: on a driver that hangs it never ends."""
    leave: float = 1.0
    """How long an ssh that was told to end may take, before it is killed."""
