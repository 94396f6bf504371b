"""One server a project, on a disk of its own machine."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from potato.store import Database
from potato.store.databases import lock
from potato.store.databases.lock import AlreadyServed, ServerLock, StoreOnNetwork

CHILD = """
import sys, time
from pathlib import Path
from potato.store.databases.lock import ServerLock
with ServerLock(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(600)
"""


def test_a_second_server_is_told_who_has_the_folder_and_a_killed_one_leaves_no_lock(tmp_path: Path) -> None:
    child = subprocess.Popen([sys.executable, "-c", CHILD, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    assert child.stdout.readline() == "held\n"
    with pytest.raises(AlreadyServed) as raised, ServerLock(tmp_path):
        pass
    assert raised.value.message == f"another server (process {child.pid}) is serving {tmp_path}"
    child.send_signal(signal.SIGKILL)
    child.wait()
    child.stdout.close()
    with ServerLock(tmp_path):
        assert (tmp_path / "server.lock").read_text() == str(os.getpid())
    with ServerLock(tmp_path):
        pass


@pytest.mark.parametrize("kind", ["nfs4", "cifs", "smb3", "fuse.sshfs"])
def test_a_database_on_a_network_file_system_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    mounts = [SimpleNamespace(mountpoint="/", fstype="ext4"), SimpleNamespace(mountpoint=str(tmp_path), fstype=kind)]
    monkeypatch.setattr(lock.psutil, "disk_partitions", lambda all: mounts)
    database = Database(f"sqlite:///{tmp_path / 'out' / 'potato.db'}")
    with pytest.raises(StoreOnNetwork) as raised:
        database.migrate()
    assert raised.value.message == (
        f"{tmp_path / 'out'} lies on a network file system ({kind}), on which the SQLite store would be damaged"
    )
    assert not (tmp_path / "out").exists()


def test_a_local_file_system_is_fine(tmp_path: Path) -> None:
    lock.check_file_system(tmp_path / "not" / "there" / "yet")
