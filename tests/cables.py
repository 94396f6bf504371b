"""A cable between this machine and one of the tests' machines that has a network of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
from itertools import count

from conftest import missing
from machines import Running

_numbers = count()


class Cable:
    """A point-to-point network of two addresses. While it is cut, every packet is lost, and nobody is told."""

    def __init__(self, there: Running) -> None:
        number = next(_numbers)
        low, mine = os.getpid() % 16384, number % 64
        network = f"10.{64 + low // 256}.{low % 256}"
        self.here, self.address = f"{network}.{mine * 4 + 1}", f"{network}.{mine * 4 + 2}"
        self._near, self._far = f"pt{os.getpid()}a{number}", f"pt{os.getpid()}b{number}"
        self._ip = shutil.which("ip", path=f"{os.environ['PATH']}:/usr/sbin:/sbin") or missing("the program ip")
        self._there = there
        self._lay()

    def cut(self) -> None:
        """Lose every packet from now on."""
        self._run(self._there.command(self._ip, "link", "set", self._far, "down"))

    def mend(self) -> None:
        """Let packets through again."""
        self._run(self._there.command(self._ip, "link", "set", self._far, "up"))

    def _lay(self) -> None:
        try:
            self._run([self._ip, "link", "add", self._near, "type", "veth", "peer", "name", self._far])
        except subprocess.CalledProcessError:
            missing("pairs of virtual network interfaces (veth)")
        self._run([self._ip, "link", "set", self._far, "netns", str(self._there.pid)])
        self._run([self._ip, "address", "add", f"{self.here}/30", "dev", self._near])
        self._run([self._ip, "link", "set", self._near, "up"])
        for command in (["link", "set", "lo", "up"], ["address", "add", f"{self.address}/30", "dev", self._far]):
            self._run(self._there.command(self._ip, *command))
        self.mend()

    @staticmethod
    def _run(command: list[str]) -> None:
        subprocess.run(command, check=True, stdin=subprocess.DEVNULL)
