"""One request to one address, and what became of it in a sentence."""

from __future__ import annotations

import http.client
import socket
import ssl
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from potato import __version__
from potato.errors import PotatoError
from potato.store.training.deliveries import Delivery
from potato.training.webhooks.hooks import Hook
from potato.training.webhooks.signing import HEADER, signature

TIMEOUT_S = 10.0


@dataclass(frozen=True)
class Outcome:
    """What an address answered. `error` is None where it took the event; `final` where it wants no other attempt."""

    status: int | None
    error: str | None
    final: bool = False


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """A signed event goes to the address that the project file names, and to no other."""

    def redirect_request(self, *args: Any, **kwargs: Any) -> None:
        return None


def send(hook: Hook, delivery: Delivery, now: Callable[[], float], timeout: float = TIMEOUT_S) -> Outcome:
    """Send the delivery once. `now` gives seconds since the epoch, for the signature."""
    try:
        request = _request(hook, delivery, int(now()))
        opener = urllib.request.build_opener(_NoRedirects)
        with opener.open(request, timeout=timeout) as answer:
            return Outcome(answer.status, None)
    except PotatoError as error:
        return Outcome(None, error.message)
    except urllib.error.HTTPError as error:
        with error:
            return _refused(error.code)
    except (urllib.error.URLError, http.client.HTTPException, OSError, ValueError) as error:
        return Outcome(None, _reason(error, timeout))


def _request(hook: Hook, delivery: Delivery, timestamp: int) -> urllib.request.Request:
    body = delivery.body.encode()
    headers = {
        "Content-Type": "application/json",
        "User-Agent": f"Potato/{__version__}",
        "X-Potato-Event": delivery.event,
        "X-Potato-Delivery": delivery.id,
    }
    secret = hook.secret()
    if secret is not None:
        headers[HEADER] = signature(secret, timestamp, body)
    return urllib.request.Request(hook.url, body, headers, method="POST")  # noqa: S310 - http or https: the model checks


def _refused(status: int) -> Outcome:
    if 300 <= status < 400:
        return Outcome(status, f"it answered {status}, a redirect, which is not followed: name the address it leads to")
    if status == 410:
        return Outcome(status, "it answered 410: it wants no more events", final=True)
    return Outcome(status, f"it answered {status}")


def _reason(error: Exception, timeout: float) -> str:
    """What kept the request from being answered, without the address, which may hold a secret."""
    cause = error.reason if isinstance(error, urllib.error.URLError) else error
    if isinstance(cause, TimeoutError):
        return f"it did not answer within {timeout:g} seconds"
    if isinstance(cause, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted: {cause.verify_message}"
    if isinstance(cause, socket.gaierror):
        return "its name is not known"
    if isinstance(cause, OSError) and cause.strerror:
        return f"it cannot be reached: {cause.strerror.lower()}"
    return f"it cannot be reached ({type(cause).__name__})"
