"""Annotation schemes: what is asked of each item, one file a type."""

from potato.schemes.base import WHOLE, Answer, InvalidAnswer, Kind, Label, Scheme
from potato.schemes.registry import SCHEME_TYPES, AnyScheme

__all__ = ["SCHEME_TYPES", "WHOLE", "Answer", "AnyScheme", "InvalidAnswer", "Kind", "Label", "Scheme"]
