"""The API's routes for what there is."""

from __future__ import annotations

import subprocess
import sys

import pytest
from starlette.testclient import TestClient

import training_scenes as scenes
from potato.store import Database
from potato.store.training.runs import State
from potato.training.trainers import registry
from potato.training.web import listings

API = "/admin/training/api"


def test_backends_are_listed_with_the_default_first(client: TestClient) -> None:
    backends = client.get(f"{API}/backends").json()["backends"]
    assert [(backend["name"], backend["type"], backend["default"]) for backend in backends] == [
        ("local", "local", True),
        ("gpu-server", "ssh", False),
        ("lab-workstation", "agent", False),
    ]
    assert backends[1]["label"] == "gpu-server (ssh to gpu.example.org)"


def test_trainers_are_listed_from_their_metadata(client: TestClient) -> None:
    trainers = {trainer["name"]: trainer for trainer in client.get(f"{API}/trainers").json()["trainers"]}
    assert trainers["sklearn-text"]["fits"] == ["sentiment", "topics", "stars"]
    assert {param["name"] for param in trainers["sklearn-text"]["params"]} >= {"C", "class_weight"}


def test_a_trainer_whose_package_is_missing_says_how_to_install_it(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listings.importlib.util, "find_spec", lambda name: None if name == "skops" else object())
    [trainer] = [t for t in client.get(f"{API}/trainers").json()["trainers"] if t["name"] == "sklearn-text"]
    assert trainer["installed"] is False
    assert trainer["install_command"].startswith(f"{sys.executable} -m pip install ")


def test_listing_trainers_imports_no_training_library() -> None:
    code = (
        "import sys; from potato.training.trainers import registry; "
        "from potato.training.web.listings import is_installed; "
        "[is_installed(info) for info in registry.infos()]; "
        "print([n for n in ('torch', 'sklearn', 'skops', 'transformers', 'peft') if n in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_schemas_tell_how_much_is_labelled_and_whose_prelabels_are_live(client: TestClient, database: Database) -> None:
    run = scenes.succeeded(1)
    with database.write() as connection:
        scenes.add(connection, run, live=run)
    schemas = {schema["name"]: schema for schema in client.get(f"{API}/schemas").json()["schemas"]}
    assert schemas["sentiment"]["labels"] == scenes.LABELS
    assert schemas["sentiment"]["labelled_items"] == 0
    assert schemas["sentiment"]["live_run"] == run.run_id
    assert (schemas["sentiment"]["writeback"], schemas["topics"]["writeback"]) == (True, False)
    assert schemas["stars"]["trainers"] == [info.name for info in registry.infos() if "ordinal" in info.kinds]


def test_the_status_tells_what_goes_and_what_waits_in_order(client: TestClient, database: Database) -> None:
    going, first, second = scenes.run(1, State.RUNNING), scenes.run(2, State.QUEUED), scenes.run(3, State.QUEUED)
    with database.write() as connection:
        scenes.add(connection, going, first, second)
    status = client.get(f"{API}/status").json()
    assert status["current"]["run_id"] == going.run_id
    assert [run["run_id"] for run in status["queue"]] == [first.run_id, second.run_id]


def test_a_check_tells_whether_a_run_could_start(client: TestClient) -> None:
    report = client.post(f"{API}/backends/local/check", json={"trainer": "sklearn-text"}).json()
    assert report["ok"] is True
    assert report["lines"][0].startswith("local: this machine, ")


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("backends/moon/check", {}, 409),
        ("backends/local/check", {"trainer": 5}, 400),
        ("backends/local/check", {"trainer": "nobody"}, 400),
        ("backends/local/check", {"colour": 5}, 400),
    ],
)
def test_a_check_that_cannot_be_made_says_why(client: TestClient, path: str, body: object, status: int) -> None:
    answer = client.post(f"{API}/{path}", json=body)
    assert answer.status_code == status
    assert answer.json()["error"]
