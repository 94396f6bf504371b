"""Whatever keeps a run from its host ends it at once, with one sentence and what to do; the check says the same."""

from __future__ import annotations

import contextlib
import re
import socket
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import nvidia_smi
import sshd
from conftest import ROOT
from lab import use_fakes, wait_for
from machines import FAKES, Account, Machine, installed
from nvidia_smi import Gpu
from ports import free_port
from potato.training.ssh.timing import SshTiming
from ssh_scene import REMOTE_DIR, Scene, error, jobs_there, scene, settings, ssh_lab
from sshd import ALIAS, Client, Host, make_key

Make = Callable[..., Host]

TICKING = "(while sleep 0.2; do echo tick; done) &\n"


class Ward:
    """Where hosts are given what ails them."""

    def __init__(self, client: Client, make: Make, folder: Path, stack: contextlib.ExitStack) -> None:
        self.client = client
        self.make = make
        self.folder = folder
        self.host = make()
        self.stack = stack

    def key(self, name: str, passphrase: str = "", known: bool = False) -> Path:
        """A key that the usual host does not know, or does."""
        made = make_key(self.folder / name, passphrase)
        if known:
            with (self.host.home / ".ssh/authorized_keys").open("a") as keys:
                keys.write(made.with_suffix(".pub").read_text("ascii"))
        return made


ONE_AT_A_TIME = ("MaxStartups 1:100:1", "LoginGraceTime 0")

Ail = Callable[[Ward, str], Any]


@dataclass(frozen=True)
class Case:
    """A host that ails, known by this alias. `says` is found in the run's error, `hint` in its hint."""

    alias: str
    ail: Ail
    says: str
    hint: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    trainer: str = "fake"


def named(ward: Ward, alias: str) -> None:
    """Only another name of the usual host: what ails is in the backend's settings."""
    ward.host.also(alias)


def optioned(*options: str) -> Ail:
    """The usual host, with these options of the client."""
    return lambda ward, alias: ward.host.also(alias, *options)


def hosted(*sshd: str, **machine: Any) -> Ail:
    """A host of its own, with these settings of sshd, on such a machine."""
    return lambda ward, alias: ward.make(alias=alias, sshd=sshd, machine=Machine(**machine))


def owned(*sshd: str, **account: Any) -> Ail:
    """A host of its own, with such an account."""
    return hosted(*sshd, account=Account(**account))


def keyed(passphrase: str = "", known: bool = False) -> Ail:
    """The usual host, with a key of its own."""
    return lambda ward, alias: ward.host.also(alias, key=ward.key(alias, passphrase, known))


def changed(ward: Ward, alias: str) -> None:
    ward.make(alias=alias).be_known(ward.key("another-host"))


def mute(ward: Ward, alias: str) -> None:
    """Something listens there, and never says a word."""
    listener = ward.stack.enter_context(socket.create_server(("127.0.0.1", 0)))
    ward.client.name(alias, "HostName 127.0.0.1", f"Port {listener.getsockname()[1]}")


def refused(ward: Ward, alias: str) -> None:
    ward.client.name(alias, "HostName 127.0.0.1", f"Port {free_port()}")


def crowded(ward: Ward, alias: str) -> None:
    """Somebody else is about to log in, and only one at a time may."""
    ward.stack.enter_context(next_in_line(ward.make(alias=alias, sshd=ONE_AT_A_TIME)))


@contextlib.contextmanager
def next_in_line(host: Host) -> Iterator[socket.socket]:
    """A connection that takes the only place of those who have not logged in, and goes no further."""
    place = wait_for(lambda: host.greeted(), 60)
    try:
        yield place
    finally:
        place.close()


def nothing(ward: Ward, alias: str) -> None:
    """The name means nothing to the client."""


def gpus(*there: Gpu, **files: str) -> Ail:
    return owned(files={nvidia_smi.FILE: nvidia_smi.program(*there), **files})


WITH_GPUS = {"env": {"PATH": nvidia_smi.PATH}}
BUSY = (Gpu(0, free=1200), Gpu(1, free=3999))

CONNECTING = [
    Case("stranger", keyed(), r"Permission denied \(publickey\)", "ssh stranger true"),
    Case("locked-key", keyed("secret", known=True), r"Permission denied \(publickey\)", "passphrase"),
    Case(
        "password-only",
        owned("PubkeyAuthentication no", "PasswordAuthentication yes"),
        r"Permission denied \(password\)",
        "takes no keys",
    ),
    Case(
        "second-factor",
        owned(
            "UsePAM yes",
            "AuthenticationMethods publickey,keyboard-interactive",
            "KbdInteractiveAuthentication yes",
        ),
        r"Permission denied \(keyboard-interactive\)",
        "second factor|question",
    ),
    Case("expired", owned("UsePAM yes", expired=True), "Password change required but no TTY available", "password"),
    Case("unknown-key", optioned("UserKnownHostsFile /dev/null"), "Host key verification failed", "does not know"),
    Case("changed-key", changed, "Host key verification failed", "another than"),
    Case("refused", refused, "Connection refused", "ssh refused true"),
    Case("no-such-host.invalid", nothing, "Could not resolve hostname no-such-host.invalid", "ssh no-such-host"),
    Case(
        "no-proxy",
        optioned("ProxyCommand /no/such/program %h %p"),
        "Connection closed|Broken pipe",
        "ssh no-proxy true",
    ),
    Case("crowded", crowded, "Connection (closed|reset) by ", "MaxStartups"),
    Case("no-sessions", owned("MaxSessions 0"), "open failed", "ssh no-sessions true"),
]
"""remote 25 and 27. What ssh itself says is wrong: its last line is kept, and each has a hint of its own."""

SHELLS = [
    Case("nologin", owned(shell="/usr/sbin/nologin"), "This account is currently not available", "login shell"),
    Case("false", owned(shell="/bin/false"), "without a word", "login shell"),
    Case("leaves", owned(files={".bashrc": "echo Welcome; exit 3\n"}), "Welcome", "login shell"),
]
"""remote 22. A login shell that does not do what it is asked."""

SLOW = [
    Case("mute", mute, "timed out", "ssh mute true"),
    Case("another", owned(files={".bashrc": "exec /usr/bin/fish\n"}), "nothing answered", "login shell"),
]
"""remote 22 and 27. Nothing comes, ever."""

OTHERS = [
    Case(
        "no-python",
        named,
        "^/opt/conda/bin/python3 was not found on no-python$",
        "set .*`python`",
        {"python": "/opt/conda/bin/python3"},
    ),
    Case(
        "full",
        owned(home_mb=1, files={"big": "x" * 1_000_000}),
        "full",
        "remote_dir",
    ),
    Case("not-mine", named, "/etc/potato.*cannot be written", "remote_dir", {"remote_dir": "/etc/potato"}),
    Case("busy", gpus(*BUSY), "^No GPU has 4000 MB free", "min_free_gpu_mb", {**WITH_GPUS, "min_free_gpu_mb": 4000}),
    Case("no-such-gpu", gpus(*BUSY), "GPU.* 7", "check|gpus", {**WITH_GPUS, "gpus": "7"}),
    Case(
        "old-torch",
        gpus(Gpu(0), **{"stub/torch/__init__.py": nvidia_smi.torch(Gpu(0))}),
        "^This host's torch has no kernels for any of its GPUs",
        "torch",
        {"env": {"PATH": nvidia_smi.PATH, "PYTHONPATH": "~/stub"}},
        "hf-text-classification",
    ),
    Case(
        "no-packages",
        named,
        "^Trainer 'sklearn-text' could not be imported|No module named 'sklearn'",
        "",
        {"python": "/usr/bin/python3"},
        "sklearn-text",
    ),
]
"""What is wrong on the host itself."""

CASES = [*CONNECTING, *SHELLS, *OTHERS, *SLOW]


@pytest.fixture(scope="module")
def ward(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ward]:
    with contextlib.ExitStack() as stack, pytest.MonkeyPatch.context() as patch:
        client = stack.enter_context(sshd.client())
        patch.setenv("PATH", client.path)
        use_fakes(patch)

        def make(**more: Any) -> Host:
            return stack.enter_context(sshd.host(client, **more))

        yield Ward(client, make, tmp_path_factory.mktemp("ward"), stack)


@pytest.fixture(scope="module")
def labs(ward: Ward, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mapping[str, Scene]]:
    """One lab for all that ail, since none of them gets far, and one for those who never answer."""
    hasty = SshTiming(connect=2, log_in=4.0)
    with contextlib.ExitStack() as stack:
        made: dict[str, Scene] = {}
        for cases, timing in (([*CONNECTING, *SHELLS, *OTHERS], SshTiming()), (SLOW, hasty)):
            backends = {case.alias: settings(case.alias, **case.settings) for case in cases}
            lab = stack.enter_context(scene(ssh_lab(tmp_path_factory.mktemp("lab"), backends), timing))
            made.update(dict.fromkeys(backends, lab))
        yield made


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.alias)
def test_it_is_said_in_a_sentence_with_what_to_do(case: Case, ward: Ward, labs: Mapping[str, Scene]) -> None:
    case.ail(ward, case.alias)
    lab = labs[case.alias]
    run = lab.run(case.alias, case.trainer)
    failure = error(run)
    assert re.search(case.says, failure["message"]), failure
    assert re.search(case.hint, failure["hint"] or ""), failure
    if case in CONNECTING + SHELLS + SLOW:
        assert failure["message"].startswith(f"ssh to {case.alias} failed: ")
    if case.alias == "no-packages":
        assert failure["message"].startswith("Trainer 'sklearn-text' could not be imported")
    assert failure["message"] in lab.log(run.run_id)
    report = lab.supervisor.check(case.alias, case.trainer)
    assert not report.ok
    assert any(re.search(case.says, line) for line in report.lines), report.lines
    assert ward.client.living() == []


def test_a_log_in_that_a_busy_sshd_turned_away_is_tried_again(ward: Ward, tmp_path: Path) -> None:
    """remote 27: it is let in once there is room."""
    host = ward.make(alias="crowded-for-a-while", sshd=ONE_AT_A_TIME)
    patient = SshTiming(first_pause=2.0)
    with scene(ssh_lab(tmp_path / "lab", {ALIAS: settings(host)}), patient) as lab, next_in_line(host) as place:
        run_id = lab.submit()
        wait_for(lambda: "MaxStartups" in host.log.read_text("utf-8", "replace"), 60)
        place.close()
        lab.success(run_id)
    assert host.log_ins() == 1


@pytest.mark.parametrize("version", ["2.7", "3.6"])
def test_an_old_python_is_told_by_its_version(version: str, ward: Ward, tmp_path: Path) -> None:
    """remote 30"""
    python = installed(version)
    host = ward.make(alias=f"python-{version}", machine=Machine(shown=[python.parents[1]]))
    with scene(ssh_lab(tmp_path / "lab", {ALIAS: settings(host, python=str(python))})) as lab:
        failure = error(lab.run())
        found = f"{python} on {host.alias} is Python {version}."
        assert failure["message"].startswith(found) and "3.8 or newer" in failure["message"], failure
        assert "`python`" in failure["hint"]
        assert any(line.startswith(found) for line in lab.supervisor.check(ALIAS).lines)
    assert not (host.home / REMOTE_DIR).exists()


def test_what_others_print_into_the_connection_is_named(ward: Ward, tmp_path: Path) -> None:
    """remote 21: a job of a start-up file that goes on printing, in the same stream as the answers."""
    host = ward.make(alias="ticking", machine=Machine(account=Account(files={".bashrc": TICKING})))
    with scene(ssh_lab(tmp_path / "lab", {ALIAS: settings(host)})) as lab:
        failure = error(lab.run())
        assert "tick" in failure["message"] and "start-up file" in failure["hint"], failure


def test_what_a_worker_s_last_words_mean_is_said(ward: Ward, tmp_path: Path) -> None:
    words = "nvrtc: error: failed to open libnvrtc-builtins.so.12.9"
    program = f"import sys\nif sys.argv[0] == '-m': print({words!r}, file=sys.stderr)\n"
    host = ward.make(alias="nvrtc", machine=Machine(account=Account(files={"stub/sitecustomize.py": program})))
    env = {"PYTHONPATH": f"~/stub:{FAKES}"}
    with scene(ssh_lab(tmp_path / "lab", {ALIAS: settings(host, env=env)})) as lab:
        run = lab.run(does="fail")
        assert error(run)["message"] == "the fake was told to fail"
        assert "install the matching nvidia-cuda-nvrtc" in lab.log(run.run_id)


def test_the_time_that_a_run_may_take_holds_there_too(ward: Ward, tmp_path: Path) -> None:
    with scene(ssh_lab(tmp_path / "lab", {ALIAS: settings()}, max_wall_seconds=4)) as lab:
        failure = error(lab.run(seconds=300))
        assert failure["message"] == "The run was stopped after 4 seconds (max_wall_seconds)"
    wait_for(lambda: ward.host.there.processes() == {} and jobs_there(ward.host) == [])


DOCUMENTED = [
    "ssh to gpu.example.org failed: Permission denied",
    "Host key verification failed.",
    "Connection refused",
    "Could not resolve hostname",
    "timed out",
    "Connection closed by",
    "MaxStartups",
    "nothing answered within 90 seconds",
    "the login shell there took no command",
    "the connection ended without a word",
    "Password change required but no TTY available.",
    "/opt/conda/bin/python3 was not found on gpu.example.org",
    "and Potato needs 3.8 or newer there",
    "No GPU has 4000 MB free",
    "This host's torch has no kernels for any of its GPUs",
    "could not be imported",
    "The disk that holds",
    "The disk quota of this account is used up",
    "cannot be written",
    "The connection to … was lost for 600 seconds (reconnect_s)",
    "No word from the agent on gpu-server for 120 seconds",
    "The copy from gpu.example.org sent nothing for 180 s",
    "The run was stopped after 3600 seconds (max_wall_seconds)",
    "nvrtc: error: failed to open libnvrtc-builtins.so",
    "cannot make a virtual environment (venv)",
    "banner",
]


@pytest.mark.parametrize("words", DOCUMENTED)
def test_the_page_of_troubles_has_it(words: str) -> None:
    page = (ROOT / "docs" / "troubleshooting.md").read_text("utf-8")
    assert words in " ".join(page.split())
