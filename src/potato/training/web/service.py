"""What the routes need of the site when training is on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from potato.errors import PotatoError
from potato.web.site import Site

if TYPE_CHECKING:
    from potato.training.runs.supervisor import Supervisor


class NoSupervisor(PotatoError):
    """No server process supervises the runs just now, or the one that does cannot be asked."""

    code = "no_supervisor"
    status = 503
    retry_after_s = 1

    def __init__(self) -> None:
        super().__init__(
            "The server that looks after training cannot be asked just now",
            hint="Try again in a moment: it comes back, or another takes its place.",
        )


def supervisor_of(site: Site) -> Supervisor:
    """The one that starts and stops runs. Raises `NoSupervisor` where this server process has lost the office, or has
    just won it; these routes exist only where training is enabled."""
    supervisor = site.supervisor
    if supervisor is None or not site.supervises:
        raise NoSupervisor
    return supervisor
