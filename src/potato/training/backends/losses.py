"""How a run ends whose host cannot be reached any more, or whose agent there is lost."""

from __future__ import annotations

from potato.errors import PotatoError


class ConnectionLost(PotatoError):
    """The connection was gone for longer than the run goes on without it."""

    code = "connection_lost"
    status = 504

    def __init__(self, host: str, seconds: float, reason: str) -> None:
        for_long = f"for {seconds:g} seconds (reconnect_s)" if seconds else "(reconnect_s is 0)"
        super().__init__(
            f"The connection to {host} was lost {for_long}",
            hint=(f"the last try said: {reason}. " if reason else "")
            + "The run was ended there; look at the network and the machine, then start it again",
        )


class LostTooOften(PotatoError):
    """The connection never stood long enough for the run to begin."""

    code = "connection_lost"
    status = 504

    def __init__(self, host: str, times: int, reason: str) -> None:
        super().__init__(
            f"The connection to {host} was lost {times} times before the run began: {reason}",
            hint="something there ends it, or the network does; agent.log has what was said last",
        )


class Interrupted(Exception):
    """The server wants nothing more of this run's thread."""
