"""Where the other server processes of a project reach this one."""

from __future__ import annotations

import contextlib
import ipaddress
import re
import socket
from collections.abc import Sequence

from potato.errors import PotatoError

_ADDRESS = re.compile(r"(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9_.-]+):([0-9]{1,5})")

EVERYWHERE = ("0.0.0.0", "::")  # noqa: S104 - compared with, not bound


class BadAddress(PotatoError):
    """What was given as this server's address is none. Nothing was started."""

    code = "bad_address"
    status = 400

    def __init__(self, given: str) -> None:
        super().__init__(
            f"{given!r:.200} is no address at which other servers reach this one",
            hint="Give --address, or POTATO_ADDRESS, as HOST:PORT, such as 10.0.0.5:8001 or [fd00::5]:8001.",
        )


def checked(address: str) -> str:
    """The address, as it was given. Raises `BadAddress`."""
    found = _ADDRESS.fullmatch(address)
    if found is None or not 0 < int(found.group(2)) < 1 << 16:
        raise BadAddress(address)
    return address


def address_of(host: str, port: int, database: tuple[str, int]) -> str:
    """`HOST:PORT` of a server that listens at `host`: for one that listens everywhere, the address by which this
    machine reaches the database."""
    if host in EVERYWHERE:
        host = way_to(*database) or "127.0.0.1"
    return f"{f'[{host}]' if ':' in host else host}:{port}"


def way_to(host: str, port: int) -> str | None:
    """This machine's own address on the way to `host`; None where there is none. Nothing is sent."""
    if not host or host.startswith("/"):
        return None  # the database is on this machine, and so are the other servers
    for family, _, _, _, address in _found(host, port):
        with contextlib.suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect(address)
            return str(probe.getsockname()[0])
    return None


def is_only_here(address: str) -> bool:
    """Whether other machines cannot reach an address such as `127.0.0.1:8000`."""
    host = address.rpartition(":")[0].strip("[]")
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _found(host: str, port: int) -> Sequence[tuple[int, int, int, str, tuple[str | int, ...]]]:
    try:
        return socket.getaddrinfo(host, port, type=socket.SOCK_DGRAM)  # type: ignore[return-value]
    except OSError:
        return []
