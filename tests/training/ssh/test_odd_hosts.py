"""Hosts and accounts that are odd, and where a run goes through all the same."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import relay
from lab import use_fakes
from machines import Account, Machine, installed
from ssh_scene import in_tmp, jobs_there, scene, settings, ssh_lab
from sshd import ALIAS, Client, Host

Make = Callable[..., Host]

LONG_HOME = "/home/b é " + "x" * 109
PAGE = "".join(f"{number:4} Welcome to the GPU server. Users must not leave jobs behind.\n" for number in range(2000))
NOISE = {
    "a text": "echo 'Welcome to the GPU server'",
    "a number": "echo 4242",
    "a brace": "echo '{'",
    "100 kB": "cat ~/page",
    "no newline": "printf 'one moment ...'",
    "markers without the nonce": "printf 'POTATO--SH\nPOTATO-0-SH\nPOTATO-0-PY 3.11.0 /x\nPOTATO-'",
    "bytes that are no text": r"printf '\377\376\000\001\n'",
    "on the other stream": "echo 'Welcome to the GPU server' >&2",
}


@dataclass(frozen=True)
class Odd:
    """What is odd about a host. `says` is found in the run's log."""

    name: str
    machine: Machine = field(default_factory=Machine)
    sshd: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    says: str = ""


def account(**more: Any) -> Machine:
    return Machine(account=Account(**more))


SHELLS = [
    Odd("dash", account(shell="/bin/sh")),
    Odd("fish", account(shell="/usr/bin/fish", files={".config/fish/config.fish": "echo I am fish\n"}), says="fish"),
    Odd("tcsh", account(shell="/usr/bin/tcsh", files={".cshrc": "echo I am tcsh\n"}), says="I am tcsh"),
    *(
        Odd(f"bash prints {name}", account(files={".bashrc": line + "\n", "page": PAGE}))
        for name, line in NOISE.items()
    ),
]
"""remote 21 and 22"""
SERVERS = [
    Odd("no socket forwarding", sshd=("AllowStreamLocalForwarding no",)),
    Odd("no forwarding", sshd=("AllowTcpForwarding no", "AllowStreamLocalForwarding no", "DisableForwarding yes")),
    Odd("one session", sshd=("MaxSessions 1",)),
    Odd("one start", sshd=("MaxStartups 1:100:1",)),
    Odd("no terminal", sshd=("PermitTTY no",)),
    Odd(
        "a command of its own, and pages before and after",
        account(files={"page": PAGE}),
        sshd=('ForceCommand cat page; sh -c "$SSH_ORIGINAL_COMMAND"; cat page',),
        says="Welcome to the GPU server",
    ),
    Odd("a banner", sshd=("Banner /etc/passwd",)),
    Odd("a slow way", options=(relay.option(seconds=8),)),
]
"""remote 21, 24 and 27"""
MACHINES = [
    Odd("a long home", account(home=LONG_HOME)),
    Odd("a small home", account(home_mb=10)),
    Odd("a read-only tmp", Machine(tmp_read_only=True)),
    Odd(
        "modules in the home",
        account(files={f"{name}.py": "raise SystemExit(name)" for name in ("random", "json", "struct", "potato")}),
    ),
    Odd("an open umask", account(files={".bashrc": "umask 000\n"})),
    Odd("another locale", settings={"env": {"LC_ALL": "C", "PYTHONIOENCODING": "ascii"}}),
]
CLIENTS = [
    Odd(
        "a configuration in the way",
        options=(
            "RequestTTY force",
            "RemoteCommand echo never",
            "ForkAfterAuthentication yes",
            "StdinNull yes",
            "PermitLocalCommand yes",
            "LocalCommand echo never",
            "ExitOnForwardFailure yes",
            "RemoteForward /nowhere/at/all 127.0.0.1:1",
            "ForwardAgent yes",
            "ForwardX11 yes",
            "EscapeChar ~",
            "Compression yes",
        ),
    ),
    Odd(
        "connections that are shared",
        options=("ControlMaster auto", "ControlPath ~/.ssh/control-%C", "ControlPersist 600"),
    ),
    Odd("silence", options=("LogLevel QUIET",)),
    Odd("chatter", options=("LogLevel DEBUG3",)),
]
ODD = [*SHELLS, *SERVERS, *MACHINES, *CLIENTS]


@pytest.mark.parametrize("odd", ODD, ids=lambda odd: odd.name)
def test_a_run_goes_through(odd: Odd, client: Client, hosts: Make, tmp_path: Path, monkeypatch: Any) -> None:
    use_fakes(monkeypatch)
    host = hosts(alias="odd", sshd=odd.sshd, machine=odd.machine)
    host.also(ALIAS, *odd.options)
    with scene(ssh_lab(tmp_path / "lab", {ALIAS: settings(ALIAS, **odd.settings)})) as lab:
        run = lab.success(lab.submit())
        assert (lab.folder(run.run_id).artifacts / "1-sentiment" / "model.txt").read_text("ascii") == "a model"
        assert odd.says in lab.log(run.run_id)
    assert host.log_ins() == 1
    assert jobs_there(host) == []
    assert host.there.processes() == {} and client.living() == []
    assert in_tmp(host) == [host.there.folder.name]


def test_what_the_shell_prints_is_shown_once(hosts: Make, tmp_path: Path, monkeypatch: Any) -> None:
    use_fakes(monkeypatch)
    hosts(machine=account(files={".bashrc": "echo 'Welcome to <b>GPU</b> 4242'\n"}))
    with scene(ssh_lab(tmp_path / "lab", {ALIAS: settings()})) as lab:
        run = lab.success(lab.submit())
        assert lab.log(run.run_id).count("Welcome to <b>GPU</b> 4242") == 1


def test_python_38_alone_is_enough(hosts: Make, tmp_path: Path, monkeypatch: Any) -> None:
    """remote 30"""
    use_fakes(monkeypatch)
    python = installed("3.8")
    hosts(machine=Machine(shown=[python.parents[1]]))
    with scene(ssh_lab(tmp_path / "lab", {ALIAS: settings(python=str(python))})) as lab:
        run = lab.success(lab.submit())
        assert "Python 3.8." in lab.log(run.run_id)
