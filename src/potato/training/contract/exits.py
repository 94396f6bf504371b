"""The worker's exit codes."""

from enum import IntEnum


class Exit(IntEnum):
    """How a worker ended."""

    FINISHED = 0
    TRAINER_FAILED = 1
    UNREADABLE = 2
    """The spec or the bundle."""
    PACKAGE_MISSING = 3
    CANCELLED = 4
    OUT_OF_MEMORY = 5
