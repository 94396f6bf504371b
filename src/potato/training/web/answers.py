"""How the training API answers: JSON that any client can read, and the errors that a route may give, for OpenAPI."""

from __future__ import annotations

import json
from typing import Annotated, Any

from fastapi import Path
from starlette.responses import JSONResponse

from potato.training.web.bodies import ErrorBody

RunId = Annotated[str, Path(description="The run's id, as `GET runs` lists it.", max_length=200)]
"""The id of a run in a route's path."""

Errors = dict[int | str, dict[str, Any]]

_MEANINGS = {
    400: "Something in the request is wrong; nothing was done.",
    401: "The request carries no admin right.",
    403: "A change asked for by a page of another origin.",
    404: "There is no such thing.",
    409: "It does not go with the present state, or the project has no such backend.",
    413: "The body is larger than the server takes.",
    507: "The server's disk did not take it; ask again.",
}


def errors(*statuses: int) -> Errors:
    """The documented errors of a route: those given, and the ones that every route has."""
    return {status: {"model": ErrorBody, "description": _MEANINGS[status]} for status in sorted({400, 401, *statuses})}


class Json(JSONResponse):
    """ASCII on the wire, so that half a surrogate pair in a library's log line cannot break an answer."""

    def render(self, content: Any) -> bytes:
        return json.dumps(content, allow_nan=False, separators=(",", ":")).encode("ascii")
