"""What stands in the project file goes to the host as it stands: no shell reads anything into it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lab import Lab, use_fakes
from machines import PYTHON, Account, Machine, lay
from ssh_scene import scene, settings, ssh_lab
from sshd import ALIAS, Client, Host

Make = Callable[..., Host]
NASTY = "it's $(touch ~/pwned) `touch ~/pwned` \"; touch ~/pwned; # \\ é !! %h {a,b} *"


@pytest.mark.parametrize("shell", ["/bin/bash", "/usr/bin/fish", "/usr/bin/tcsh"])
def test_names_may_hold_whatever_a_shell_minds(
    shell: str, hosts: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_fakes(monkeypatch)
    host = hosts(machine=Machine(account=Account(shell=shell)))
    lay(host.home / NASTY.replace("/", "") / "python", f'#!/bin/sh\nexec {PYTHON} "$@"\n')
    wishes: dict[str, Any] = {
        "python": f"~/{NASTY.replace('/', '')}/python",
        "remote_dir": f"~/.cache/{NASTY}",
        "env": {"OMP_NUM_THREADS": "2", "ODD": NASTY, "PATH": f"/usr/bin:/bin:{NASTY}"},
    }
    with scene(ssh_lab(tmp_path / "lab", {ALIAS: settings(host, **wishes)})) as lab:
        run = lab.success(lab.submit(does="tell"))
        assert lab.supervisor.check(ALIAS, "fake").ok
        events = lab.folder(run.run_id).events.read_text("utf-8").splitlines()
        told = next(json.loads(line)["msg"] for line in events if "environment: " in line)
        assert '"OMP_NUM_THREADS": "2"' in told
    assert not (host.home / "pwned").exists()
    assert (host.home / ".cache" / NASTY / "code").is_dir()


@pytest.mark.parametrize("key", ["host", "user"])
def test_a_name_is_no_option_of_ssh_s(key: str, client: Client, tmp_path: Path) -> None:
    """`-oProxyCommand=...` as a host would run a command on the server."""
    wanted = {"host": "somewhere", key: f"-oProxyCommand=touch {tmp_path}/pwned"}
    with pytest.raises(ValueError, match=key):
        Lab(tmp_path / "lab", model_training={"backends": {ALIAS: {"type": "ssh", **wanted}}})
    assert not (tmp_path / "pwned").exists()
