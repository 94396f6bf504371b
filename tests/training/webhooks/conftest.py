"""Two programs that are told."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from receivers import Receiver, receiving


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as made:
        yield made


@pytest.fixture
def another() -> Iterator[Receiver]:
    with receiving() as made:
        yield made
