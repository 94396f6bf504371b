"""The signature by which a receiver knows that a request is from this server, and that it is not an old one."""

from __future__ import annotations

import hashlib
import hmac

HEADER = "X-Potato-Signature"


def signature(secret: bytes, timestamp: int, body: bytes) -> str:
    """`t=SECONDS,v1=HEX`: HMAC-SHA256 over the seconds, a full stop and the body."""
    digest = hmac.new(secret, f"{timestamp}.".encode() + body, hashlib.sha256).hexdigest()
    return f"t={timestamp},v1={digest}"
