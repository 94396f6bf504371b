"""A model's files come home whole or not at all, whatever the host says."""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from potato.training.contract.channel import Channel, ChannelClosed
from potato.training.ssh.command import Destination
from potato.training.ssh.copying import Copying, Damaged, NotStored, Remote, is_safe, listing
from potato.training.ssh.errors import HostFailed, HostSilent, Lost
from potato.training.ssh.session import Session
from potato.training.ssh.timing import SshTiming
from small_disk import small_disk

Answers = Callable[[Channel, dict[str, Any]], None]


class FakeHost:
    """The other end of a session's channel, which answers as a test says."""

    def __init__(self) -> None:
        (here_in, there_out), (there_in, here_out) = os.pipe(), os.pipe()
        self._descriptors = [here_in, there_out, there_in, here_out]
        self.session = Session(Destination("gpu"), SshTiming(silence=60))
        self.session.channel = Channel(here_in, here_out)
        self.channel = Channel(there_in, there_out)
        self.asked: list[dict[str, Any]] = []
        self.answers: Answers = lambda channel, call: None
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        try:
            while True:
                call, _ = self.channel.receive()
                self.asked.append(call)
                self.answers(self.channel, call)
        except (ChannelClosed, OSError):
            return

    def hang_up(self) -> None:
        for descriptor in self._descriptors[1:3]:
            os.close(descriptor)
        del self._descriptors[1:3]

    def close(self) -> None:
        """Hang up from here, and close the other end only when its thread has left: a number is soon another pipe's."""
        here, there = self._descriptors[0], self._descriptors[-1]
        os.close(here)
        os.close(there)
        self._thread.join(60)
        assert not self._thread.is_alive()
        for descriptor in self._descriptors[1:-1]:
            os.close(descriptor)


@pytest.fixture
def there() -> Iterator[FakeHost]:
    """A host that answers as the test says."""
    host = FakeHost()
    yield host
    host.close()


def sending(files: dict[str, bytes], change: Callable[[bytes], bytes] = lambda data: data) -> Answers:
    """An honest host with these files; `change` is what the way does to them."""

    def answer(channel: Channel, call: dict[str, Any]) -> None:
        data = files[call["path"]]
        rest = data[call["offset"] :]
        channel.send({"ok": True, "bytes": len(rest)}, change(rest))
        channel.send({"sha256": hashlib.sha256(data).hexdigest()})

    return answer


def copying(folder: Path, silence: float = 60, seen: list[tuple[int, int]] | None = None) -> Copying:
    """A copying into `folder/artifacts`."""

    def progress(here: int, total: int) -> None:
        if seen is not None:
            seen.append((here, total))

    return Copying("run", folder / "artifacts", folder / "beside", silence, progress)


def remotes(files: dict[str, bytes]) -> list[Remote]:
    """As a listing has them."""
    return [Remote(path, len(data)) for path, data in files.items()]


def test_files_come_whole_with_their_folders(tmp_path: Path, there: FakeHost) -> None:
    files = {"1-sentiment/model.bin": os.urandom(3_000_000), "1-sentiment/empty": b"", "é.txt": b"x"}
    there.answers = sending(files)
    seen: list[tuple[int, int]] = []
    copying(tmp_path, seen=seen).run(there.session, 1, remotes(files))
    assert {path: (tmp_path / "artifacts" / path).read_bytes() for path in files} == files
    assert not (tmp_path / "beside").exists()
    assert seen == sorted(seen) and seen[-1] == (3_000_001, 3_000_001)


def test_a_broken_copy_goes_on_where_it_was(tmp_path: Path, there: FakeHost) -> None:
    data = os.urandom(2_500_000)

    def half(channel: Channel, call: dict[str, Any]) -> None:
        channel.send_stream({"ok": True, "bytes": len(data)}, len(data), lambda most: _cut())

    def _cut() -> bytes:
        os.write(there._descriptors[1], data[:1_000_000])
        there.hang_up()
        raise OSError

    there.answers = half
    with pytest.raises(Lost):
        copying(tmp_path).run(there.session, 1, [Remote("m", len(data))])
    part = (tmp_path / "beside" / "m").read_bytes()
    assert 0 < len(part) <= 1_000_000 and data.startswith(part)
    assert not (tmp_path / "artifacts" / "m").exists(), "a part never looks whole"
    again = FakeHost()
    again.answers = sending({"m": data})
    copying(tmp_path).run(again.session, 1, [Remote("m", len(data))])
    assert again.asked[0]["offset"] == len(part)
    assert (tmp_path / "artifacts" / "m").read_bytes() == data
    again.close()


def test_a_part_of_another_file_is_brought_anew(tmp_path: Path, there: FakeHost) -> None:
    (tmp_path / "beside").mkdir()
    (tmp_path / "beside" / "m").write_bytes(b"older")
    there.answers = sending({"m": b"newer and longer"})
    copying(tmp_path).run(there.session, 1, [Remote("m", 16)])
    assert (tmp_path / "artifacts" / "m").read_bytes() == b"newer and longer"
    assert [call["offset"] for call in there.asked] == [5, 0]


def test_what_the_way_damaged_is_never_stored(tmp_path: Path, there: FakeHost) -> None:
    there.answers = sending({"m": b"right"}, lambda data: data.replace(b"r", b"w"))
    with pytest.raises(Damaged):
        copying(tmp_path).run(there.session, 1, [Remote("m", 5)])
    assert not (tmp_path / "artifacts" / "m").exists()


def test_silence_and_refusal_are_told_apart(tmp_path: Path, there: FakeHost) -> None:
    there.answers = lambda channel, call: channel.send({"ok": False, "code": "x", "error": "it is\ngone"})
    with pytest.raises(HostFailed, match="it is gone"):
        copying(tmp_path).run(there.session, 1, [Remote("m", 5)])
    there.answers = lambda channel, call: None
    with pytest.raises(HostSilent):
        copying(tmp_path, silence=0.2).run(there.session, 1, [Remote("m", 5)])


def test_a_disk_that_takes_nothing_is_said(tmp_path: Path, there: FakeHost) -> None:
    (tmp_path / "artifacts").mkdir()
    (tmp_path / "artifacts" / "m").mkdir()  # a rename onto a folder fails like a disk does
    there.answers = sending({"m": b"x"})
    with pytest.raises(NotStored):
        copying(tmp_path).run(there.session, 1, [Remote("m", 1)])


def test_a_disk_that_fills_up_amid_a_copy_is_said_and_the_copy_goes_on_once_there_is_room(
    tmp_path: Path, there: FakeHost
) -> None:
    """remote 46, on the server: what did not fit never looks whole."""
    data = os.urandom(5_000_000)
    there.answers = sending({"m": data})
    with small_disk(tmp_path / "disk") as disk:
        with pytest.raises(NotStored, match="No space left on device"):
            copying(disk.folder).run(there.session, 1, [Remote("m", len(data))])
        assert not (disk.folder / "artifacts" / "m").exists()
        disk.grow(8)
        again = FakeHost()
        again.answers = sending({"m": data})
        try:
            copying(disk.folder).run(again.session, 1, [Remote("m", len(data))])
        finally:
            again.close()
        assert (disk.folder / "artifacts" / "m").read_bytes() == data
        assert again.asked[0]["offset"] > 0


@pytest.mark.parametrize(
    "path",
    ["", "/etc/passwd", "../x", "a/../../x", "a//b", "./a", "a/.", "a\\b", "a\0b", "a\nb", "a" * 300, "a/" * 600 + "b"],
)
def test_no_path_of_a_hosts_leads_outside(path: str, there: FakeHost) -> None:
    assert not is_safe(path)
    files = [{"path": path, "bytes": 1}, {"path": "good", "bytes": 1}, {"path": 7}, "x", {"path": "n", "bytes": -1}]
    there.answers = lambda channel, call: channel.send(
        {"ok": True, "attempt": 1, "folder": "/home/\x1b[31mada", "files": files}
    )
    found = listing(there.session, "run")
    assert [file.path for file in found.files] == ["good"]
    assert found.odd == 4
    assert found.folder == "/home/ [31mada"
