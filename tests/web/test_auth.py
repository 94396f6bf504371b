"""Who may do what."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import httpx
import pytest
from starlette.testclient import TestClient

import site_scenes as scenes
from makers import NOW
from potato.app import create_app
from potato.tasks import TaskRunner
from potato.web.throttle import FOR_KEY, WINDOW

AGREEMENT = "/admin/agreement"


@pytest.fixture(autouse=True)
def no_measuring(monkeypatch: pytest.MonkeyPatch) -> None:
    async def nothing(*_: object) -> dict[str, object]:
        return {}

    monkeypatch.setattr("potato.admin.measuring.AgreementGauge.read", nothing)


def test_the_admin_key_opens_by_header(client: TestClient) -> None:
    assert client.get(AGREEMENT).json()["code"] == "not_admin"
    assert client.get(AGREEMENT, headers={"X-API-Key": "wrong"}).json()["code"] == "wrong_admin_key"
    assert client.get(AGREEMENT, headers={"X-API-Key": "\xff\xfe".encode("latin-1")}).status_code == 401  # type: ignore[dict-item]
    assert client.get(AGREEMENT, headers={"X-API-Key": scenes.KEY}).status_code == 200


def test_the_admin_key_opens_a_session(client: TestClient) -> None:
    wrong = client.post("/admin/sign-in", data={"key": "nope"}, headers=scenes.PAGE)
    assert wrong.status_code == 401
    assert "not the project" in wrong.text
    client.post("/admin/sign-in", data={"key": scenes.KEY}, headers=scenes.PAGE)
    assert client.get(AGREEMENT).status_code == 200
    client.post("/admin/sign-out", headers=scenes.PAGE)
    assert client.get(AGREEMENT).status_code == 401


def _by_key(client: TestClient, key: str) -> int:
    return client.get(AGREEMENT, headers={"X-API-Key": key}).status_code


@pytest.mark.parametrize("way", ["header", "form", "metrics"])
def test_an_address_with_too_many_wrong_keys_waits(tmp_path: Path, way: str) -> None:
    """The right key has to wait there, too; open sessions and other addresses do not."""
    now = [NOW]
    tries: dict[str, Callable[[str], httpx.Response]] = {
        "header": lambda key: client.get(AGREEMENT, headers={"X-API-Key": key}),
        "form": lambda key: client.post("/admin/sign-in", data={"key": key}),
        "metrics": lambda key: client.get("/metrics", headers={"Authorization": f"Bearer {key}"}),
    }
    project = scenes.project(tmp_path)
    app = create_app(project, tasks=TaskRunner(project), clock=lambda: now[0])
    with TestClient(app, client=("192.0.2.1", 1)) as client, TestClient(app, client=("192.0.2.2", 1)) as elsewhere:
        client.post("/admin/sign-in", data={"key": scenes.KEY})
        assert [tries[way](f"guess {number}").status_code for number in range(FOR_KEY)] == [401] * FOR_KEY
        refused = tries[way](scenes.KEY)
        assert (refused.status_code, refused.json()["code"]) == (429, "too_many_attempts")
        assert 0 < int(refused.headers["retry-after"]) <= WINDOW.total_seconds()
        assert client.get(AGREEMENT).status_code == 200  # by the session
        assert _by_key(elsewhere, scenes.KEY) == 200
        now[0] += WINDOW
        assert tries[way](scenes.KEY).status_code < 400


def test_an_old_key_that_a_program_goes_on_with_locks_nobody_out(client: TestClient) -> None:
    assert {_by_key(client, "the old key") for _ in range(FOR_KEY * 2)} == {401}
    assert _by_key(client, scenes.KEY) == 200
    for number in range(FOR_KEY - 1):
        _by_key(client, f"guess {number}")
    assert _by_key(client, "the old key") == 429


def test_a_new_admin_key_ends_admin_sessions(tmp_path: Path) -> None:
    with scenes.served(scenes.project(tmp_path)) as client:
        client.post("/admin/sign-in", data={"key": scenes.KEY})
        cookies = client.cookies
    with scenes.served(scenes.project(tmp_path, admin_api_key="another key"), cookies=cookies) as client:
        assert client.get(AGREEMENT).status_code == 401


def test_a_project_without_a_key_lets_nobody_in(tmp_path: Path) -> None:
    with scenes.served(scenes.project(tmp_path, admin_api_key=None)) as client:
        assert client.get(AGREEMENT, headers={"X-API-Key": ""}).status_code == 401
        assert client.post("/admin/sign-in", data={"key": ""}).status_code == 401
        assert "no admin key" in client.get("/admin", headers=scenes.PAGE).text


def test_a_tampered_cookie_signs_nobody_in(client: TestClient) -> None:
    scenes.sign_in(client)
    (cookie,) = list(client.cookies.jar)
    value = cookie.value or ""
    client.cookies.clear()
    client.cookies.set(cookie.name, ("A" if value[0] != "A" else "B") + value[1:])
    assert client.get("/annotate").status_code == 401


def test_an_annotators_cookie_is_no_admins(client: TestClient) -> None:
    scenes.sign_in(client)
    (cookie,) = list(client.cookies.jar)
    client.cookies.set(cookie.name.replace("annotator", "admin"), cookie.value or "")
    assert client.get(AGREEMENT).status_code == 401


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Sec-Fetch-Site": "same-origin"}, 200),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-site"}, 403),
        ({"Origin": "http://testserver"}, 200),
        ({"Origin": "http://evil.example.org"}, 403),
        ({"Origin": "null"}, 403),
        ({}, 403),
    ],
)
def test_a_session_changes_things_only_from_this_servers_pages(
    client: TestClient, headers: dict[str, str], status: int
) -> None:
    scenes.sign_in(client)
    item = scenes.hand_out(client)
    body = {"request_id": "request-1", "annotator": "ann", "answers": {"sentiment": "positive"}}
    assert client.post(f"/annotate/{item}/answers", json=body, headers=headers).status_code == status


@pytest.mark.parametrize(
    ("peer", "host", "headers", "status"),
    [
        ("127.0.0.1", "localhost", {}, 200),
        ("::1", "127.0.0.1", {}, 200),
        ("192.0.2.7", "localhost", {}, 401),
        ("127.0.0.1", "rebound.example.org", {}, 401),
        ("127.0.0.1", "localhost", {"X-Forwarded-For": "192.0.2.7"}, 401),
    ],
)
def test_debug_gives_admin_rights_to_this_machine_alone(
    tmp_path: Path, peer: str, host: str, headers: dict[str, str], status: int
) -> None:
    project = scenes.project(tmp_path, debug=True)
    with scenes.served(project, client=(peer, 1234), base_url=f"http://{host}") as client:
        assert client.get(AGREEMENT, headers=headers).status_code == status


def test_without_debug_this_machine_has_no_rights(tmp_path: Path) -> None:
    with scenes.served(scenes.project(tmp_path), client=("127.0.0.1", 1), base_url="http://localhost") as client:
        assert client.get(AGREEMENT).status_code == 401


def test_cookies_cannot_be_read_by_scripts_nor_sent_from_elsewhere(client: TestClient) -> None:
    cookie = client.post("/sign-in", data={"name": "ann"}).headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=lax" in cookie
    assert "Path" not in cookie  # the browser takes the folder of the address, under any prefix
