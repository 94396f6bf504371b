"""One of several server processes: a thread that stands for the office, and opens and ends its terms."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack

from potato.errors import PotatoError
from potato.servers.orphans import Orphans
from potato.store.databases.unreachable import StoreUnreachable
from potato.store.election import Candidate, Standing
from potato.training.runs.pulse import Pulse
from potato.web.site import Site

OFFICE = "office"
"""The topic that is published when somebody else was elected."""
LOOK_S = 1.0

_log = logging.getLogger("potato.servers")


class Member:
    """Looks every second whether this process has the office still, or can have it. `site.standing` tells the rest."""

    def __init__(self, site: Site, candidate: Candidate, term: Callable[[int], AbstractContextManager[None]]) -> None:
        self._site = site
        self._candidate = candidate
        self._open = term
        self._term: ExitStack | None = None
        self._epoch: int | None = None
        self._away = False
        self._orphans = Orphans(site.project, site.database)
        self._pulse = Pulse()
        self._thread = threading.Thread(target=self._watch, name="office", daemon=True)
        site.standing = Standing(None, None, 0.0)

    def start(self) -> None:
        """Stand for the office once, at once, and go on with it in the background."""
        self._look()
        self._thread.start()

    def close(self) -> None:
        """End the term, if this is one, and leave the office to others."""
        self._pulse.close()
        self._thread.join()
        self._leave()
        self._candidate.resign()

    def _watch(self) -> None:
        while True:
            self._pulse.pause(LOOK_S)
            if self._pulse.closing:
                return
            self._look()

    def _look(self) -> None:
        try:
            standing = self._candidate.look()
            self._away = False
        except PotatoError as error:  # the database is away, and the office with it
            if not self._away:
                _log.warning("the office of the supervisor is looked for again: %s", error)
            self._away = True
            standing = Standing(None, None, 0.0)
        except Exception:
            _log.exception("the office of the supervisor could not be looked for")
            standing = Standing(None, None, 0.0)
        self._take(standing)
        self._end_orphans()

    def _take(self, standing: Standing) -> None:
        before = self._site.standing
        if standing.epoch != self._epoch:
            self._site.standing = Standing(None, standing.office, standing.looked_at)
            self._leave()
            if standing.epoch is not None and not self._enter(standing.epoch):
                return
        self._site.standing = standing
        if before is None or (before.epoch, before.office) != (standing.epoch, standing.office):
            self._tell()  # what was passed on, and what streams, begins anew where it belongs now
            self._orphans.find()

    def _end_orphans(self) -> None:
        try:
            self._orphans.end()
        except StoreUnreachable:
            return  # told already; they are looked for again with the next look
        except Exception:
            _log.exception("workers whose runs are over could not be ended")

    def _enter(self, epoch: int) -> bool:
        term = ExitStack()
        try:
            term.enter_context(self._open(epoch))
        except Exception as error:
            _log.error("election %d was won, and the runs could not be taken up: %s", epoch, error)
            term.close()
            self._candidate.resign()
            return False
        self._term, self._epoch = term, epoch
        _log.warning("this server supervises the runs since election %d", epoch)
        return True

    def _tell(self) -> None:
        self._site.notifier.publish(OFFICE)
        self._site.notifier.publish_all()

    def _leave(self) -> None:
        if self._term is None:
            return
        term, epoch = self._term, self._epoch
        self._term = self._epoch = self._site.supervisor = None
        self._tell()
        try:
            term.close()
        except Exception:
            _log.exception("what election %s began could not be put away in order", epoch)
        _log.warning("this server supervises the runs no longer (election %s)", epoch)
