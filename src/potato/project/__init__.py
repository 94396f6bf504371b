"""The project file: its models, loading it with line numbers, and what is wrong with it."""

from potato.project.project import Project

__all__ = ["Project"]
