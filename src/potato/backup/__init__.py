"""A whole project as one file, made while the server runs, and back again."""

from potato.backup.restoring import Restored, restore
from potato.backup.saving import Saved, save

__all__ = ["Restored", "Saved", "restore", "save"]
