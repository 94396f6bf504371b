"""What people are told of a host that the server has logged in to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from potato.training.ssh.session import Session
from potato.training.ssh.text import clean, lines

LITTLE_MB = 1000


def greeting(session: Session, hello: Mapping[str, Any]) -> list[str]:
    """Lines for a log or a check: the machine and its Python first, then what may matter."""
    node = clean(hello.get("host"), 255)
    there = f" (the machine {node})" if node and node != session.host else ""
    told = [f"{session.host}{there}: Python {session.version}, {clean(session.executable)}"]
    if session.noise:
        shown = " / ".join(lines(session.noise, 200, 5)) or "characters that cannot be shown"
        told.append(
            f"hint: your shell prints this on {session.host}: {clean(shown, 600)}. Nothing fails of it; a start-up file"
            " of the login shell there prints although nobody reads it"
        )
    free = hello.get("free_mb")
    if isinstance(free, int) and free < LITTLE_MB:
        told.append(f"warning: only {free} MB are free in {clean(hello.get('remote_dir'), 300)} on {session.host}")
    if hello.get("lingering"):
        told.append(
            f"warning: {session.host} ends an account's processes at log-out ({clean(hello['lingering'], 100)}): a run"
            " does not outlive a lost connection there; `loginctl enable-linger` mends it"
        )
    return told
