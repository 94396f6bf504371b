"""Runs and pre-labels are told to other programs: signed, again and again until they are taken, and by the way."""

from __future__ import annotations

import re
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from lab import FAST, Lab, Server, finished, use_fakes, wait_for
from potato.app import create_app
from potato.project.loading import load
from potato.project.webhooks import EVENTS, MEANINGS
from potato.store.training import deliveries
from potato.store.training import runs as rows
from potato.store.training.deliveries import MAX_KEPT, MAX_WAITING, TOO_MANY, Stage
from potato.store.training.runs import State
from potato.training.runs.request import RunRequest
from potato.training.webhooks.announcer import Announcer
from potato.training.webhooks.hooks import Hook, hooks_of
from potato.training.webhooks.post import PostTiming
from potato.training.webhooks.sending import send
from potato.training.webhooks.trying import try_now
from project_texts import BASE
from receivers import Receiver

DOCS = Path(__file__).parents[3] / "docs" / "webhooks.md"
SECRET = "the-secret-of-the-bot"
QUICK = replace(FAST, post=PostTiming(timeout=1.0, retries=(0.05,) * 8, farewell=0.2, look=0.2))
AT = "2026-11-29T14:15:00.000Z"


def make(folder: Path, *hooks: dict[str, Any]) -> Lab:
    """A lab of 60 items, 40 of them labelled, with these webhooks."""
    writeback = {"schemas": ["sentiment"], "include_unlabeled": True}
    lab = Lab(folder / "lab", 60, model_training={"writeback": writeback, "webhooks": list(hooks)})
    lab.label_alternately(lab.ids[:40])
    return lab


def hook_of(lab: Lab, number: int = 0) -> Hook:
    return hooks_of(lab.project)[number]


def latest(lab: Lab, number: int = 0) -> Any:
    with lab.database.read() as connection:
        return deliveries.latest(connection, hook_of(lab, number).key, 5000)


def hanging(held: threading.Event) -> Callable[[Any], int]:
    """Answers nothing until `held` is set."""

    def answer(body: Any) -> int:
        held.wait(60)
        return 0

    return answer


def snippet() -> Callable[..., bool]:
    """The function that the docs tell people to check signatures with."""
    found = re.search(r"```python\n(.*?)```", DOCS.read_text("utf-8"), re.DOTALL)
    assert found is not None
    space: dict[str, Any] = {}
    exec(found.group(1), space)
    function: Callable[..., bool] = space["is_from_potato"]
    return function


def test_a_run_is_told_from_the_queue_to_its_suggestions(tmp_path: Path, receiver: Receiver, monkeypatch: Any) -> None:
    use_fakes(monkeypatch)
    monkeypatch.setenv("BOT_SECRET", SECRET)
    lab = make(tmp_path, {"url": receiver.url, "secret_env": "BOT_SECRET"})
    with lab.supervisor(QUICK) as supervisor:
        first = finished(supervisor, supervisor.submit(RunRequest("fake", ["sentiment"])).run_id)
        assert first.state is State.SUCCESS, first.error
        wait_for(lambda: len(receiver.requests) >= 4, 60)
        second = finished(supervisor, supervisor.submit(RunRequest("fake", ["sentiment"])).run_id)
        supervisor.withdraw(second.run_id)
        supervisor.withdraw(second.run_id)  # nothing was shown any more, so there is nothing to tell
        wait_for(lambda: len(receiver.requests) >= 9, 60)
        wait_for(lambda: all(entry.state is Stage.DELIVERED for entry in latest(lab)), 60)
    course = ["run.queued", "run.started", "run.succeeded", "prelabels.shown"]
    assert receiver.events() == [*course, *course, "prelabels.withdrawn"]
    body = receiver.bodies()[2]
    assert body["run"]["scores"]["sentiment"]["name"] == "macro_f1"
    assert (body["project"], body["run"]["run_id"]) == ("Lab", first.run_id)
    shown = receiver.bodies()[7]["prelabels"]
    assert shown == {"schemas": ["sentiment"], "count": second.shown, "replaced": {"sentiment": first.run_id}}
    check = snippet()
    for headers, raw in receiver.requests:
        assert check(headers["X-Potato-Signature"], raw, SECRET)
        assert not check(headers["X-Potato-Signature"], raw + b" ", SECRET)
        assert not check(headers["X-Potato-Signature"], raw, "another")
        assert not check(headers["X-Potato-Signature"], raw, SECRET, tolerance_s=-1)
    assert [headers["X-Potato-Delivery"] for headers, _ in receiver.requests] == [b["id"] for b in receiver.bodies()]


def test_only_what_is_wanted_is_told_and_a_failure_comes_with_its_sentence(
    tmp_path: Path, receiver: Receiver, monkeypatch: Any
) -> None:
    use_fakes(monkeypatch)
    lab = make(tmp_path, {"url": receiver.url, "events": ["run.failed", "run.cancelled"]})
    with lab.supervisor(QUICK) as supervisor:
        run = finished(supervisor, supervisor.submit(RunRequest("fake", ["sentiment"], params={"does": "fail"})).run_id)
        wait_for(lambda: receiver.requests, 60)
    assert receiver.events() == ["run.failed"]
    assert receiver.bodies()[0]["run"]["error"] == run.error
    assert "X-Potato-Signature" not in receiver.requests[0][0]


def test_what_is_not_taken_is_sent_again_under_the_same_id_and_at_last_given_up(
    tmp_path: Path, receiver: Receiver
) -> None:
    lab = make(tmp_path, {"url": receiver.url})
    receiver.answer = lambda body: 503 if len(receiver.requests) < 3 else 200
    with lab.supervisor(QUICK, tasks=False) as supervisor:
        supervisor.try_webhook(1)
        wait_for(lambda: latest(lab)[0].state is Stage.DELIVERED, 60)
        assert latest(lab)[0].attempts == 3
        assert len({body["id"] for body in receiver.bodies()}) == 1
        receiver.answer = lambda body: 500
        supervisor.try_webhook(1)
        wait_for(lambda: latest(lab)[0].state is Stage.FAILED, 60)
    entry = latest(lab)[0]
    assert (entry.attempts, entry.status, entry.error) == (9, 500, "it answered 500")


def test_an_address_that_hangs_holds_up_neither_runs_nor_others(
    tmp_path: Path, receiver: Receiver, another: Receiver, monkeypatch: Any
) -> None:
    use_fakes(monkeypatch)
    held = threading.Event()
    receiver.answer = hanging(held)
    lab = make(tmp_path, {"url": receiver.url}, {"url": another.url})
    with lab.supervisor(replace(QUICK, post=replace(QUICK.post, timeout=60.0))) as supervisor:
        run = finished(supervisor, supervisor.submit(RunRequest("fake", ["sentiment"])).run_id)
        assert run.state is State.SUCCESS, run.error
        wait_for(lambda: len(another.requests) == 4, 60)
        assert receiver.events() == ["run.queued"]
        assert [entry.state for entry in latest(lab, 0)] == [Stage.WAITING] * 4
    held.set()


def test_a_killed_server_loses_no_event(tmp_path: Path, receiver: Receiver, monkeypatch: Any) -> None:
    use_fakes(monkeypatch)
    lab = make(tmp_path, {"url": receiver.url})
    receiver.answer = lambda body: 503
    run_id = lab.submit("fake")
    server = Server(lab)
    wait_for(lambda: lab.run(run_id).state is State.SUCCESS, 60)
    wait_for(lambda: receiver.requests, 60)
    server.kill()
    refused = len(receiver.requests)
    assert [entry.state for entry in latest(lab)] == [Stage.WAITING] * 4
    with lab.database.write() as connection:
        connection.exec_driver_sql(f"UPDATE deliveries SET due = '{AT}'")  # as if the pauses were over
    receiver.answer = lambda body: 200
    with lab.supervisor(QUICK, tasks=False):
        wait_for(lambda: all(entry.state is Stage.DELIVERED for entry in latest(lab)), 60)
    told = receiver.bodies()[refused:]
    assert sorted(body["event"] for body in told) == ["prelabels.shown", "run.queued", "run.started", "run.succeeded"]
    assert len({body["id"] for body in told}) == 4


def test_an_event_is_there_exactly_when_what_it_tells_of_is(tmp_path: Path, receiver: Receiver) -> None:
    lab = make(tmp_path, {"url": receiver.url})
    with lab.supervisor(QUICK, start=False, tasks=False) as supervisor:
        run_id = supervisor.submit(RunRequest("sklearn-text", ["sentiment"])).run_id
        with pytest.raises(rows.NotAllowed):
            supervisor.records.transition(run_id, State.SUCCESS)

        def die(connection: Any) -> None:
            supervisor.records.change(connection, run_id, State.BUILDING)
            raise RuntimeError("the transaction does not come to its end")

        with pytest.raises(RuntimeError):
            supervisor.records.write(run_id, die)
        assert [entry.event for entry in latest(lab)] == ["run.queued"]
        supervisor.records.transition(run_id, State.BUILDING)
        supervisor.records.transition(run_id, State.BUILDING)  # repeating changes nothing, and tells nothing
        assert [entry.event for entry in latest(lab)] == ["run.started", "run.queued"]


def _closed_port() -> int:
    with closing(socket.socket()) as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


FAILURES: dict[str, tuple[int | None, str]] = {
    "redirect": (302, "it answered 302, a redirect, which is not followed: name the address it leads to"),
    "silent": (None, "it did not answer within 0.5 seconds"),
    "gone": (410, "it answered 410: it wants no more events"),
    "closed": (None, "it cannot be reached: connection refused"),
    "hangs up": (None, "it cannot be reached"),
    "no name": (None, "its name is not known"),
    "no secret": (None, "the environment variable NOT_SET (secret_env) is not set, and nothing is sent unsigned"),
}


@pytest.mark.parametrize("case", FAILURES)
def test_what_goes_wrong_is_said_in_a_sentence_without_the_address(
    tmp_path: Path, receiver: Receiver, case: str, monkeypatch: Any
) -> None:
    held = threading.Event()
    answers = {"redirect": 302, "gone": 410, "hangs up": 0}
    receiver.answer = hanging(held) if case == "silent" else lambda body: answers[case]
    addresses = {"closed": f"http://127.0.0.1:{_closed_port()}/s3cret-path", "no name": "http://nowhere.invalid/s3cret"}
    more = {"secret_env": "NOT_SET"} if case == "no secret" else {}
    lab = make(tmp_path, {"url": addresses.get(case, receiver.url), **more})
    monkeypatch.setenv("no_proxy", "*")
    with lab.database.write() as connection:
        identifier = Announcer.of(lab.project).test(connection, hook_of(lab))
    with lab.database.read() as connection:
        delivery = deliveries.get(connection, identifier)
    assert delivery is not None
    outcome = send(hook_of(lab), delivery, lambda: 0.0, timeout=0.5)
    held.set()
    status, sentence = FAILURES[case]
    assert outcome.status == status
    assert outcome.error is not None and outcome.error.startswith(sentence)
    assert "s3cret" not in outcome.error
    assert outcome.final is (case == "gone")
    assert len(receiver.requests) == (0 if case in ("closed", "no name", "no secret") else 1)


def test_the_outbox_is_bounded_and_forgets_what_is_done(tmp_path: Path, receiver: Receiver) -> None:
    lab = make(tmp_path, {"url": receiver.url})
    key = hook_of(lab).key
    with lab.database.write() as connection:
        for number in range(MAX_WAITING + 3):
            deliveries.add(connection, key, f"d{number}", "test", "{}", AT)
        assert deliveries.counts(connection, key) == {"waiting": MAX_WAITING, "failed": 3}
        oldest = deliveries.get(connection, "d0")
        assert oldest is not None and oldest.error == TOO_MANY
        for number in range(3, 203):
            deliveries.delivered(connection, f"d{number}", 200, AT)
        assert deliveries.counts(connection, key) == {"waiting": MAX_WAITING - 200, "delivered": MAX_KEPT}
    lab.write({**lab.config, "model_training": {"enabled": True}})
    with lab.supervisor(QUICK, tasks=False), lab.database.read() as connection:
        assert deliveries.waiting_hooks(connection) == set()


def test_admins_see_what_was_told_and_try_it_but_never_the_secrets(
    tmp_path: Path, receiver: Receiver, caplog: Any
) -> None:
    lab = make(tmp_path, {"url": receiver.url, "secret": SECRET, "events": ["run.failed"]})
    receiver.answer = lambda body: 418
    with TestClient(create_app(lab.project), headers={"X-API-Key": "lab-key"}) as client:
        assert client.post("/admin/training/api/webhooks/2/test").json()["code"] == "unknown_webhook"
        assert client.post("/admin/training/api/webhooks/1/test", headers={"X-API-Key": "no"}).status_code == 401
        tried = client.post("/admin/training/api/webhooks/1/test")
        assert tried.status_code == 202

        def entry() -> dict[str, Any]:
            (hook,) = client.get("/admin/training/api/webhooks").json()["webhooks"]
            assert hook["address"] == re.sub(r"/s3cret-path/$", "/…", receiver.url)
            assert (hook["signed"], hook["events"]) == (True, ["run.failed"])
            found: dict[str, Any] = hook["deliveries"][0]
            return found

        wait_for(lambda: entry()["attempts"] == 1, 60)
        assert (entry()["id"], entry()["event"]) == (tried.json()["delivery"], "test")
        assert entry()["error"] == "it answered 418"
        page = client.get("/admin/training", headers={"Accept": "text/html"}).text
        shown = page + client.get("/admin/training/api/webhooks").text + caplog.text
    assert "it answered 418" in page
    assert SECRET not in shown and "s3cret-path" not in shown
    with lab.database.read() as connection:
        stored = str(connection.exec_driver_sql("SELECT * FROM deliveries").all())
    assert SECRET not in stored and "s3cret-path" not in stored


def test_the_command_line_tries_one_and_lists_them(tmp_path: Path, receiver: Receiver) -> None:
    lab = make(tmp_path, {"url": receiver.url})

    def command(*more: str) -> subprocess.CompletedProcess[str]:
        words = [sys.executable, "-m", "potato", "training", "webhooks", "config.yaml", *more]
        return subprocess.run(words, capture_output=True, text=True, cwd=lab.folder, check=False, timeout=120)

    tried = command("--test", "1")
    assert (tried.returncode, tried.stdout) == (0, "it answered 204\n"), tried.stderr
    assert receiver.events() == ["test"]
    listed = command()
    assert "1: http://127.0.0.1:" in listed.stdout and "not signed" in listed.stdout
    receiver.answer = lambda body: 404
    assert try_now(lab.project, hook_of(lab)).error == "it answered 404"
    assert command("--test", "7").returncode == 1


BROKEN = {
    "events: [run.suceeded]": "run.succeeded",
    "secret: a\n      secret_env: B": "stands beside `secret`; leave one of them out",
}


@pytest.mark.parametrize("line", BROKEN)
def test_a_webhook_that_is_written_wrongly_is_an_error(tmp_path: Path, line: str) -> None:
    file = tmp_path / "config.yaml"
    file.write_text(f"{BASE}model_training:\n  webhooks:\n    - url: http://a.example\n      {line}\n", "utf-8")
    said = [str(finding) for finding in load(file).errors]
    assert any("model_training.webhooks" in finding and BROKEN[line] in finding for finding in said), said


def test_an_address_that_stands_twice_is_an_error(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    hook = "    - url: http://a.example\n"
    file.write_text(f"{BASE}model_training:\n  webhooks:\n{hook}{hook}", "utf-8")
    assert any("is listed above already" in str(finding) for finding in load(file).errors)


def test_the_docs_name_every_event() -> None:
    table = re.findall(r"^\| `([\w.]+)` \| (.+) \|$", DOCS.read_text("utf-8"), re.MULTILINE)
    assert dict(table) == MEANINGS
    assert [*EVENTS, "test"] == list(MEANINGS)
