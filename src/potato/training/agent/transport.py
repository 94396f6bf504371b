"""One HTTP request at a time to the server, over whatever way leads there.

A transport knows nothing of the protocol: it sends, receives, and tells a failed connection (`Unreachable`, worth a
retry) from one that can never work (`Unusable`).
"""

import http.client
import socket
import ssl
import urllib.parse
from dataclasses import dataclass
from typing import Callable, Mapping, Optional, Protocol

from potato.training.agent import proxies, tls
from potato.training.agent.proxies import Proxy

PIECE = 1 << 18
CONNECT_S = 20.0
MAX_ANSWER = 8 << 20
"""Bytes of an answer that is not a download; a longer one is no answer of the server's."""

Sink = Callable[[bytes], None]
Opener = Callable[[int, Mapping[str, str]], Optional[Sink]]
"""Given an answer's status and headers: where its body goes, or None for an answer that is kept in memory."""


class Unreachable(Exception):
    """The server could not be asked just now; the sentence says why."""


class CutOff(Unreachable):
    """The answer began, and broke off."""


class Unusable(Unreachable):
    """The server can never be asked in this way, unless something on the way changes; the sentence says what to do."""


class Gone(Exception):
    """The way to the server is gone for good. Nothing is lost: whoever comes by another goes on with the job."""


class NotStored(Exception):
    """This machine's disk did not take what came. The cause is the `OSError`."""


@dataclass(frozen=True)
class Answer:
    """What came back. `headers` have lower-case names; `body` is empty where it went into a sink."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Transport(Protocol):
    """A way to the server."""

    longest_range: int
    """Bytes of the bundle that are asked for at once."""

    def request(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str],
        body: bytes = b"",
        timeout: float = 30.0,
        opener: Optional[Opener] = None,
    ) -> Answer:
        """Send one request and wait for its answer, at most `timeout` seconds for each step of it.

        `opener` decides whether the answer's body goes elsewhere, piece by piece. A request may be sent twice.
        Raises `Unreachable`, `Gone`, and `NotStored` where what `opener` named raised `OSError`.
        """

    def close(self) -> None:
        """Let go of the connection; the next request makes another."""


class HttpTransport:
    """A server at an `http://` or `https://` address, through a proxy where the environment names one.

    `address` may have a path prefix, and may end with a slash. `ca_file` is a certificate authority trusted besides
    the system's, which `SSL_CERT_FILE` names too. With a `fingerprint`, the certificate with that SHA-256 is taken,
    whoever issued it, and no other. Raises `Unusable` for an address that is none.
    """

    longest_range = 8 << 20

    def __init__(
        self,
        address: str,
        environment: Mapping[str, str],
        ca_file: Optional[str] = None,
        fingerprint: Optional[str] = None,
    ) -> None:
        url = _parsed(address)
        self._scheme, self._host, self._prefix = url.scheme, url.hostname or "", url.path.rstrip("/")
        self._port = url.port or (443 if url.scheme == "https" else 80)
        try:
            self._proxy = proxies.choose(self._scheme, self._host, self._port, environment)
            self._pin = tls.parse_fingerprint(fingerprint) if fingerprint is not None else None
            self._tls = tls.context(ca_file) if url.scheme == "https" else None
        except ValueError as error:
            raise Unusable(str(error)) from error
        if self._pin is not None and self._tls is None:
            raise Unusable("--fingerprint is of a certificate, and %s has none; use https" % address)
        self.address = address.rstrip("/")
        self._connection: Optional[http.client.HTTPConnection] = None

    def request(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str],
        body: bytes = b"",
        timeout: float = 30.0,
        opener: Optional[Opener] = None,
    ) -> Answer:
        """See `Transport.request`."""
        target = self._prefix + path
        whole = dict(headers)
        if self._proxy is not None and self._tls is None:
            target = "http://%s%s" % (_netloc(self._host, self._port, 80), target)
            whole.update(self._proxy.headers)
        try:
            answer = read_answer(self._sent(method, target, body, whole, timeout), opener)
        except (OSError, http.client.HTTPException) as error:
            self.close()
            raise self._explained(error) from error
        except BaseException:
            self.close()  # whatever is still to come on it belongs to nobody
            raise
        self._refuse_redirect(answer)
        return answer

    def _sent(
        self, method: str, target: str, body: bytes, headers: Mapping[str, str], timeout: float
    ) -> http.client.HTTPResponse:
        """The request's answer, as soon as it begins. A connection that was idle may have been closed at the other
        end meanwhile, so one that fails before a word came back is tried once more, afresh."""
        idle = self._connection is not None and self._connection.sock is not None
        try:
            connection = self._connected(timeout)
            connection.request(method, target, body=body, headers=dict(headers))
            return connection.getresponse()
        except (ConnectionError, ssl.SSLEOFError):  # http.client's RemoteDisconnected is one
            self.close()
            if not idle:
                raise
        connection = self._connected(timeout)
        connection.request(method, target, body=body, headers=dict(headers))
        return connection.getresponse()

    def close(self) -> None:
        """See `Transport.close`."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _connected(self, timeout: float) -> http.client.HTTPConnection:
        if self._connection is None:
            self._connection = self._new_connection(min(timeout, CONNECT_S))
        if self._connection.sock is None:
            self._connection.connect()
        self._connection.sock.settimeout(timeout)
        return self._connection

    def _new_connection(self, timeout: float) -> http.client.HTTPConnection:
        host, port = (self._proxy.host, self._proxy.port) if self._proxy else (self._host, self._port)
        if self._tls is None:
            return http.client.HTTPConnection(host, port, timeout=timeout)
        if self._pin is not None:
            return self._through(tls.PinnedConnection(host, port, self._pin, timeout))
        return self._through(http.client.HTTPSConnection(host, port, timeout=timeout, context=self._tls))

    def _through(self, connection: http.client.HTTPSConnection) -> http.client.HTTPSConnection:
        if self._proxy is not None:
            connection.set_tunnel(self._host, self._port, headers=dict(self._proxy.headers))
        return connection

    def _issuer(self) -> str:
        """Who issued the certificate that is shown there, though it is not trusted. Nothing is sent."""
        host, port = (self._proxy.host, self._proxy.port) if self._proxy else (self._host, self._port)
        connection = http.client.HTTPSConnection(host, port, timeout=CONNECT_S, context=tls.unverified())
        try:
            self._through(connection).connect()
            return tls.issuer(tls.certificate_of(connection))
        except (OSError, http.client.HTTPException):
            return ""
        finally:
            connection.close()

    def _explained(self, error: Exception) -> Unreachable:
        if isinstance(error, ssl.SSLCertVerificationError):
            issuer = self._issuer()
            return Unusable(
                "the certificate of %s%s is not trusted here: %s. %s"
                % (
                    self.address,
                    issuer and ", issued by %.100r," % issuer,
                    error.verify_message.rstrip("."),
                    tls.advice(error),
                )
            )
        if isinstance(error, tls.WrongCertificate):
            return Unusable(
                "the certificate of %s has the fingerprint %s, and not the one that --fingerprint names"
                % (self.address, error)
            )
        kind = CutOff if isinstance(error, http.client.IncompleteRead) else Unreachable
        return kind("%s: %s" % (_way(self.address, self._proxy), _reason(error)))

    def _refuse_redirect(self, answer: Answer) -> None:
        """A redirect is never followed: the token would go where nobody meant it to."""
        if answer.status not in (301, 302, 303, 307, 308):
            return
        location = answer.headers.get("location", "")
        there = urllib.parse.urlsplit(location)
        if there.scheme == "https" and self._scheme == "http" and there.hostname == self._host:
            port = ":%d" % there.port if there.port not in (None, 443) else ""
            raise Unusable("the server wants https: use --server https://%s%s%s" % (self._host, port, self._prefix))
        raise Unusable(
            "%s sends this agent elsewhere (%.200s); it takes its token nowhere else" % (self.address, location)
        )


def _parsed(address: str) -> urllib.parse.SplitResult:
    url = urllib.parse.urlsplit(address)
    try:
        port: Optional[int] = url.port
    except ValueError:
        port = -1
    if url.username is not None or url.password is not None:
        raise Unusable("--server takes no user and password; the token says who the agent is")
    if url.scheme not in ("http", "https") or not url.hostname or url.query or url.fragment or port == -1:
        raise Unusable("%s is not an address such as https://annotate.example.org" % address)
    return url


def read_answer(response: http.client.HTTPResponse, opener: Optional[Opener]) -> Answer:
    """The whole of an answer that has begun. Raises `CutOff`, `Unreachable` where it is far too long, `NotStored`."""
    headers = {name.lower(): value for name, value in response.getheaders()}
    expected = int(headers["content-length"]) if headers.get("content-length", "").isdigit() else None
    sink = opener(response.status, headers) if opener is not None else None
    body, taken = bytearray(), 0
    try:
        for piece in iter(lambda: response.read(PIECE), b""):
            taken += len(piece)
            if sink is not None:
                _store(sink, piece)
            elif taken > MAX_ANSWER:
                raise Unreachable("an answer of more than %d MB came back" % (MAX_ANSWER >> 20))
            else:
                body += piece
    except OSError as error:
        raise CutOff("the answer broke off: %s" % _reason(error)) from error
    if expected is not None and taken < expected:
        raise CutOff("the answer was cut off after %d of %d bytes" % (taken, expected))
    return Answer(response.status, headers, bytes(body))


def _store(sink: Sink, piece: bytes) -> None:
    try:
        sink(piece)
    except OSError as error:
        raise NotStored(str(error)) from error


def _way(address: str, proxy: Optional[Proxy]) -> str:
    return "%s, by the proxy %s:%d," % (address, proxy.host, proxy.port) if proxy else address


def _reason(error: Exception) -> str:
    if isinstance(error, socket.timeout):
        return "no answer in time"
    if isinstance(error, http.client.RemoteDisconnected):
        return "the connection was closed without an answer"
    return str(error) or type(error).__name__


def _netloc(host: str, port: int, default: int) -> str:
    name = "[%s]" % host if ":" in host else host
    return name if port == default else "%s:%d" % (name, port)
