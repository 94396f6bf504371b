"""Whom to take for the server: by authorities, one of them a private one, or by the fingerprint of its certificate."""

import hashlib
import http.client
import re
import ssl
from typing import Any, Iterator, Optional, Tuple

_AUTHORITY = "Give the authority's certificate with --ca FILE, or name it in SSL_CERT_FILE"
_ADVICE = {
    9: "Look at this machine's clock",
    10: "Renew it on the server, or look at this machine's clock",
    62: "Use the name that the certificate is for with --server",
    64: "Use the name that the certificate is for with --server",
}
"""What to do, by OpenSSL's codes: not yet valid, expired, another host name, another address."""
_NAME_PARTS = (b"\x55\x04\x03", b"\x55\x04\x0a")
"""The common name and the organisation, as certificates number them."""


class WrongCertificate(OSError):
    """A certificate with another fingerprint than the one that was given."""


class PinnedConnection(http.client.HTTPSConnection):
    """Goes on only with the one certificate whose SHA-256 is `pin`; before that is certain, nothing is sent."""

    def __init__(self, host: str, port: int, pin: bytes, timeout: float) -> None:
        super().__init__(host, port, timeout=timeout, context=unverified())
        self._pin = pin

    def connect(self) -> None:
        """Connect. Raises `WrongCertificate`."""
        super().connect()
        found = hashlib.sha256(certificate_of(self)).digest()
        if found != self._pin:
            self.close()
            raise WrongCertificate(":".join("%02X" % byte for byte in found))


def context(ca_file: Optional[str]) -> ssl.SSLContext:
    """Trusts the system's authorities, or those of `SSL_CERT_FILE`, and that of `ca_file`. Raises `ValueError`."""
    made = ssl.create_default_context()
    if ca_file:
        try:
            made.load_verify_locations(cafile=ca_file)
        except (OSError, ssl.SSLError) as error:
            raise ValueError("the certificate file %s cannot be read: %s" % (ca_file, error)) from error
    return made


def unverified() -> ssl.SSLContext:
    """Trusts whoever answers: for somebody who looks at the certificate before anything is sent."""
    made = ssl.create_default_context()
    made.check_hostname = False
    made.verify_mode = ssl.CERT_NONE
    return made


def parse_fingerprint(text: str) -> bytes:
    """A SHA-256 in hex digits, with colons or without. Raises `ValueError`."""
    digits = text.strip().replace(":", "")
    if re.fullmatch("[0-9A-Fa-f]{64}", digits) is None:
        raise ValueError("%.100s is no SHA-256 fingerprint; that has 64 hex digits, with colons or without" % text)
    return bytes.fromhex(digits)


def certificate_of(connection: http.client.HTTPConnection) -> bytes:
    """The certificate that the other end showed, as DER."""
    socket: Any = connection.sock
    return socket.getpeercert(binary_form=True) or b""


def advice(error: ssl.SSLCertVerificationError) -> str:
    """What a person can do where a certificate is not trusted."""
    return _ADVICE.get(error.verify_code, _AUTHORITY)


def issuer(der: bytes) -> str:
    """The name of who issued a certificate; empty where it cannot be read."""
    try:
        fields = [value for tag, value in _parts(_first(_first(der))) if tag != 0xA0]  # without the version
        names = {}
        for _, part in _parts(fields[2]):
            (_, kind), (_, name) = list(_parts(_first(part)))[:2]
            names[kind] = name.decode("utf-8", "replace")
    except (IndexError, ValueError):
        return ""
    return next((names[kind] for kind in _NAME_PARTS if kind in names), "")


def _first(data: bytes) -> bytes:
    for _, value in _parts(data):
        return value
    raise ValueError("nothing is there")


def _parts(data: bytes) -> Iterator[Tuple[int, bytes]]:
    """The tags and values that follow each other in DER."""
    place = 0
    while place < len(data):
        tag, length = data[place], data[place + 1]
        place += 2
        if length & 0x80:
            size = length & 0x7F
            length = int.from_bytes(data[place : place + size], "big")
            place += size
        yield tag, data[place : place + length]
        place += length
