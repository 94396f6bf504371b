"""The host's program for tests, started as ssh starts it: a shell that reads the script on its stdin."""

from __future__ import annotations

import hashlib
import http.client
import io
import os
import re
import secrets
import subprocess
import tarfile
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, BinaryIO

from jobs import SOURCE
from potato.training.contract.channel import Channel, ChannelClosed
from potato.training.host import bootstrap
from standin import TOKEN, StandIn

PACKAGES = ("agent", "contract", "host", "trainers", "worker")
WAIT_S = 60.0
"""Silence that no test expects of a host."""

Answer = tuple[int, Mapping[str, str], bytes]
Door = Callable[[str, str, Mapping[str, str], bytes], Answer]
"""Answers one request of a courier."""


def code() -> tuple[str, bytes]:
    """Potato's code as the server sends it, and its name."""
    packed = io.BytesIO()
    root = SOURCE / "potato"
    files = [root / "__init__.py", root / "training" / "__init__.py"]
    files += [file for package in PACKAGES for file in (root / "training" / package).rglob("*.py")]
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        for file in sorted(files):
            tar.add(file, str(file.relative_to(SOURCE)))
    content = b"".join(file.read_bytes() for file in sorted(files))
    return hashlib.sha256(content).hexdigest()[:16], packed.getvalue()


class NotStarted(Exception):
    """The host's program did not come up; `noise` is what was printed instead."""

    def __init__(self, noise: str, process: subprocess.Popen[bytes]) -> None:
        super().__init__(noise)
        self.noise = noise
        self.code = process.wait(60)
        assert process.stderr is not None
        self.stderr = process.stderr.read().decode("utf-8", "replace")


class Host:
    """A log-in on this machine, with a home of its own. `close` is what the end of the connection is there."""

    def __init__(
        self,
        home: Path,
        python: str,
        *,
        remote_dir: str = "~/.cache/potato-training",
        env: Mapping[str, str] | None = None,
        login: Mapping[str, str] | None = None,
        shell: str = "sh",
        hello: bool = True,
    ) -> None:
        home.mkdir(parents=True, exist_ok=True)
        self.nonce = secrets.token_hex(8)
        plain = {"HOME": str(home), "PATH": os.environ["PATH"]} if login is None else dict(login)
        self.process = subprocess.Popen(
            [shell],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=home,
            env=plain,
            bufsize=0,
        )
        assert self.process.stdin and self.process.stdout and self.process.stderr
        try:
            self.process.stdin.write(bootstrap.script(self.nonce, python, env or {}))
            self.noise, self.python, self.executable = self._python(self.process.stdout)
            if self.python < "3.8" and self.python[:3] != "3.1":
                raise NotStarted(f"{self.noise}POTATO-{self.nonce}-PY {self.python} {self.executable}\n", self.process)
            self.channel = Channel(self.process.stdout.fileno(), self.process.stdin.fileno())
            self._stderr: list[bytes] = []
            self._reader = threading.Thread(target=self._read_stderr, daemon=True)
            self._reader.start()
            self.remote_dir = self._send_code(remote_dir)
            self.greeting = self.call("hello") if hello else {}
        except BaseException:
            self.close()
            print(self.stderr())
            raise

    def _python(self, output: BinaryIO) -> tuple[str, str, str]:
        """Read up to the marker, and not one byte more."""
        came = bytearray()
        while True:
            found = re.search(rb"(?m)^POTATO-%s-PY (\S+) (.*)\n" % self.nonce.encode(), came)
            if found is not None:
                return came[: found.start()].decode("utf-8", "replace"), found[1].decode(), os.fsdecode(found[2])
            piece = output.read(1)
            if not piece:
                raise NotStarted(came.decode("utf-8", "replace"), self.process)
            came += piece

    def _send_code(self, remote_dir: str) -> str:
        name, packed = code()
        self.channel.send({"call": "code", "remote_dir": remote_dir, "hash": name})
        answer, _ = self.channel.receive(WAIT_S)
        if not answer["ok"]:
            raise Failed(answer)
        self.had_code = bool(answer["have"])
        if not self.had_code:
            self.channel.send({"code": True}, packed)
            second, _ = self.channel.receive(WAIT_S)
            if not second["ok"]:
                raise Failed(second)
        return str(answer["remote_dir"])

    def call(self, name: str, **more: Any) -> dict[str, Any]:
        """The answer to a call. Raises `Failed`."""
        self.channel.send({"call": name, **more})
        self.progress: list[dict[str, Any]] = []
        while True:
            header, _ = self.channel.receive(WAIT_S)
            if "ok" in header:
                break
            self.progress.append(header)
        if not header["ok"]:
            raise Failed(header)
        return header

    def work(self, door: Door, run_id: str, **more: Any) -> dict[str, Any]:
        """Be the server of a courier until it ends. Raises `Failed`, `ChannelClosed`."""
        self.channel.send({"call": "work", "run_id": run_id, "backend": "lab", **more})
        while True:
            header, body = self.channel.receive(WAIT_S)
            if "ok" in header:
                break
            request = header["request"]
            status, headers, answer = door(request["method"], request["path"], request["headers"], body)
            self.channel.send({"status": status, "headers": dict(headers)}, answer)
        if not header["ok"]:
            raise Failed(header)
        return header

    @property
    def pipes(self) -> list[Any]:
        """This side's ends of the connection."""
        return [self.process.stdin, self.process.stdout, self.process.stderr]

    def close(self) -> int:
        """The connection ends; the exit code of what ran there."""
        for pipe in (self.process.stdin, self.process.stdout):
            assert pipe is not None
            if not pipe.closed:
                pipe.close()
        try:
            return self.process.wait(90)
        finally:
            assert self.process.stderr is not None
            if hasattr(self, "_reader"):
                self._reader.join(60)
            self.process.stderr.close()

    def stderr(self) -> str:
        """What came on stderr so far."""
        return b"".join(getattr(self, "_stderr", [])).decode("utf-8", "replace")

    def _read_stderr(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self._stderr.append(line)


def taken(channel: Channel, length: int) -> bytes:
    """The body of so many bytes that comes next."""
    body, count = memoryview(bytearray(length)), 0
    while count < length:
        count += channel.read_into(body[count:], WAIT_S)
    return bytes(body)


def asks(standin: StandIn) -> Door:
    """A door that hands requests on to the stand-in, with a token of its own."""

    def door(method: str, path: str, headers: Mapping[str, str], body: bytes) -> Answer:
        assert "authorization" not in {name.lower() for name in headers}
        connection = http.client.HTTPConnection("127.0.0.1", standin.port, timeout=WAIT_S)
        try:
            connection.request(method, path, body, {**headers, "Authorization": f"Bearer {TOKEN}"})
            response = connection.getresponse()
            return response.status, dict(response.getheaders()), response.read()
        finally:
            connection.close()

    return door


class Failed(Exception):
    """A call was answered with an error; `code`, `error`, `hint` are the answer's."""

    def __init__(self, answer: Mapping[str, Any]) -> None:
        super().__init__(answer["error"])
        self.code, self.error, self.hint = answer["code"], answer["error"], answer.get("hint", "")
        self.answer = answer


__all__ = ["ChannelClosed", "Failed", "Host", "NotStarted", "asks", "code", "taken"]
