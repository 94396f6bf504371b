"""Nothing that opens the server is on the host: in no file, command line or environment, and in no memory there."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lab import use_fakes, wait_for
from ssh_scene import Scene, jobs_there, scene, settings, ssh_lab
from sshd import ALIAS, Client, Host

ADMIN_KEY = "admin-key-that-opens-all-5b1c"
HOOK_KEY = "webhook-secret-77aa"
IN_ENVIRONMENT = "secret-of-the-server-s-environment-91d0"
ANNOTATOR = "annotator-name-that-stays-at-home"
SECRETS = [word.encode() for word in (ADMIN_KEY, HOOK_KEY, IN_ENVIRONMENT, ANNOTATOR)]


@pytest.fixture
def lab(host: Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Scene]:
    use_fakes(monkeypatch)
    for name in ("POTATO_TRAINING_TOKEN", "AWS_SECRET_ACCESS_KEY", "LC_SECRET"):
        monkeypatch.setenv(name, IN_ENVIRONMENT)
    hooks = [{"url": "http://127.0.0.1:9/hook", "secret": HOOK_KEY}]
    lab = ssh_lab(tmp_path / "lab", {ALIAS: settings()}, webhooks=hooks)
    lab.write({**lab.config, "admin_api_key": ADMIN_KEY})
    lab.label_alternately(user=ANNOTATOR)
    with scene(lab) as made:
        yield made


def memory(pid: int) -> Iterator[bytes]:
    """What a process has in its memory, region by region."""
    maps = Path(f"/proc/{pid}/maps").read_text("utf-8", "replace").splitlines()
    with Path(f"/proc/{pid}/mem").open("rb", 0) as file:
        for line in maps:
            found = re.match(r"([0-9a-f]+)-([0-9a-f]+) rw", line)
            if found:
                start, end = (int(part, 16) for part in found.groups())
                with contextlib.suppress(OSError, OverflowError, ValueError):
                    file.seek(start)
                    yield file.read(end - start)


def leaks(place: str, data: bytes) -> list[tuple[str, bytes]]:
    """The secrets that are in `data`."""
    return [(place, secret) for secret in SECRETS if secret in data]


def on_disk(host: Host) -> list[tuple[str, bytes]]:
    """The secrets in any file that the user there has written."""
    found = []
    for root in (host.home, host.there.root / "tmp", host.there.root / "var/tmp"):
        for folder, _, names in os.walk(root):
            for name in names:
                path = Path(folder, name)
                if path.lstat().st_uid == host.there.uid and path.is_file() and not path.is_symlink():
                    found += leaks(str(path), path.read_bytes() + str(path).encode())
    return found


def in_processes(host: Host) -> list[tuple[str, bytes]]:
    """The secrets in what runs there."""
    found = []
    for pid in host.there.processes():
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            for name in ("cmdline", "environ"):
                found += leaks(f"{pid} {name}", Path(f"/proc/{pid}/{name}").read_bytes())
            for region in memory(pid):
                found += leaks(f"{pid} memory", region)
    return found


def test_this_finds_what_it_looks_for(host: Host, client: Client, lab: Scene) -> None:
    """A process there that knows a secret is found, by its command line, environment, memory and file."""
    program = """
import os, sys, time
made = ''.join(reversed(sys.argv[1]))
open('kept', 'w').write(made)
time.sleep(600)
"""
    command = ["sh", "-c", f'cd; exec {settings()["python"]} -c "$0" {ADMIN_KEY[::-1]}', program]

    going = subprocess.Popen(host.there.command("env", f"HOME={host.there.account.home}", *command, user=True))
    try:
        wait_for(lambda: (host.home / "kept").exists() and (host.home / "kept").stat().st_size)
        places = {place.split()[-1] for place, _ in on_disk(host) + in_processes(host)}
        assert places >= {"memory"} and any(place.endswith("kept") for place in places)
    finally:
        going.kill()
        going.wait(30)


def test_a_run_takes_no_secret_there(host: Host, client: Client, lab: Scene) -> None:
    run_id = lab.submit(seconds=3)
    lab.trains(run_id)
    assert host.there.processes() and jobs_there(host) == [run_id]
    assert in_processes(host) + on_disk(host) == []
    for pid in client.living():
        assert leaks("here", Path(f"/proc/{pid}/cmdline").read_bytes()) == []
    lab.success(run_id)
    assert on_disk(host) == []
    assert leaks("sshd", host.log.read_bytes()) == []


def test_what_it_takes_there_is_the_account_s_alone(host: Host, lab: Scene) -> None:
    run_id = lab.submit(seconds=3)
    lab.trains(run_id)
    open_to_others: list[Any] = []
    for folder, _, names in os.walk(host.home / ".cache"):
        mode = Path(folder).stat().st_mode
        open_to_others += [folder] * bool(mode & 0o077 and folder != str(host.home / ".cache"))
        open_to_others += [name for name in names if Path(folder, name).lstat().st_mode & 0o077]
    assert open_to_others == []
    lab.success(run_id)
