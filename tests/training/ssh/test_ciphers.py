"""AES-GCM comes first where nobody has chosen a cipher, and no host or configuration pays for it."""

from __future__ import annotations

from pathlib import Path

import pytest

import sshd
from potato.training.ssh import ciphers, command
from potato.training.ssh.command import Destination
from potato.training.ssh.session import Session
from potato.training.ssh.timing import SshTiming

WITH_AES = "processor\t: 0\nflags\t\t: fpu aes avx\n"


@pytest.fixture
def client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> sshd.Client:
    """A client of its own configuration, on a machine that has AES in hardware."""
    made = sshd.Client(tmp_path)
    made.config.write_text("Host chosen\n  Ciphers aes256-ctr\nHost plain\n  Port 99\n", "utf-8")
    monkeypatch.setenv("PATH", made.path)
    _machine(tmp_path, monkeypatch, WITH_AES)
    return made


def _machine(folder: Path, monkeypatch: pytest.MonkeyPatch, told: str) -> None:
    (folder / "cpuinfo").write_text(told, "ascii")
    monkeypatch.setattr(ciphers, "CPUINFO", folder / "cpuinfo")


def _offered(host: str) -> str:
    words = command.log_in(Destination(host), SshTiming())
    return next((word for word in words if word.startswith("Ciphers=")), "")


def test_aes_gcm_is_offered_first_and_all_others_still_are(client: sshd.Client) -> None:
    own = ciphers._told(command.find(), ["-F", "/dev/null", "--", "x"])
    offered = _offered("plain").partition("=")[2].split(",")
    assert offered[0] == "aes128-gcm@openssh.com"
    assert sorted(offered) == sorted(own) and len(own) > 1


def test_ciphers_of_the_accounts_configuration_stay(client: sshd.Client) -> None:
    assert _offered("chosen") == ""


@pytest.mark.parametrize("told", ["flags\t\t: fpu avx vaes\n", ""])
def test_a_machine_without_aes_is_left_alone(
    client: sshd.Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, told: str
) -> None:
    _machine(tmp_path, monkeypatch, told)
    assert _offered("plain") == ""


@pytest.mark.parametrize("program", ["exit 1", "echo 'ciphers chacha20-poly1305@openssh.com'", "echo nothing"])
def test_an_ssh_that_has_no_such_cipher_or_tells_none_is_left_alone(
    client: sshd.Client, tmp_path: Path, program: str
) -> None:
    odd = tmp_path / "odd-ssh"
    odd.write_text(f"#!/bin/sh\n{program}\n", "ascii")
    odd.chmod(0o755)
    assert ciphers.preferred(str(odd), ["--", "plain"]) is None


def test_a_host_that_refuses_aes_gcm_is_reached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with sshd.client() as client:
        monkeypatch.setenv("PATH", client.path)
        _machine(tmp_path, monkeypatch, WITH_AES)
        with sshd.host(client, sshd=("Ciphers chacha20-poly1305@openssh.com",)), _session() as session:
            assert _offered(sshd.ALIAS)
            session.open("python3", {})
            assert session.version


def _session() -> Session:
    return Session(Destination(sshd.ALIAS), SshTiming())
