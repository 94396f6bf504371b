"""What the routes need of the site when training is on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from potato.web.site import Site

if TYPE_CHECKING:
    from potato.training.runs.supervisor import Supervisor


def supervisor_of(site: Site) -> Supervisor:
    """The one that starts and stops runs. These routes exist only where training is enabled, and then so does it."""
    assert site.supervisor is not None
    return site.supervisor
