"""What `potato import` reads: each file here turns one kind of source into lines of the plain form."""

from potato.items.importers.finding import plain_lines
from potato.items.importers.plain import PlainLine, Texts

__all__ = ["PlainLine", "Texts", "plain_lines"]
