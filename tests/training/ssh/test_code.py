"""What travels to a host: all that is needed there, named by its content."""

from __future__ import annotations

import io
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from potato.training.ssh.code import code


def test_it_runs_by_itself_and_is_small(tmp_path: Path) -> None:
    mine = code()
    assert len(mine.packed) < 200_000
    with tarfile.open(fileobj=io.BytesIO(mine.packed)) as tar:
        tar.extractall(tmp_path, filter="data")
    program = (
        "import potato.training.host.program, potato.training.agent.__main__, potato.training.worker.job;"
        "print(potato.__file__)"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-E", "-c", f"import sys; sys.path.insert(0, {str(tmp_path)!r}); {program}"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.startswith(str(tmp_path)), done.stderr


def test_the_same_source_has_the_same_name_and_another_has_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = code()
    code.cache_clear()
    assert code() == first
    for name in ("agent", "contract", "host", "trainers", "worker"):
        (tmp_path / "training" / name).mkdir(parents=True)
    (tmp_path / "__init__.py").write_text("")
    (tmp_path / "training" / "__init__.py").write_text("")
    monkeypatch.setattr("potato.__file__", str(tmp_path / "__init__.py"))
    names = set()
    for text in ("a = 1\n", "a = 2\n"):
        (tmp_path / "training" / "agent" / "x.py").write_text(text)
        code.cache_clear()
        names.add(code().hash)
    code.cache_clear()
    assert len(names) == 2
