"""The OpenAPI document of the training API, for admins."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from fastapi.openapi.utils import get_openapi
from starlette.responses import JSONResponse, Response

from potato import __version__
from potato.training.web import agents
from potato.web.auth import AdminDep

_ABOUT = """Start, watch and judge training runs. Every request carries the project's `admin_api_key` in the header
`X-API-Key`, or comes from an admin's session in the browser. Every error is JSON with `error` (a sentence), `code`,
and, where there is one, `hint`. Times are UTC, ISO 8601."""


def document(api: APIRouter) -> dict[str, Any]:
    """The document of every route of `api`."""
    made = get_openapi(title="Potato training API", version=__version__, description=_ABOUT, routes=api.routes)
    made["components"]["securitySchemes"] = {
        "key": {"type": "apiKey", "in": "header", "name": "X-API-Key"},
        "token": {"type": "http", "scheme": "bearer", "description": "The token of an agent backend."},
    }
    made["security"] = [{"key": []}]
    for name, path in made["paths"].items():
        for operation in path.values():
            if name.startswith(agents.PREFIX):
                operation["security"] = [{"token": []}]
            operation["responses"].pop("422", None)  # what a route cannot take is answered 400, in the one shape
    for name in ("HTTPValidationError", "ValidationError"):
        made["components"]["schemas"].pop(name, None)
    return made


def router_for(api: APIRouter) -> APIRouter:
    """The routes that serve the document of `api`: where tools look for it, and where an admin's session reaches."""
    router = APIRouter()

    @router.get("/openapi.json", include_in_schema=False)
    @router.get("/admin/training/api/openapi.json", name="training_openapi", include_in_schema=False)
    async def openapi(admin: AdminDep) -> Response:
        return JSONResponse(document(api))

    return router
