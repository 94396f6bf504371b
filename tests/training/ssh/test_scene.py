"""The hosts that the tests of ssh log in to are what they say."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import venv
from collections.abc import Callable
from pathlib import Path

from lab import wait_for
from machines import PYTHON, Account, Machine
from ssh_scene import in_tmp
from sshd import Client, Host


def test_a_host_has_the_trainers_packages_and_no_potato(client: Client, host: Host) -> None:
    program = "import importlib.util as u; print([bool(u.find_spec(name)) for name in ('sklearn', 'potato')])"
    done = client.ssh(host.alias, f'{PYTHON} -c "{program}"')
    assert done.stdout == "[True, False]\n", done.stderr


def test_a_user_of_its_own_has_a_home_of_its_own(client: Client, host: Host) -> None:
    done = client.ssh(host.alias, "id -un; pwd; touch here; ls /home; echo x > /etc/passwd")
    assert done.stdout.split() == ["ada", "/home/ada", "ada"]
    assert in_tmp(host) == [host.there.folder.name]
    assert "Permission denied" in done.stderr
    assert (host.home / "here").exists()


def test_two_hosts_do_not_meet(client: Client, hosts: Callable[..., Host]) -> None:
    one, other = hosts(alias="one"), hosts(alias="other")
    for host in (one, other):
        assert client.ssh(host.alias, f"touch {host.alias}").returncode == 0
    assert ((one.home / "one").exists(), (one.home / "other").exists()) == (True, False)
    assert (one.log_ins(), other.log_ins()) == (1, 1)


def test_a_session_can_be_cut_and_what_it_started_is_seen(client: Client, host: Host) -> None:
    going = subprocess.Popen([client.folder / "bin" / "ssh", host.alias, "exec sleep 600"], stdin=subprocess.DEVNULL)
    wait_for(lambda: list(host.there.processes().values()) == ["sleep 600"])
    assert client.living() == [going.pid]
    assert host.send(signal.SIGKILL) == 2
    assert going.wait(30) == 255
    assert list(host.there.processes().values()) == ["sleep 600"]


def test_a_host_can_be_out_of_reach_for_a_while(client: Client, host: Host) -> None:
    host.down()
    assert client.ssh(host.alias, "true").stderr.endswith("Connection refused\n")
    host.up()
    assert client.ssh(host.alias, "true").returncode == 0


def test_homes_and_shells_may_be_odd(client: Client, hosts: Callable[..., Host]) -> None:
    home = f"/home/b é {'x' * 109}"
    assert len(home.encode()) == 120
    host = hosts(machine=Machine(account=Account(shell="/usr/bin/fish", home=home, files={"say": "#!/bin/sh\npwd\n"})))
    assert client.ssh(host.alias, "echo $version; ./say").stdout.endswith(home + "\n")


def test_a_small_home_is_full_soon_and_a_read_only_tmp_takes_nothing(
    client: Client, hosts: Callable[..., Host]
) -> None:
    host = hosts(machine=Machine(account=Account(home_mb=2), tmp_read_only=True))
    done = client.ssh(host.alias, "touch /tmp/x; dd if=/dev/zero of=full bs=1M count=3")
    assert "Read-only file system" in done.stderr
    assert "No space left on device" in done.stderr


def test_a_hidden_folder_is_empty_there(client: Client, hosts: Callable[..., Host]) -> None:
    host = hosts(machine=Machine(hidden=[Path(venv.__file__).parent]))
    assert "No module named venv" in client.ssh(host.alias, f"{PYTHON} -m venv made").stderr


def test_a_cable_that_is_cut_loses_all_and_tells_nobody(client: Client, hosts: Callable[..., Host]) -> None:
    host = hosts(machine=Machine(network=True))
    assert host.cable is not None
    program = "import time\nwhile True: print('x' * 100000, flush=True); time.sleep(0.01)"
    command = [client.folder / "bin" / "ssh", host.alias, f'{PYTHON} -c "{program}"']
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as going:
        assert going.stdout is not None
        output = going.stdout.fileno()

        def comes() -> bool:
            return bool(select.select([output], [], [], 0.5)[0] and os.read(output, 1 << 20))

        wait_for(comes)
        host.cable.cut()
        wait_for(lambda: not comes())
        assert going.poll() is None
        host.cable.mend()
        wait_for(comes)
        going.kill()
