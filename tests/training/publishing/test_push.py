"""A run's model goes to a stand-in of the Hub, through the command line and through the server."""

from __future__ import annotations

import re
import subprocess
import sys
import traceback
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from hub_standin import TOKEN, Hub, Repository
from lab import Lab, wait_for
from potato.app import create_app
from potato.errors import PotatoError
from potato.store.training import publications
from potato.store.training.publications import Stage
from potato.store.training.runs import State
from potato.training.publishing.push import plan, publish
from potato.training.runs.pushes import INTERRUPTED

Trained = tuple[Lab, str]


def push(lab: Lab, run_id: str, repo: str, *more: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "potato", "training", "push", run_id, "config.yaml", "--repo", repo, *more]
    return subprocess.run(command, capture_output=True, text=True, cwd=lab.folder, check=False, timeout=120)


def files_with(lab: Lab, text: str) -> str:
    """The files of the project's folder that hold `text`. Another process reads them: whoever closes SQLite's file
    takes away the locks that its own process has on it."""
    command = ["grep", "--recursive", "--files-with-matches", "--fixed-strings", text, str(lab.folder)]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout


def test_a_model_goes_there_private_and_comes_back_as_its_card_says(trained: Trained, hub: Hub, tmp_path: Path) -> None:
    lab, run_id = trained
    done = push(lab, run_id, "acme/kinds")
    assert done.returncode == 0, done.stderr
    repo = hub.repos["acme/kinds"]
    assert f"Published: {hub.url}/acme/kinds, commit {repo.sha} (private)." in done.stdout
    assert repo.private
    model = next((lab.project.runs_dir / run_id / "artifacts").iterdir())
    assert set(repo.files) == {".gitattributes", "README.md", "model.skops", "potato.json"}
    assert repo.files["model.skops"] == (model / "model.skops").read_bytes()
    assert repo.files["model.skops"] in hub.large.values()  # by way of the large files

    run = lab.run(run_id)
    assert [(entry["repo"], entry["revision"]) for entry in run.published] == [("acme/kinds", repo.sha)]
    assert f"published at {hub.url}/acme/kinds, commit {repo.sha}" in (model.parents[1] / "run.log").read_text("utf-8")
    assert files_with(lab, TOKEN) == ""
    assert "run.log" in files_with(lab, "acme/kinds")
    assert TOKEN not in done.stdout + done.stderr

    snippet = re.search(r"```python\n(.*?)```", repo.files["README.md"].decode(), re.DOTALL)
    assert snippet is not None
    loaded = subprocess.run(
        [sys.executable, "-c", snippet.group(1)], capture_output=True, text=True, cwd=tmp_path, check=False
    )
    assert loaded.returncode == 0, loaded.stderr
    assert loaded.stdout.startswith("[[")

    before = len(hub.large)
    again = push(lab, run_id, "acme/kinds")
    assert again.returncode == 0, again.stderr
    assert hub.repos["acme/kinds"].files["model.skops"] == repo.files["model.skops"]
    assert len(hub.large) == before
    assert len(hub.repos["acme/kinds"].commits) == 2  # nothing had changed, so there is no other commit


def test_what_a_model_no_longer_has_goes_too_and_public_is_said_out_loud(trained: Trained, hub: Hub) -> None:
    lab, run_id = trained
    old = {".gitattributes": b"", "README.md": b"# old", "potato.json": b"{}", "old/model.bin": b"old"}
    hub.repos["ada/kinds"] = Repository(private=False, commits=[old])
    done = push(lab, run_id, "ada/kinds", "--public")
    assert "(public)" in done.stdout, done.stderr
    assert set(hub.repos["ada/kinds"].files) == {".gitattributes", "README.md", "model.skops", "potato.json"}


def test_an_upload_that_broke_off_is_gone_on_with(trained: Trained, hub: Hub) -> None:
    lab, run_id = trained
    hub.fault = lambda method, path: 500 if "/commit/" in path else 0
    failed = push(lab, run_id, "acme/again")
    assert failed.returncode == 1
    assert "potato: The Hub failed while uploading: it answered 500" in failed.stderr
    assert "push again" in failed.stderr
    assert "Traceback" not in failed.stderr
    assert TOKEN not in failed.stderr + failed.stdout  # the stand-in had said it back
    assert files_with(lab, TOKEN) == ""
    assert "README.md" not in hub.repos["acme/again"].files
    sent = sum(method == "PUT" for method, _ in hub.requests)
    hub.fault = lambda method, path: 0
    assert push(lab, run_id, "acme/again").returncode == 0
    assert sum(method == "PUT" for method, _ in hub.requests) == sent  # the large file was there
    with lab.database.read() as connection:
        newest, before = publications.of_run(connection, run_id)[:2]
    assert (newest.state, before.state) == (Stage.PUBLISHED, Stage.FAILED)
    assert before.error is not None and before.error["code"] == "hub_failed"


def _who(hub: Hub, **token: Any) -> None:
    hub.who["auth"]["accessToken"].update(token)


def _scope(name: str, *permissions: str) -> dict[str, Any]:
    return {"scoped": [{"entity": {"type": "org", "name": name}, "permissions": list(permissions)}]}


REFUSALS = {
    "a token that the hub does not know": (
        lambda hub, patch: patch.setenv("HF_TOKEN", "hf_another"),
        "acme/kinds",
        "The Hugging Face Hub does not take the token that the server has",
    ),
    "somebody else's namespace": (
        lambda hub, patch: None,
        "google/kinds",
        "The account 'ada' is not 'google', and is no member of it",
    ),
    "an organisation where one may only read": (
        lambda hub, patch: None,
        "elsewhere/kinds",
        "The account 'ada' may only read in 'elsewhere'",
    ),
    "a token that may only read": (
        lambda hub, patch: _who(hub, role="read"),
        "acme/kinds",
        "The token of 'ada' may only read in 'acme'",
    ),
    "a fine-grained token for another organisation": (
        lambda hub, patch: _who(hub, role="fineGrained", fineGrained=_scope("ada", "repo.write")),
        "acme/kinds",
        "The token of 'ada' may only read in 'acme'",
    ),
    "a repository of somebody's own making": (
        lambda hub, patch: hub.repos.update({"acme/kinds": Repository(True, [{"model.safetensors": b"x"}])}),
        "acme/kinds",
        "The repository acme/kinds holds something that Potato did not write",
    ),
    "a public repository": (
        lambda hub, patch: hub.repos.update({"acme/kinds": Repository(False)}),
        "acme/kinds",
        "The repository acme/kinds is public, and the model was to be private",
    ),
    "a hub that is down": (
        lambda hub, patch: setattr(hub, "fault", lambda method, path: 503),
        "acme/kinds",
        "The Hub failed while asking who the token is for: it answered 503",
    ),
    "a card that the hub does not take": (
        lambda hub, patch: patch.setattr("potato.training.publishing.push.card", lambda subject: "---\n- a\n---\n"),
        "acme/kinds",
        'The Hub does not take the model card: "tags" must be an array',
    ),
}


@pytest.mark.parametrize("case", REFUSALS)
def test_nothing_is_written_where_a_check_says_no(trained: Trained, hub: Hub, case: str, monkeypatch: Any) -> None:
    """annotation 71"""
    lab, run_id = trained
    prepare, repo, sentence = REFUSALS[case]
    prepare(hub, monkeypatch)
    with pytest.raises(PotatoError) as refused:
        publish(lab.project, plan(lab.project, lab.run(run_id), repo, public=False), print, hub.url)
    assert refused.value.message.startswith(sentence)
    assert TOKEN not in repr(refused.value) + str(refused.value.hint)
    assert refused.value.__cause__ is None and refused.value.__suppress_context__ is (
        refused.value.__context__ is not None
    )
    assert hub.wrote() == []


def test_a_fine_grained_token_with_the_right_is_enough(trained: Trained, hub: Hub) -> None:
    from potato.training.publishing.hub import Hub as Client

    _who(hub, role="fineGrained", fineGrained=_scope("acme", "repo.content.read", "repo.write"))
    Client(TOKEN, hub.url).check_rights("acme/kinds")
    assert TOKEN not in repr(Client(TOKEN, hub.url))


def test_what_a_library_says_is_told_without_the_token(hub: Hub, monkeypatch: Any) -> None:
    """annotation 71"""
    from potato.training.publishing.hub import Hub as Client

    def whoami(**arguments: Any) -> Any:
        raise RuntimeError(f"cannot send Authorization: Bearer {arguments['token']}")

    client = Client(TOKEN, hub.url)
    monkeypatch.setattr(client._api, "whoami", whoami)
    with pytest.raises(PotatoError) as refused:
        client.check_rights("acme/kinds")
    assert "cannot send Authorization: Bearer …" in refused.value.message
    assert TOKEN not in "".join(traceback.format_exception(refused.value))


@pytest.mark.parametrize(
    "repo", ["kinds", "a/b/c", "acme/with space", "acme/-kinds", "acme/a--b", "acme/" + "k" * 200, "/"]
)
def test_a_name_that_is_none_is_refused_before_the_hub_is_asked(trained: Trained, hub: Hub, repo: str) -> None:
    lab, run_id = trained
    with pytest.raises(PotatoError, match="is no name of a repository"):
        plan(lab.project, lab.run(run_id), repo, public=False)
    assert hub.requests == []


def test_no_token_is_said_before_the_hub_is_asked(trained: Trained, hub: Hub, monkeypatch: Any) -> None:
    from huggingface_hub import constants  # as a module: it is no attribute of the package until somebody imports it

    lab, run_id = trained
    monkeypatch.delenv("HF_TOKEN")
    monkeypatch.setattr(constants, "HF_TOKEN_PATH", "/nowhere")
    with pytest.raises(PotatoError, match="There is no token for the Hugging Face Hub"):
        plan(lab.project, lab.run(run_id), "acme/kinds", public=False)
    assert hub.requests == []


def test_a_model_that_is_not_here_is_refused_with_a_sentence(trained: Trained, hub: Hub) -> None:
    lab, run_id = trained
    run = lab.run(run_id)
    changes: list[tuple[dict[str, Any], str]] = [
        ({"artifact_uri": "gpu.example.org:/home/me/r", "backend_type": "ssh"}, "stayed on another machine (gpu.exam"),
        ({"state": State.ERROR}, "has no model: it is 'error'"),
        ({"files_removed": True}, "was removed to make room (retain_runs)"),
        ({"run_id": "20200101T000000-abcdef"}, "left no model of 'kind/of' on this server"),
        ({"schemas": ["kind/of", "other"]}, "The run has a model for each of 'kind/of' and 'other'"),
    ]
    for fields, sentence in changes:
        with pytest.raises(PotatoError) as refused:
            plan(lab.project, replace(run, **fields), "acme/kinds", public=False)
        assert sentence in refused.value.message
    (note := lab.project.runs_dir / run_id / "copy.json").write_text("{}")
    with pytest.raises(PotatoError) as refused:
        plan(lab.project, run, "acme/kinds", public=False)
    note.unlink()
    assert refused.value.hint is not None and "Copy the model again" in refused.value.hint
    (mark := next((lab.project.runs_dir / run_id / "artifacts").iterdir()) / "calibration.json").write_text("{}")
    with pytest.raises(PotatoError, match="calibrated another run's model, and is none itself"):
        plan(lab.project, run, "acme/kinds", public=False)
    mark.unlink()


def test_the_server_publishes_beside_its_requests(trained: Trained, hub: Hub) -> None:
    lab, run_id = trained
    key = {"X-API-Key": "lab-key"}
    path = f"/admin/training/api/runs/{run_id}/publications"
    with TestClient(create_app(lab.project), headers=key) as client:
        assert client.post(path, json={"repo": "no-namespace"}).json()["code"] == "bad_repo_name"
        assert client.post(path, json={"repo": "a/b"}, headers={"X-API-Key": "wrong"}).status_code == 401
        begun = client.post(path, json={"repo": "acme/served"})
        assert begun.status_code == 202, begun.text
        assert client.post(path, json={"repo": "acme/served"}).json()["code"] == "push_is_going"
        number = begun.json()["id"]

        def newest() -> dict[str, Any]:
            found: dict[str, Any] = client.get(path).json()["publications"][0]
            return found

        wait_for(lambda: newest()["state"] != "going", 120)
        assert newest()["error"] is None
        assert (newest()["id"], newest()["url"]) == (number, f"{hub.url}/acme/served")
        assert client.get(f"/admin/training/api/runs/{run_id}").json()["published"][0]["repo"] == "acme/served"
        page = client.get(f"/admin/training/runs/{run_id}", headers={"Accept": "text/html"}).text
        assert f'href="{hub.url}/acme/served"' in page
        assert TOKEN not in page
    assert hub.repos["acme/served"].private


def test_a_server_that_goes_down_says_that_the_push_broke_off(trained: Trained, hub: Hub) -> None:
    lab, run_id = trained
    reached = []

    def stall(method: str, path: str) -> int:
        reached.append(path)
        return 503 if path.startswith("/storage/") else 0  # the library tries again, for longer than this test takes

    hub.fault = stall
    with lab.supervisor() as supervisor:
        supervisor.publish(run_id, "acme/broken-off", False, None, "ann")
        wait_for(lambda: any(path.startswith("/storage/") for path in reached) or "", 120)
    with lab.database.read() as connection:
        newest = publications.of_run(connection, run_id)[0]
    assert (newest.state, newest.error) == (Stage.FAILED, INTERRUPTED)
    with lab.database.write() as connection:
        left = publications.begin(
            connection, run_id, "kind/of", "acme/killed", False, "ann", "2026-11-29T14:15:00.000Z"
        )
    with lab.supervisor():
        pass
    with lab.database.read() as connection:
        assert publications.get(connection, left).error == INTERRUPTED


def test_a_published_run_keeps_its_files(trained: Trained, hub: Hub) -> None:
    from potato.training.results.retention import _is_kept

    lab, run_id = trained
    run = replace(lab.run(run_id), published=[{"repo": "acme/kinds"}], live=[])
    assert (_is_kept(run), _is_kept(replace(run, published=[]))) == (True, False)
