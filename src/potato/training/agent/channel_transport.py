"""Requests over a channel, to a server that listens at its other end."""

import threading
from typing import Mapping, Optional, Tuple

from potato.training.agent.transport import Answer, Gone, NotStored, Opener, Unreachable
from potato.training.contract.channel import Channel, ChannelClosed, ChannelSilent


class ChannelTransport:
    """See `Transport`. Several clients may share one: each request waits its turn.

    The frame `{"request": {"method", "path", "headers"}}` carries a request with its body, `{"status", "headers"}` an
    answer with its own. Answers come in the order of their requests. No token goes along: what comes through this
    channel is this run's. Raises `Gone` when the channel is closed, and nothing that is sent afterwards arrives.
    """

    longest_range = 1 << 20

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._turn = threading.Lock()
        self._owed = 0

    def request(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str],
        body: bytes = b"",
        timeout: float = 30.0,
        opener: Optional[Opener] = None,
    ) -> Answer:
        """See `Transport.request`. The wait for a turn is not counted."""
        kept = {name: value for name, value in headers.items() if name.lower() != "authorization"}
        with self._turn:
            try:
                status, answered, content = self._asked(
                    {"method": method, "path": path, "headers": kept}, body, timeout
                )
            except ChannelSilent as silent:
                raise Unreachable("no answer in time") from silent
            except ChannelClosed as closed:
                raise Gone(str(closed)) from closed
        sink = opener(status, answered) if opener is not None else None
        if sink is None:
            return Answer(status, answered, content)
        try:
            sink(content)
        except OSError as error:
            raise NotStored(str(error)) from error
        return Answer(status, answered, b"")

    def close(self) -> None:
        """See `Transport.close`: there is no other connection, so this one stays."""

    def _asked(
        self, request: Mapping[str, object], body: bytes, timeout: float
    ) -> Tuple[int, Mapping[str, str], bytes]:
        while self._owed:  # answers that nobody waits for any more
            self._channel.receive(timeout)
            self._owed -= 1
        self._channel.send({"request": request}, body)
        self._owed = 1
        header, content = self._channel.receive(timeout)
        self._owed = 0
        named = {str(name).lower(): str(value) for name, value in dict(header.get("headers") or {}).items()}
        return int(header["status"]), named, content
