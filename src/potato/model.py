"""The base of every typed model that is read from a project file."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

Text = Annotated[str, Field(min_length=1)]
"""Text that must not be empty."""


class Model(BaseModel):
    """Immutable, and closed: a key it does not know is an error, never ignored."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True, str_strip_whitespace=False)
