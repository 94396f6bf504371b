"""Every scheme type that this version knows. Adding one is a file and a line here."""

from __future__ import annotations

from typing import Annotated, Union

from pydantic import Field

from potato.schemes.likert import Likert
from potato.schemes.multiselect import Multiselect
from potato.schemes.number import Number
from potato.schemes.pairwise import Pairwise
from potato.schemes.radio import Radio
from potato.schemes.slider import Slider
from potato.schemes.span import Span
from potato.schemes.text import FreeText

SCHEME_TYPES = (Radio, Multiselect, Likert, Slider, Number, Span, Pairwise, FreeText)

AnyScheme = Annotated[
    Union[Radio, Multiselect, Likert, Slider, Number, Span, Pairwise, FreeText],  # noqa: UP007
    Field(discriminator="annotation_type"),
]
