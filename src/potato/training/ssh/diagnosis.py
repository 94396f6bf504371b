"""What ssh's last words mean, and what to do about each."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from potato.training.ssh import command
from potato.training.ssh.command import Destination
from potato.training.ssh.errors import SshFailed
from potato.training.ssh.text import clean

_BUSY = re.compile(r"(kex|ssh)_exchange_identification: |Exceeded MaxStartups|Connection reset by peer")
"""What ssh says, before its last line, of an sshd that has too many log-ins at once: worth another try."""

_NOT_A_REASON = re.compile(r"Warning: Permanently added |Connection to UNKNOWN port |Pseudo-terminal will not ")


def failed(destination: Destination, stderr: bytes, said: bytes, code: int | None) -> SshFailed:
    """Why ssh ended with `code` before the shell there took a line. `said` is what came on stdout."""
    line = last_line(stderr)
    if not line and code != 255 and clean(said):
        line = f"the login shell there took no command (exit code {code}); it said: {clean(said, 200)}"
    if not line:
        line = f"the connection ended without a word (exit code {code})"
    told = stderr.decode("utf-8", "replace")
    busy = code == 255 and _BUSY.search(told) is not None
    return SshFailed(destination.host, line, _hint(destination, line, told, code, busy), busy)


def too_slow(destination: Destination, stderr: bytes, seconds: float) -> SshFailed:
    """Nothing answered in time."""
    line = last_line(stderr)
    told = f"nothing answered within {seconds:g} seconds" + (f" ({line})" if line else "")
    hint = (
        "a start-up file of the login shell may wait for something or start another shell, or a jump host may be very"
        " slow"
    )
    return SshFailed(destination.host, told, hint)


def last_line(stderr: bytes) -> str:
    """ssh's own last line, without what it begins each line with. ssh ends its lines with CR LF; a shell does not."""
    found = [line for line in stderr.split(b"\n") if clean(line) and not _NOT_A_REASON.match(clean(line))]
    own = [line for line in found if line.endswith(b"\r")]
    if not (own or found):
        return ""
    line = clean((own or found)[-1])
    return re.sub(r"^(?:ssh: |[^\s@]+@[^\s:]+(?: port \d+)?: (?=Permission denied|Connection ))", "", line)


def _hint(destination: Destination, line: str, stderr: str, code: int | None, busy: bool) -> str | None:
    host = destination.host
    if "IDENTIFICATION HAS CHANGED" in stderr:
        return (
            f"the key of {host} is another than the one in known_hosts: ask its administrator whether it was installed"
            f" anew; then `ssh-keygen -R {host}` and `ssh {host} true` from the account that runs the server"
        )
    if line.startswith("Host key verification failed"):
        return (
            f"the account that runs the server does not know the key of {host} yet: run `ssh {host} true` there once,"
            " and compare the fingerprint"
        )
    if "Permission denied" in line:
        return _not_let_in(destination, line)
    if re.search("password (has )?expired|Password change required", line + stderr, re.IGNORECASE):
        return f"the password of the account on {host} has expired: log in there by hand once and change it"
    if busy:
        return (
            f"something on the way to {host} turns log-ins away before they begin: its sshd has too many at once"
            f" (MaxStartups), it blocks this address (fail2ban), or a ProxyCommand fails; `ssh {host} true` from the"
            " account that runs the server tells whether it still does"
        )
    if code not in (255, None):
        return f"the account on {host} needs a login shell that runs commands: `ssh {host} true` must succeed"
    return None


def _not_let_in(destination: Destination, line: str) -> str | None:
    locked = [path for path in command.identity_files(destination) if _wants_passphrase(path)]
    if locked:
        return (
            f"the key {locked[0]} needs a passphrase, and nobody is there to type it: load it into an ssh-agent of the"
            f" account that runs the server (`ssh-add {locked[0]}`), or use a key without one"
        )
    host, found = destination.host, re.search(r"\(([^)]*)\)", line)
    ways = found.group(1) if found else ""
    if "keyboard-interactive" in ways:
        return (
            f"{host} asks a question (a second factor, or it takes no keys), and nobody is there to answer:"
            f" `ssh {host} true` must succeed without one from the account that runs the server"
        )
    if ways and "publickey" not in ways:
        return f"{host} takes no keys, only {ways}: a way in without a question is needed"
    return None


def _wants_passphrase(path: str) -> bool:
    """Whether a key file is there that only its passphrase opens."""
    file = Path(path).expanduser()
    if not file.is_file():
        return False
    try:
        asked = ["ssh-keygen", "-y", "-P", "", "-f", str(file)]
        done = subprocess.run(asked, capture_output=True, timeout=10, check=False, stdin=subprocess.DEVNULL)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode != 0 and b"passphrase" in done.stderr
