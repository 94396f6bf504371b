"""The one place where an error becomes a page or JSON."""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from typing import Any, TypeVar

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from potato.errors import PotatoError
from potato.web.render import render

log = logging.getLogger("potato.web")

M = TypeVar("M", bound=BaseModel)


class InvalidRequest(PotatoError):
    """A request that does not have the shape its route takes. Nothing was done."""

    code = "invalid_request"
    status = 400


class BodyTooLarge(PotatoError):
    """A request body over the limit."""

    code = "too_large"
    status = 413

    def __init__(self, limit: int, size: int | None) -> None:
        sent = f"{size:,} bytes" if size is not None else "more"
        super().__init__(f"The request's body may have up to {limit:,} bytes; this one has {sent}")


class NoSuchPage(PotatoError):
    """Nothing is at this address."""

    code = "not_found"
    status = 404

    def __init__(self, path: str) -> None:
        super().__init__(f"There is nothing at {plain(path)[:200]}", hint="Check the address, or go back to the start.")


class MethodNotAllowed(PotatoError):
    """The address exists, but not for this method."""

    code = "method_not_allowed"
    status = 405

    def __init__(self, method: str, path: str, allowed: str) -> None:
        super().__init__(f"{method} is not possible at {plain(path)[:200]}", hint=allowed and f"It takes {allowed}.")


class Unexpected(PotatoError):
    """A mistake of the program's own. The log has the traceback; the user gets this sentence."""

    code = "internal"
    status = 500

    def __init__(self) -> None:
        super().__init__(
            "The server met an error that it did not expect",
            hint="What was saved before is safe. Try again; if it happens again, the server's log says what it was.",
        )


def install(app: FastAPI) -> None:
    """Let every error of `app` leave through here."""
    app.add_exception_handler(PotatoError, _potato_error)
    app.add_exception_handler(RequestValidationError, _validation_error)
    app.add_exception_handler(HTTPException, _http_error)
    app.add_exception_handler(Exception, _unexpected)


def plain(text: str) -> str:
    """`text` as it can be sent: half of a surrogate pair becomes `?`."""
    return text.encode("utf-8", "replace").decode("utf-8")


def wants_page(request: Request) -> bool:
    """Whether a person's browser asked for a page; a script gets JSON. The API always answers JSON."""
    return "text/html" in request.headers.get("accept", "") and "/api/" not in request.scope["path"]


def answer(request: Request, error: PotatoError, headers: dict[str, str] | None = None) -> Response:
    """The response that tells of `error`."""
    if wants_page(request):
        page = getattr(error, "page", "error.html")  # an error may bring the way out of it: a form to sign in
        return render(request, page, status=error.status, headers=headers, error=error)
    body = {key: plain(value) if isinstance(value, str) else value for key, value in error.as_json().items()}
    return JSONResponse(body, status_code=error.status, headers=headers)


def refusal(request: Request, error: PotatoError) -> Response:
    """The response that tells of `error`, and when to try again where it knows."""
    if error.status >= 500:
        log.error("%s: %s", error.code, error.message)
    wait = getattr(error, "retry_after_s", None)
    return answer(request, error, None if wait is None else {"Retry-After": str(wait)})


async def body_of(request: Request, model: type[M]) -> M:
    """The request's JSON as `model`, for a route that is asked for so often that it does without FastAPI's own way.

    Raises what FastAPI raises for a body that does not fit.
    """
    raw = await request.body()
    if not raw:
        raise RequestValidationError([{"type": "missing", "loc": ("body",)}])
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    try:
        return model.model_validate(json.loads(raw) if kind == "application/json" else raw)
    except json.JSONDecodeError as error:
        problem = {"type": "json_invalid", "loc": ("body", error.pos), "ctx": {"error": error.msg}}
        raise RequestValidationError([problem]) from error
    except ValidationError as error:
        problems = [{**problem, "loc": ("body", *problem["loc"])} for problem in error.errors()]
        raise RequestValidationError(problems) from error
    except (ValueError, RecursionError) as error:  # no text, or nested too deeply
        raise HTTPException(400) from error


async def _potato_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, PotatoError)
    return refusal(request, error)


async def _validation_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    sentences = [_sentence(problem) for problem in error.errors()]
    return answer(request, InvalidRequest(sentences[0], hint=" ".join(f"{each}." for each in sentences[1:4]) or None))


async def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return answer(request, _named(request, error), headers=dict(error.headers or {}))


async def _unexpected(request: Request, error: Exception) -> Response:
    log.error("%s %s failed", request.method, request.scope["path"], exc_info=error)
    return answer(request, Unexpected())


def _named(request: Request, error: HTTPException) -> PotatoError:
    path = request.scope["path"]
    if error.status_code == 404:
        return NoSuchPage(path)
    if error.status_code == 405:
        return MethodNotAllowed(request.method, path, (error.headers or {}).get("Allow", ""))
    named = InvalidRequest("The request's body could not be read" if error.status_code == 400 else str(error.detail))
    named.status = error.status_code  # type: ignore[misc]  # the few others keep their own status
    return named


def _sentence(problem: dict[str, Any]) -> str:
    """One problem that pydantic found, as a sentence that names the field."""
    kind, where = problem["type"], _field(problem["loc"])
    if kind == "json_invalid":
        return f"The body is not JSON: {problem.get('ctx', {}).get('error', 'it cannot be parsed')}"
    if kind == "extra_forbidden":
        return f"unknown field `{where}`"
    if not where:
        return (
            "The body is missing" if kind == "missing" else "The body must be a JSON object, sent as application/json"
        )
    if kind == "missing":
        return f"`{where}` is missing"
    return f"`{where}`: {problem['msg'][:1].lower()}{problem['msg'][1:]}"


def _field(loc: Sequence[Any]) -> str:
    """`('body', 'params', 'epochs')` → `params.epochs`."""
    return plain(".".join(str(part) for part in loc[1:]))[:200]
