"""Every scheme type that this version knows. Adding one is a file and a line here."""

from __future__ import annotations

from typing import Annotated, Union

from pydantic import Field

from potato.schemes.likert import Likert
from potato.schemes.multiselect import Multiselect
from potato.schemes.radio import Radio
from potato.schemes.span import Span

SCHEME_TYPES = (Radio, Multiselect, Likert, Span)

AnyScheme = Annotated[Union[Radio, Multiselect, Likert, Span], Field(discriminator="annotation_type")]  # noqa: UP007
