"""The one base of every error that a user may meet.

A service raises a leaf of :class:`PotatoError`; `web.errors` turns it into a page or JSON, `cli` into a line and an
exit code. Nothing else decides how an error looks.
"""

from __future__ import annotations

from typing import ClassVar


class PotatoError(Exception):
    """Something went wrong that a person can be told in one sentence.

    `code` is stable and machine-readable, `status` the HTTP status, `hint` what to do about it. A leaf builds its
    sentence from typed fields in its own `__init__` and passes it up.
    """

    code: ClassVar[str] = "internal"
    status: ClassVar[int] = 500

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def as_json(self) -> dict[str, str]:
        """The one JSON shape of an error: `error`, `code` and, where there is one, `hint`."""
        body = {"error": self.message, "code": self.code}
        if self.hint:
            body["hint"] = self.hint
        return body
