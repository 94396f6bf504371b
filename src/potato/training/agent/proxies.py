"""Which proxy, if any, stands between this machine and a server: the usual environment variables."""

import base64
import ipaddress
import urllib.parse
from dataclasses import dataclass, field
from typing import Dict, Mapping, Optional, Union


@dataclass(frozen=True)
class Proxy:
    """An HTTP proxy, and the header that lets us through it."""

    host: str
    port: int
    headers: Mapping[str, str] = field(repr=False)


def choose(scheme: str, host: str, port: int, environment: Mapping[str, str]) -> Optional[Proxy]:
    """The proxy for a server, by `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY` and `NO_PROXY` in either case; lower case
    wins. This machine itself is never reached by a proxy. Raises `ValueError` for an address that is none."""
    if _is_loopback(host) or _excluded(host, port, _value(environment, "no_proxy")):
        return None
    address = _value(environment, scheme + "_proxy") or _value(environment, "all_proxy")
    return _parse(address) if address else None


def _value(environment: Mapping[str, str], name: str) -> str:
    return (environment.get(name) or environment.get(name.upper()) or "").strip()


def _parse(address: str) -> Proxy:
    """What an address means. An error never repeats it: there may be a password in it."""
    try:
        url = urllib.parse.urlsplit(address if "//" in address else "http://" + address)
        host, port = url.hostname, url.port or 80
    except ValueError:
        host = None
    if host is None or url.scheme != "http":
        raise ValueError("the proxy that the environment names has no address such as http://proxy.example.org:3128")
    headers: Dict[str, str] = {}
    if url.username:
        pair = "%s:%s" % (urllib.parse.unquote(url.username), urllib.parse.unquote(url.password or ""))
        headers["Proxy-Authorization"] = "Basic " + base64.b64encode(pair.encode()).decode()
    return Proxy(host, port, headers)


def _is_loopback(host: str) -> bool:
    address = _address(host)
    return host == "localhost" or host.endswith(".localhost") or (address is not None and address.is_loopback)


def _excluded(host: str, port: int, no_proxy: str) -> bool:
    entries = (entry.strip().lower() for entry in no_proxy.replace(" ", ",").split(","))
    return any(_matches(host.lower(), port, entry) for entry in entries if entry)


def _matches(host: str, port: int, entry: str) -> bool:
    if entry == "*":
        return True
    address = _address(host)
    if address is not None and "/" in entry:
        try:
            return address in ipaddress.ip_network(entry, strict=False)
        except ValueError:
            return False
    name, _, wanted = entry.rpartition(":") if entry.count(":") == 1 else (entry, "", "")
    if wanted and wanted != str(port):
        return False
    name = name.lstrip("*").lstrip(".").strip("[]")
    return host == name or (address is None and host.endswith("." + name))


def _address(host: str) -> Optional[Union[ipaddress.IPv4Address, ipaddress.IPv6Address]]:
    try:
        return ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return None
