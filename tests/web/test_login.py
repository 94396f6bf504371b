"""Each way in, and what ends a session."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

import site_scenes as scenes
from makers import NOW
from potato.admin import accounts as actions
from potato.app import create_app
from potato.project import Project
from potato.store import Database, accounts, tables
from potato.web import passwords
from potato.web.proxy import RememberPeer
from potato.web.throttle import FOR_ADDRESS, FOR_NAME, WINDOW, Throttle, TooManyAttempts

PASSWORD = "correct horse"


def change(project: Project, made: actions.Change) -> actions.Done:
    """What the users page or `potato users` would do."""
    database = Database(project.database_url)
    try:
        with database.write() as connection:
            return made(connection)
    finally:
        database.close()


@pytest.fixture(autouse=True, scope="module")
def cheap_hashes() -> Iterator[None]:
    """Argon2 with little work, so that the tests cost little; how much it is set to in earnest, a test says."""
    from argon2 import PasswordHasher

    real = passwords._hasher
    cheap = PasswordHasher(time_cost=1, memory_cost=64, parallelism=1)
    passwords._hasher = lambda: cheap  # type: ignore[assignment]
    passwords._nobodys.cache_clear()
    yield
    passwords._hasher = real
    passwords._nobodys.cache_clear()


@pytest.fixture
def by_password(tmp_path: Path) -> Project:
    """A project with passwords, and an annotator who has one."""
    project = scenes.project(tmp_path, login={"type": "password"})
    change(project, actions.add("ann", NOW))
    change(project, actions.new_password("ann", PASSWORD))
    return project


def enter(client: TestClient, **fields: str) -> Any:
    return client.post("/sign-in", data=fields)


def test_a_password_opens_and_nothing_else_does(by_password: Project) -> None:
    with scenes.served(by_password) as client:
        for name, given in (("ann", "wrong horse"), ("ann", ""), ("bob", PASSWORD), ("", PASSWORD)):
            answer = enter(client, name=name, password=given)
            assert answer.status_code in (400, 401)
            assert client.get("/annotate").status_code == 401
        assert enter(client, name="ann", password="x").json()["code"] == "wrong_password"
        assert enter(client, name=" ann ", password=PASSWORD).json() == {"name": "ann"}
        assert client.get("/annotate").status_code == 303


@pytest.mark.parametrize(("path", "title"), [("/sign-in", "Start annotating"), ("/admin/sign-in", "Admin key")])
def test_the_address_that_a_refused_sign_in_leaves_shows_the_way_in(
    by_password: Project, path: str, title: str
) -> None:
    with scenes.served(by_password, headers=scenes.PAGE) as client:
        data = {"name": "nobody", "password": "wrong words", "key": "wrong"}
        assert client.post(path, data=data, headers={"Sec-Fetch-Site": "same-origin"}).status_code in (401, 403)
        again = client.get(path, follow_redirects=True)
        assert again.status_code in (200, 401)
        assert title in again.text


def test_what_is_wrong_does_not_say_whether_the_name_is_there(by_password: Project) -> None:
    with scenes.served(by_password) as client:
        pages = [
            client.post("/sign-in", data={"name": name, "password": "wrong"}, headers=scenes.PAGE).text.replace(
                f'value="{name}"', 'value="NAME"'
            )
            for name in ("ann", "nobody-of-this-name")
        ]
        assert pages[0] == pages[1]
        assert "do not belong together" in pages[0]


def test_an_unknown_name_takes_as_long_as_a_wrong_password() -> None:
    """Both verify one hash of the same cost; the work is counted, because time on a busy machine says little."""
    verified: list[str] = []
    real = passwords._hasher()

    class Counting:
        def verify(self, password_hash: str, password: str) -> bool:
            verified.append(password_hash.rpartition("$")[0].rpartition("$")[0])
            return real.verify(password_hash, password)

        def hash(self, password: str) -> str:
            return real.hash(password)

    kept, passwords._hasher = passwords._hasher, lambda: Counting()  # type: ignore[assignment, return-value]
    try:
        known = passwords.hashed("known password")
        assert not passwords.matches(known, "wrong")
        assert not passwords.matches(None, "wrong")
    finally:
        passwords._hasher = kept
    assert len(verified) == 2
    assert verified[0] == verified[1]  # the same algorithm, memory and rounds


def test_what_is_stored_is_an_argon2_hash(by_password: Project) -> None:
    database = Database(by_password.database_url)
    with database.read() as connection:
        account = accounts.by_name(connection, "ann")
    database.close()
    assert account is not None and account.password_hash is not None
    assert account.password_hash.startswith("$argon2id$")
    assert PASSWORD not in account.password_hash


def test_a_new_password_ends_the_sessions_of_the_old_one(by_password: Project) -> None:
    with scenes.served(by_password) as client:
        enter(client, name="ann", password=PASSWORD)
        item = scenes.hand_out(client)
        change(by_password, actions.new_password("ann", "another horse"))
        assert scenes.save(client, item, {"sentiment": "positive"}).json()["code"] == "not_signed_in"
        assert client.get("/", headers=scenes.PAGE).status_code == 401
        assert enter(client, name="ann", password=PASSWORD).status_code == 401
        enter(client, name="ann", password="another horse")
        assert scenes.save(client, item, {"sentiment": "positive"}).status_code == 200


def test_guessing_is_slowed_down_by_name_and_the_page_says_for_how_long(by_password: Project) -> None:
    with scenes.served(by_password) as client:
        for _ in range(FOR_NAME):
            assert enter(client, name="ann", password="guess").status_code == 401
        refused = enter(client, name="ann", password=PASSWORD)  # the right one too
        assert refused.status_code == 429
        assert refused.json()["code"] == "too_many_attempts"
        assert 0 < int(refused.headers["retry-after"]) <= WINDOW.total_seconds()
        assert (
            "Try again in 10 minutes"
            in client.post("/sign-in", data={"name": "ann", "password": "x"}, headers=scenes.PAGE).text
        )
        assert enter(client, name="bob", password="guess").status_code == 401  # others are not held up


def test_a_throttle_counts_before_it_looks_and_forgets_in_time() -> None:
    throttle = Throttle()
    for _ in range(FOR_NAME):
        throttle.attempt("ann", "a", NOW)
    with pytest.raises(TooManyAttempts):
        throttle.attempt("ann", "b", NOW)
    throttle.attempt("ann", "a", NOW + WINDOW)
    throttle = Throttle()
    for number in range(FOR_ADDRESS):
        throttle.attempt(f"name {number}", "a", NOW)
    with pytest.raises(TooManyAttempts):
        throttle.attempt("another", "a", NOW)
    throttle.attempt("another", "b", NOW)
    throttle = Throttle()
    for _ in range(FOR_ADDRESS * 3):  # who is right is not slowed down
        throttle.attempt("ann", "a", NOW)
        throttle.succeeded("ann", "a")


def test_a_throttle_holds_no_more_than_it_may(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("potato.web.throttle._MOST", 100)
    throttle = Throttle()
    for number in range(1000):
        throttle.attempt(f"name {number}", f"address {number}", NOW + timedelta(seconds=number))
    assert len(throttle._attempts) <= 102


def test_many_guesses_at_once_are_all_counted(by_password: Project) -> None:
    with scenes.served(by_password) as client, ThreadPoolExecutor(8) as pool:
        codes = list(pool.map(lambda n: enter(client, name="ann", password=f"guess {n}").status_code, range(30)))
    assert codes.count(401) == FOR_NAME
    assert codes.count(429) == 30 - FOR_NAME


@pytest.fixture
def by_link(tmp_path: Path) -> tuple[Project, str]:
    """A project with sign-in links, and the token of ann's."""
    project = scenes.project(tmp_path, login={"type": "link"})
    change(project, actions.add("ann", NOW))
    return project, change(project, actions.new_link("ann", NOW)).secret or ""


def test_a_link_signs_in_until_it_is_revoked(by_link: tuple[Project, str]) -> None:
    project, token = by_link
    with scenes.served(project) as client:
        assert enter(client, link="no such token").json()["code"] == "wrong_link"
        assert enter(client, link="").json()["code"] == "wrong_link"
        assert enter(client, name="ann").json()["code"] == "wrong_link"
        assert enter(client, link=f"https://potato.example.org/a/b/enter#{token}").json() == {"name": "ann"}
        item = scenes.hand_out(client)
        change(project, actions.revoke("ann", NOW))
        assert scenes.save(client, item, {"sentiment": "positive"}).status_code == 401
        assert enter(client, link=token).json()["code"] == "wrong_link"
        again = change(project, actions.new_link("ann", NOW)).secret or ""
        assert enter(client, link=again).status_code == 200
        assert scenes.save(client, item, {"sentiment": "positive"}).status_code == 200


def test_a_new_link_ends_the_old_one_and_only_its_hash_is_stored(by_link: tuple[Project, str]) -> None:
    project, token = by_link
    second = change(project, actions.new_link("ann", NOW)).secret or ""
    with scenes.served(project) as client:
        assert enter(client, link=token).status_code == 401
        assert enter(client, link=second).status_code == 200
    with contextlib.closing(Database(project.database_url)) as database, database.read() as connection:
        stored = str(connection.execute(tables.users.select()).all())
    stored += str([path.read_bytes() for path in project.output_dir.rglob("potato.db*")])
    assert "ann" in stored
    assert second not in stored


def by_header(folder: Path, **login: Any) -> Project:
    return scenes.project(folder, login={"type": "header", "header": "X-Remote-Name", **login})


@pytest.mark.parametrize("peer", ["127.0.0.1", "::1", "::ffff:127.0.0.1", "10.1.2.3"])
def test_a_trusted_proxys_header_signs_in(tmp_path: Path, peer: str) -> None:
    project = by_header(tmp_path, trusted_proxies=["127.0.0.1", "::1", "10.1.0.0/16"])
    with scenes.served(project, client=(peer, 1), headers={"X-Remote-Name": "ann"}) as client:
        assert client.get("/", headers=scenes.PAGE).status_code == 303
        item = scenes.hand_out(client)
        assert scenes.save(client, item, {"sentiment": "positive"}).status_code == 200


@pytest.mark.parametrize("peer", ["192.0.2.1", "10.2.0.1", "not an address"])
def test_a_header_from_anywhere_else_is_refused_with_a_sentence(tmp_path: Path, peer: str) -> None:
    project = by_header(tmp_path, trusted_proxies=["127.0.0.1", "10.1.0.0/16"])
    with scenes.served(project, client=(peer, 1), headers={"X-Remote-Name": "ann"}) as client:
        for answer in (client.get("/"), client.post("/sign-in"), client.post("/sign-in", data={"name": "ann"})):
            assert answer.status_code == 403
            assert answer.json()["error"].startswith(f"This request came from {peer}, which is not a proxy")
        assert "not a proxy that this server trusts" in client.get("/", headers=scenes.PAGE).text


@pytest.mark.parametrize(
    ("peer", "speaks_for", "status"), [("127.0.0.1", "203.0.113.9", 303), ("192.0.2.1", "127.0.0.1", 403)]
)
def test_the_proxy_counts_and_not_whom_it_speaks_for(tmp_path: Path, peer: str, speaks_for: str, status: int) -> None:
    """As `potato start` puts it together: what a proxy says in X-Forwarded-For makes nobody a trusted proxy."""
    served = RememberPeer(ProxyHeadersMiddleware(create_app(by_header(tmp_path)), "127.0.0.1"))  # type: ignore[arg-type]
    headers = {**scenes.PAGE, "X-Remote-Name": "ann", "X-Forwarded-For": speaks_for}
    with TestClient(served, client=(peer, 1), follow_redirects=False, headers=headers) as client:
        assert client.get("/").status_code == status


def test_a_session_lasts_only_while_the_proxy_names_the_same_person(tmp_path: Path) -> None:
    """annotation 36: a shared machine"""
    with scenes.served(by_header(tmp_path), client=("127.0.0.1", 1)) as client:
        client.post("/sign-in", headers={"X-Remote-Name": "ann"})
        assert client.get("/annotate", headers={"X-Remote-Name": "ann"}).status_code == 303
        assert client.get("/annotate", headers={"X-Remote-Name": "bob"}).json()["code"] == "not_signed_in"
        missing = client.get("/annotate")
        assert missing.json()["error"] == "The proxy did not say who you are: the header X-Remote-Name is missing"
        twice = client.get("/", headers=[("X-Remote-Name", "ann"), ("X-Remote-Name", "bob")])
        assert "is there 2 times" in twice.json()["error"]


def test_a_proxys_header_is_utf_8(tmp_path: Path) -> None:
    with scenes.served(by_header(tmp_path), client=("127.0.0.1", 1)) as client:
        assert client.post("/sign-in", headers={"X-Remote-Name": "Zoë".encode()}).json() == {"name": "Zoë"}  # type: ignore[dict-item]


def test_an_admin_with_a_name_enters_until_the_right_is_taken_away(by_password: Project) -> None:
    with scenes.served(by_password) as client:
        given = {"name": "ann", "password": PASSWORD}
        assert client.post("/admin/sign-in", data=given).json()["code"] == "no_admin"
        change(by_password, actions.make_admin("ann", True))
        assert client.post("/admin/sign-in", data={**given, "password": "wrong one"}).status_code == 401
        assert client.post("/admin/sign-in", data=given).json() == {"admin": True}
        assert client.get("/admin/users", headers=scenes.PAGE).status_code == 200
        change(by_password, actions.make_admin("ann", False))
        assert client.get("/admin/users").json()["code"] == "not_admin"
        assert 'name="key"' in client.get("/admin", headers=scenes.PAGE).text
        change(by_password, actions.make_admin("ann", True))
        assert client.get("/admin/users").status_code == 200
        change(by_password, actions.new_password("ann", "another horse"))
        assert client.get("/admin/users").json()["code"] == "not_admin"


def test_the_users_page_gives_ways_in_and_shows_each_secret_once(tmp_path: Path) -> None:
    project = scenes.project(tmp_path, login={"type": "link"})
    with scenes.served(project, headers={**scenes.PAGE, "Sec-Fetch-Site": "same-origin"}) as client:
        client.post("/admin/sign-in", data={"key": scenes.KEY})

        def do(action: str, name: str = '<b>"ann"') -> str:
            answer = client.post("/admin/users", data={"name": name, "action": action})
            assert answer.headers["cache-control"] == "no-store"
            return answer.text

        assert "was added" in do("add")
        assert "there is an annotator" in do("add")
        assert "&lt;b&gt;&#34;ann&#34;" in do("add") and "<b>" not in do("add")
        assert "has no password, and admins sign in with one" in do("admin")
        page = do("link")
        token = page.split("enter#")[1].split('"')[0]
        assert token not in client.get("/admin/users").text
        assert enter(client, link=token).status_code == 303
        assert "It is shown only now" in do("password")
        assert "is an admin" in do("admin")
        assert "can no longer sign in" in do("revoke")
        assert client.post("/sign-in", data={"link": token}).status_code == 401
        assert "there is no annotator" in do("link", "nobody")
    with scenes.served(project) as client:
        assert client.get("/admin/users").status_code == 401
        assert client.post("/admin/users", data={"name": "x", "action": "add"}).status_code == 401


def test_short_passwords_are_refused() -> None:
    with pytest.raises(passwords.WeakPassword, match="8 to 1,000 characters"):
        passwords.hashed("seven 7")
    assert len({passwords.made_up() for _ in range(50)}) == 50


def test_a_session_that_ages_is_none(by_password: Project) -> None:
    with scenes.served(by_password) as client:
        enter(client, name="ann", password=PASSWORD)
        real = time.time
        try:
            time.time = lambda: real() + timedelta(days=31).total_seconds()
            assert client.get("/annotate").json()["code"] == "not_signed_in"
        finally:
            time.time = real
