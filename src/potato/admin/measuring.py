"""One measurement of agreement at a time, shared by whoever looks."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta
from typing import Any

from potato.web.site import Site

FRESH_FOR = timedelta(seconds=20)


class AgreementGauge:
    """Starts a measurement when the last one has aged; requests that come meanwhile wait for the same one."""

    def __init__(self) -> None:
        self._begun: datetime | None = None
        self._going: asyncio.Future[dict[str, Any]] | None = None

    async def read(self, site: Site) -> dict[str, Any]:
        """Agreement by scheme. Raises what the measurement raised."""
        if self._going is None or self._is_stale(site.clock()):
            self._begun = site.clock()
            self._going = asyncio.wrap_future(site.tasks.run("admin.agreement", {}))
        return await asyncio.shield(self._going)

    def _is_stale(self, now: datetime) -> bool:
        assert self._begun is not None
        assert self._going is not None
        return self._going.done() and (now - self._begun > FRESH_FOR or self._going.exception() is not None)
