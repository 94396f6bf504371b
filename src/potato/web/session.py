"""Signed cookies: who is signed in, without a table of sessions."""

from __future__ import annotations

import json
import secrets
import time
from functools import lru_cache
from typing import Any

from itsdangerous import BadData, URLSafeSerializer, URLSafeTimedSerializer
from starlette.requests import HTTPConnection
from starlette.responses import Response

DAY = 24 * 60 * 60
LIFETIMES = {"annotator": 30 * DAY, "admin": DAY // 2, "account": DAY // 2}
"""`admin` is a session by the admin key, `account` one of an admin with a name."""
KEPT = 1024
"""Good cookies that are remembered, so that their signature is not worked out again."""


def new_keys() -> dict[str, str]:
    """A secret that signs a project's cookies, and a tag that tells its browsers' data from another project's."""
    return {"secret": secrets.token_hex(32), "tag": secrets.token_hex(4)}


class Sessions:
    """Makes and reads the cookies of one project.

    A cookie's name carries the project's `tag`, because browsers share cookies between ports: two projects on one
    machine do not sign each other's people out. No `Path` is set: a browser then takes the folder of the address that
    set the cookie, which is right under any prefix that a proxy adds.
    """

    def __init__(self, secret: str, tag: str) -> None:
        self._secret = secret
        self.tag = tag
        self._signed = lru_cache(maxsize=KEPT)(self._load)  # the same few cookies come with every request

    def read(self, connection: HTTPConnection, role: str, stamp: str = "") -> Any:
        """What `write` put into the cookie of `role`; None when there is none, it has aged, or it was tampered with."""
        cookie = connection.cookies.get(self._name(role))
        if cookie is None:
            return None
        try:
            value, signed_at = self._signed(role, stamp, cookie)
        except BadData:
            return None
        return value if 0 <= int(time.time()) - signed_at <= LIFETIMES[role] else None

    def write(self, connection: HTTPConnection, response: Response, role: str, value: Any, stamp: str = "") -> None:
        """Sign `value` into the cookie of `role`. A session ends when `stamp`, such as the admin key, changes."""
        response.set_cookie(
            self._name(role),
            self._serializer(role, stamp).dumps(value),
            max_age=LIFETIMES[role],
            path=None,
            httponly=True,
            samesite="lax",
            secure=connection.url.scheme == "https",
        )

    def clear(self, response: Response, role: str) -> None:
        """Sign out. Answered from the same folder as the sign-in was."""
        response.set_cookie(self._name(role), "", max_age=0, path=None, httponly=True, samesite="lax")

    def sign(self, purpose: str, value: Any) -> str:
        """`value` as text that a page may carry and give back unchanged."""
        return str(URLSafeSerializer(self._secret, salt=purpose, serializer=json).dumps(value))

    def unsign(self, purpose: str, text: str) -> Any:
        """What `sign` was given, or None for text that this project did not sign."""
        try:
            return URLSafeSerializer(self._secret, salt=purpose, serializer=json).loads(text)
        except BadData:
            return None

    def _load(self, role: str, stamp: str, cookie: str) -> tuple[Any, float]:
        """What the cookie holds, and when it was signed. Raises `BadData` for one that this project did not sign."""
        value, signed_at = self._serializer(role, stamp).loads(cookie, return_timestamp=True)
        return value, signed_at.timestamp()

    def _name(self, role: str) -> str:
        return f"potato_{self.tag}_{role}"

    def _serializer(self, role: str, stamp: str) -> URLSafeTimedSerializer:
        return URLSafeTimedSerializer(self._secret, salt=f"{role}:{stamp}")
