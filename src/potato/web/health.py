"""`/healthz`: whether the server can do its work, for whatever watches it."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

from fastapi import APIRouter
from starlette.responses import JSONResponse, Response

from potato.store import items
from potato.web.site import Site, SiteDep

LIMIT_S = 5.0
"""A store that does not answer within this time does not work."""

router = APIRouter(include_in_schema=False)
_log = logging.getLogger("potato.health")


@router.get("/healthz")
async def health(site: SiteDep) -> Response:
    """200 where the store can be read, 503 where not. It says nothing of the project, so it needs no key.

    Of several servers each says, too, whether it is the one that supervises the runs, and which one does.
    """
    try:
        await asyncio.wait_for(site.read(items.count), LIMIT_S)
    except Exception:  # whatever it is, the answer is that the store cannot be read; the log has the rest
        _log.exception("the store cannot be read")
        return JSONResponse({"status": "the store cannot be read"}, status_code=503)
    return JSONResponse({"status": "ok", **_role(site)})


def _role(site: Site) -> dict[str, Any]:
    """Of one of several servers: whether it supervises the runs, and who does since which election."""
    if site.standing is None:
        return {}
    office = site.standing.office
    elected = {"epoch": office.epoch, "address": office.address, "since": office.since} if office else None
    return {"role": "supervisor" if site.supervises else "member", "elected": elected}
