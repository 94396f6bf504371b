"""Every route of training: the pages, the API under them, and the API's document."""

from __future__ import annotations

from fastapi import APIRouter

from potato.training.web import (
    agents,
    catalogue,
    files,
    judging,
    judging_pages,
    openapi,
    pages,
    publishing,
    retraining,
    reviews,
    runs,
    webhooks,
)

PREFIX = "/admin/training"

AREAS = (PREFIX, agents.PREFIX, "/openapi.json")
"""What lies at and below these addresses needs the supervisor's process, where there are several."""

api = APIRouter()
"""The API alone: what the OpenAPI document covers."""

for _part in (runs, catalogue, files, publishing, webhooks, judging, reviews, retraining):
    api.include_router(_part.router, prefix=f"{PREFIX}/api")
api.include_router(agents.router, prefix=agents.PREFIX)

router = APIRouter()
for _pages in (pages, judging_pages):
    router.include_router(_pages.router, prefix=PREFIX, include_in_schema=False)
router.include_router(api)
router.include_router(openapi.router_for(api))
