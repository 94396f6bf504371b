"""Every scheme type that this version knows. Adding one is a file and a line here."""

from __future__ import annotations

from typing import Annotated, Union

from pydantic import Field

from potato.schemes.likert import Likert
from potato.schemes.multiselect import Multiselect
from potato.schemes.radio import Radio

SCHEME_TYPES = (Radio, Multiselect, Likert)

AnyScheme = Annotated[Union[Radio, Multiselect, Likert], Field(discriminator="annotation_type")]  # noqa: UP007
