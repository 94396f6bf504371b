"""Where a run executes: each type of backend behind one small interface."""

from potato.training.backends.base import (
    Backend,
    CheckReport,
    Ended,
    Execution,
    Job,
    StoppedThere,
    UnknownBackend,
)
from potato.training.backends.menu import BackendInfo, backend_type, describe
from potato.training.backends.registry import open_backend

__all__ = [
    "Backend",
    "BackendInfo",
    "CheckReport",
    "Ended",
    "Execution",
    "Job",
    "StoppedThere",
    "UnknownBackend",
    "backend_type",
    "describe",
    "open_backend",
]
