"""Long Python work in one warm child process at low priority, so that pages keep their response times."""

from potato.tasks.runner import TaskCrashed, TaskRefused, TaskRunner

__all__ = ["TaskCrashed", "TaskRefused", "TaskRunner"]
