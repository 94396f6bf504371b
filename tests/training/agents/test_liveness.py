"""Who is taken to live: agents that leave, sleep, or are there twice; workers that give no sign."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import uvicorn

from agent_scene import API, BACKEND, RunningAgent, Served, agent, agent_lab, served, token_for
from hostile_proxy import hostile_proxy
from house import BRIEF, LIMIT, SILENCE_S, House
from keepers import left_of
from lab import use_fakes, wait_for
from ports import free_port
from potato.app import create_app
from potato.training.agents.desk import Desk
from potato.training.worker import launch


def test_ctrl_c_at_the_instant_when_a_claim_is_answered(server: Served, token: str, tmp_path: Path) -> None:
    """The server has given the job away, and the agent has not heard of it."""
    with hostile_proxy(server.port) as way:
        hold = way.hold("claim", "answer", wanted=lambda answer: b'"run_id"' in answer.body)
        with agent(way.url, token, tmp_path / "work") as running:
            run_id = server.submit()
            wait_for(hold.reached.is_set, LIMIT)
            assert running.stop() == 0
        run = server.finished(run_id, LIMIT)
    assert (run["state"], run["error"]["message"]) == ("cancelled", f"the agent on {BACKEND} was stopped")
    assert not (tmp_path / "work" / "jobs" / run_id).exists()


def test_an_agent_that_was_stopped_gets_nothing_and_holds_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run that comes then goes to an agent elsewhere, however short ago the first was heard."""
    use_fakes(monkeypatch)
    with served(agent_lab(tmp_path / "lab", heartbeat_timeout_s=100)) as server:
        token = token_for(server.lab)
        with agent(server.url, token, tmp_path / "one") as first:
            wait_for(lambda: "last seen" in server.http.get(f"{API}/backends").text, LIMIT)
            assert first.stop() == 0
        run_id = server.submit()
        with agent(server.url, token, tmp_path / "two") as second:
            run = server.finished(run_id, LIMIT)
            assert (run["state"], run["attempt"]) == ("success", 1), (server.log(run_id), second.said())
        assert f"in {tmp_path / 'two'}" in server.log(run_id)
        assert f"in {tmp_path / 'one'}" not in server.log(run_id)


@pytest.fixture
def desk_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Desk, int, str]]:
    """A server in this process: its desk, its port, and a token of its backend's."""
    use_fakes(monkeypatch)
    lab, port = agent_lab(tmp_path / "lab"), free_port()
    app = create_app(lab.project)
    http = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=port, log_level="warning"))
    thread = threading.Thread(target=http.run)
    thread.start()
    wait_for(lambda: http.started, LIMIT)
    yield app.state.site.supervisor.desk, port, token_for(lab)
    http.should_exit = True
    thread.join()


def test_a_claim_that_is_hung_up_waits_no_more(desk_here: tuple[Desk, int, str]) -> None:
    """An agent that was killed while it waited is given nothing."""
    desk, port, token = desk_here
    body = b'{"protocol":1,"backend":"%s","agent":{"host":"h","workdir":"/w","session":"01234567"},"wait_s":60}'
    body %= BACKEND.encode()
    head = f"POST /training/agent/v1/claim HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n"
    head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(head.encode() + body)
        wait_for(lambda: desk.waiting(BACKEND), LIMIT)
    wait_for(lambda: desk.waiting(BACKEND) is None, 30)  # by the clock alone it would take 40 seconds


def test_an_agent_that_slept_for_too_long_hears_that_its_run_is_over(house: House) -> None:
    """It stops its worker, and takes the next job."""
    house.start(BRIEF)
    run_id = house.server.submit(backend=BRIEF, until=str(house.file("never")))
    wait_for(lambda: "the fake begins" in house.server.log(run_id), LIMIT)
    asleep = house.agents[BRIEF].process
    asleep.send_signal(signal.SIGSTOP)
    try:
        assert house.server.finished(run_id, LIMIT)["error"]["code"] == "no_word"
    finally:
        asleep.send_signal(signal.SIGCONT)
    wait_for(lambda: not left_of(run_id), LIMIT)
    assert house.server.finished(house.server.submit(backend=BRIEF), LIMIT)["state"] == "success"


def test_a_worker_that_gives_no_sign_is_not_missed(house: House) -> None:
    """remote 43: it is stopped, as one that holds the interpreter's lock gives no sign either"""
    house.start(BRIEF)
    run_id = house.server.submit(backend=BRIEF, until=str(house.file("go")))
    wait_for(lambda: "the fake begins" in house.server.log(run_id), LIMIT)
    worker = launch.read(str(house.attempt(run_id)))
    assert worker is not None
    os.kill(worker.pid, signal.SIGSTOP)
    since = time.monotonic()
    wait_for(
        lambda: time.monotonic() - since > 1.5 * SILENCE_S[BRIEF] or house.server.run(run_id)["state"] != "running"
    )
    os.kill(worker.pid, signal.SIGCONT)
    house.file("go").touch()
    run = house.server.finished(run_id, LIMIT)
    house.file("go").unlink()
    assert run["state"] == "success", house.server.log(run_id)


def test_a_folder_that_was_copied_to_another_host_is_noticed(house: House, tmp_path: Path) -> None:
    """remote 42: the agent there is refused, and does not go on with the job that lies in the copy"""
    house.start(BACKEND)
    run_id = house.server.submit(until=str(house.file("go")))
    wait_for(lambda: "the fake begins" in house.server.log(run_id), LIMIT)
    shutil.copytree(house.folder / "work", tmp_path / "work")
    copy = RunningAgent(
        house.proxy.url, house.tokens[BACKEND], tmp_path / "work", program="quick_agent", FAKE_HOST="elsewhere"
    )
    assert copy.process.wait(timeout=LIMIT) == 4
    assert str(house.folder / "work") in copy.said() and "going on" not in copy.said()
    house.file("go").touch()
    run = house.server.finished(run_id, LIMIT)
    house.file("go").unlink()
    assert (run["state"], run["attempt"]) == ("success", 1)
