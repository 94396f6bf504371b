"""SLURM's words for what a job does: one table of states, and the reasons for which a job waits, in plain words."""

from enum import Enum
from typing import Dict, NamedTuple, Optional


class Kind(Enum):
    """What a state means for a run."""

    WAITING = "waiting"
    HELD = "held"
    RUNNING = "running"
    ENDING = "ending"
    ENDED = "ended"
    UNKNOWN = "unknown"
    """A word that this Potato does not know: the job still goes on."""


class State(NamedTuple):
    """A state by its whole word, and what it means."""

    word: str
    kind: Kind


_WAITING = {"PENDING": "PD", "CONFIGURING": "CF", "REQUEUED": "RQ", "REQUEUE_FED": "RF"}
_HELD = {"RESV_DEL_HOLD": "RD", "REQUEUE_HOLD": "RH", "SPECIAL_EXIT": "SE"}
_RUNNING = {"RUNNING": "R", "RESIZING": "RS", "SIGNALING": "SI", "STOPPED": "ST", "SUSPENDED": "S"}
_ENDING = {"COMPLETING": "CG", "STAGE_OUT": "SO"}
_ENDED = {
    "BOOT_FAIL": "BF",
    "CANCELLED": "CA",
    "COMPLETED": "CD",
    "DEADLINE": "DL",
    "FAILED": "F",
    "LAUNCH_FAILED": "LF",
    "NODE_FAIL": "NF",
    "OUT_OF_MEMORY": "OOM",
    "PREEMPTED": "PR",
    "REVOKED": "RV",
    "TIMEOUT": "TO",
}
_KINDS = (
    (Kind.WAITING, _WAITING),
    (Kind.HELD, _HELD),
    (Kind.RUNNING, _RUNNING),
    (Kind.ENDING, _ENDING),
    (Kind.ENDED, _ENDED),
)
TABLE: Dict[str, State] = {}
"""Every word, long and short."""
for _kind, _words in _KINDS:
    for _word, _short in _words.items():
        TABLE[_word] = TABLE[_short] = State(_word, _kind)


def read(text: str) -> State:
    """The state that `squeue` or `scontrol` printed: `CANCELLED by 1000`, `COMPLETED+` and `CG` are states too."""
    word = (text.split() or [""])[0].upper().rstrip("+*~#!%$@^-")
    return TABLE.get(word, State(word or "?", Kind.UNKNOWN))


_NEVER = {
    "AccountNotAllowed": "its account may not use this partition",
    "BadConstraints": "no node is what its constraints ask for",
    "DependencyNeverSatisfied": "what it depends on will never happen",
    "InvalidAccount": "its account is not valid",
    "InvalidQOS": "its QOS is not valid",
    "PartitionConfig": "it asks for more than its partition has",
    "PartitionNodeLimit": "it asks for more nodes than its partition allows",
    "PartitionTimeLimit": "it asks for more time than its partition allows",
    "QOSNotAllowed": "its QOS may not be used in this partition",
    "ReservationDeleted": "its reservation was deleted",
}
_HOLDS = ("JobHeldUser", "JobHeldAdmin", "JobHoldMaxRequeue")


def never(reason: str) -> Optional[str]:
    """Why a job that waits for this reason will never start as it is; None where it may."""
    return _NEVER.get(reason)


def held(state: State, reason: str) -> bool:
    """Whether the job starts only once somebody releases it."""
    return state.kind is Kind.HELD or reason in _HOLDS or "requeued held" in reason or "held state" in reason
