"""A third party's trainer whose own module does not load."""

from a_module_that_nobody_has import Gone  # noqa: F401
