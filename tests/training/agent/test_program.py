"""The agent as a program: its exit codes, its terminal, its signals, its token; under Python 3.8 and LC_ALL=C."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from jobs import Item, environment, write_bundle
from lab import wait_for
from potato.training.worker import launch
from standin import BACKEND, TOKEN, Says, StandIn, pack, serving

Start = Callable[..., Any]


def fitting(run: Any) -> None:
    wait_for(lambda: b'"now fit"' in bytes(run.files["events.jsonl"]))


# Exit codes


def test_0_after_one_job(standin: StandIn, there: Start, archive: bytes, run_id: str) -> None:
    standin.add(run_id, archive)
    agent = there("--once")
    assert agent.wait() == 0
    assert f"run {run_id}: delivered" in agent.said()


def test_0_when_it_was_stopped_while_it_waited(standin: StandIn, there: Start) -> None:
    """At once, though the long poll has 25 seconds to go."""
    agent = there()
    wait_for(lambda: standin.claims)
    agent.interrupt()
    assert agent.wait(5) == 0
    assert agent.said().endswith("stopped\n")


def test_1_for_what_is_worth_a_retry(standin: StandIn, there: Start) -> None:
    def refuse() -> None:
        raise Says(404, "no_such_thing")

    standin.claim_answer = refuse
    agent = there()
    assert agent.wait() == 1
    assert "the stand-in says no_such_thing" in agent.said()


@pytest.mark.parametrize(
    ("arguments", "env", "said"),
    [
        ((), {"POTATO_TRAINING_TOKEN": ""}, "the environment variable POTATO_TRAINING_TOKEN holds no token"),
        ((), {"POTATO_TRAINING_TOKEN": "two words"}, "holds something that is no token"),
        ((), {"POTATO_TRAINING_TOKEN": "naïve"}, "holds something that is no token"),
        (("--token-file", "/nowhere/token"), {}, "the token file /nowhere/token cannot be read: No such file"),
        (("--server", "annotate.example.org"), {}, "is not an address such as https://annotate.example.org"),
        (("--server", "http://host:port"), {}, "is not an address such as https://annotate.example.org"),
        (("--server", "http://me:secret@host"), {}, "--server takes no user and password"),
        (("--workdir", "/proc/nothing"), {}, "the work folder /proc/nothing cannot be used: No such file"),
        (("--python", "/nowhere/python"), {}, "/nowhere/python was not found"),
        (("--server", "https://h", "--fingerprint", "ab:cd"), {}, "ab:cd is no SHA-256 fingerprint"),
        (("--fingerprint", "ab" * 32), {}, "--fingerprint is of a certificate, and http://127.0.0.1:"),
        (("--server", "https://h", "--ca", "/nowhere.pem"), {}, "the certificate file /nowhere.pem cannot be read"),
        (
            ("--server", "http://example.org"),
            {"http_proxy": "http://u:p/ss@x:1"},
            "the proxy that the environment names has no address",
        ),
        (("--no-such-option",), {}, "unrecognized arguments: --no-such-option"),
        (("--token", TOKEN), {}, "error"),  # never on the command line
    ],
)
def test_2_for_wrong_use(there: Start, arguments: tuple[str, ...], env: dict[str, str], said: str) -> None:
    agent = there(*arguments, **env)
    assert agent.wait() == 2
    assert said in agent.said()
    assert "secret" not in agent.said()
    assert "ss@" not in agent.said()


def test_3_for_a_token_that_is_not_taken(standin: StandIn, there: Start) -> None:
    standin.token = "another"
    agent = there()
    assert agent.wait() == 3
    assert "potato training register lab config.yaml" in agent.said()
    assert TOKEN not in agent.said()


def test_3_for_a_token_that_was_replaced_during_a_job(
    standin: StandIn, there: Start, archive: bytes, run_id: str, tmp_path: Path
) -> None:
    """Nothing is left running; what there is to tell waits for an agent with the new token."""
    run = standin.add(run_id, archive, params={"does": "wait"})
    agent = there()
    fitting(run)
    standin.token = "another"
    assert agent.wait() == 3
    assert launch.find_marked(run_id) == []
    assert there("--once", POTATO_TRAINING_TOKEN="another").wait() == 0
    assert run.result is not None
    assert run.result["exit_code"] == 4


def test_4_where_the_server_hears_another_agent(standin: StandIn, there: Start) -> None:
    def refuse() -> None:
        raise Says(409, "backend_held")

    standin.claim_answer = refuse
    assert there().wait() == 4


def test_4_where_an_agent_works_in_that_folder(standin: StandIn, there: Start) -> None:
    """remote 42: the second is told who the first is; after a crash it may begin at once"""
    first = there()
    wait_for(lambda: standin.claims)
    second = there()
    assert second.wait() == 4
    assert f"already running on {os.uname().nodename}, pid {first.process.pid}, since 2" in second.said()
    first.kill()
    third = there()
    wait_for(lambda: len(standin.claims) > 1)
    third.interrupt()
    assert third.wait() == 0


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ({"protocol": 2, "job": None}, "the server speaks version 2 of the agent protocol, and this agent version 1"),
        ({"protocol": 1, "job": {"run_id": "../../x"}}, "the server offered a job that this agent cannot read"),
        ({"protocol": 1, "job": {"run_id": "x", "trainer": 1}}, "the server offered a job that this agent cannot read"),
        ({"protocol": 1, "job": "x"}, "the server offered a job that this agent cannot read"),
    ],
)
def test_5_where_the_two_do_not_understand_each_other(standin: StandIn, there: Start, answer: Any, said: str) -> None:
    standin.claim_answer = lambda: answer
    agent = there()
    assert agent.wait() == 5
    assert said in agent.said()


def test_5_where_the_server_says_so(standin: StandIn, there: Start) -> None:
    def refuse() -> None:
        raise Says(400, "protocol_mismatch")

    standin.claim_answer = refuse
    assert there().wait() == 5


# Signals


@pytest.fixture
def not_ignored(number: int) -> Iterator[None]:
    """The signal as a terminal has it: under `nohup` it is ignored, by this process and by all that it starts."""
    before = signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
    yield
    signal.signal(number, before)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_during_the_worker_cancels_the_job_and_tells_the_server(
    standin: StandIn, there: Start, archive: bytes, run_id: str, number: int, not_ignored: None
) -> None:
    run = standin.add(run_id, archive, params={"does": "wait"})
    agent = there()
    fitting(run)
    os.kill(agent.process.pid, number)
    assert agent.wait(20) == 0
    assert run.result is not None
    assert (run.result["exit_code"], run.result["reason"]) == (4, "stopped")


def test_ctrl_c_during_the_download(standin: StandIn, there: Start, archive: bytes, run_id: str) -> None:
    """Even while the server sends nothing."""
    run = standin.add(run_id, archive)
    wait = threading.Event()
    standin.fault = lambda handler: str(wait.wait(30) and "") if "/bundle" in handler.path else ""
    agent = there()
    wait_for(lambda: any("/bundle" in request for request in standin.requests))
    agent.interrupt()
    try:
        assert agent.wait(10) == 0
    finally:
        wait.set()
    assert run.result is not None
    assert (run.result["exit_code"], run.result["reason"]) == (4, "stopped")
    assert run.files["events.jsonl"] == b""


def test_ctrl_c_during_the_delivery_lets_it_end(standin: StandIn, there: Start, archive: bytes, run_id: str) -> None:
    run = standin.add(run_id, archive)
    failing = [True]
    standin.fault = lambda handler: "html503" if failing[0] and "predictions" in handler.path else ""
    agent = there()
    wait_for(lambda: any("predictions" in request for request in standin.requests))
    agent.interrupt()
    failing[0] = False
    assert agent.wait(20) == 0
    assert run.result is not None
    assert (run.result["exit_code"], run.result["reason"]) == (0, None)


def test_ctrl_c_twice_during_a_delivery_that_cannot_be(
    standin: StandIn, there: Start, archive: bytes, run_id: str
) -> None:
    run = standin.add(run_id, archive)
    standin.fault = lambda handler: "html503" if "predictions" in handler.path else ""
    agent = there()
    wait_for(lambda: any("predictions" in request for request in standin.requests))
    agent.interrupt()
    count = len(standin.requests)
    wait_for(lambda: len(standin.requests) > count + 3)
    while agent.process.poll() is None:
        agent.interrupt()
    assert agent.wait() == 1
    assert run.result is None


# The token


def test_the_token_is_nowhere(standin: StandIn, there: Start, archive: bytes, run_id: str, tmp_path: Path) -> None:
    """Not on a command line, in a child's environment, in a file, or on the terminal."""
    run = standin.add(run_id, archive, params={"does": "wait"})
    agent = there("--once")
    fitting(run)
    folder = tmp_path / "work" / "jobs" / run_id / "attempt-1"
    keeper = json.loads((folder / "keeper.json").read_text())["pid"]
    worker = json.loads((folder / "worker.json").read_text())["pid"]
    for pid in (agent.process.pid, keeper, worker):
        assert TOKEN.encode() not in Path(f"/proc/{pid}/cmdline").read_bytes()
    for pid in (keeper, worker):
        environ = Path(f"/proc/{pid}/environ").read_bytes()
        assert TOKEN.encode() not in environ
        assert b"PATH=" in environ
    run.cancel = True
    assert agent.wait() == 0
    for path in tmp_path.rglob("*"):
        if path.is_file():
            assert TOKEN.encode() not in path.read_bytes(), path


def test_the_token_may_come_from_a_file(standin: StandIn, there: Start, tmp_path: Path) -> None:
    """One in the environment is then of no account."""
    (tmp_path / "token").write_text(TOKEN + "\n")
    agent = there("--token-file", str(tmp_path / "token"), POTATO_TRAINING_TOKEN="an old one")
    wait_for(lambda: standin.claims)
    agent.interrupt()
    assert agent.wait() == 0


# Old Pythons, other alphabets, full disks


def test_a_whole_job_under_python_38_without_a_locale(
    standin: StandIn, there: Start, python38: str, run_id: str, tmp_path: Path
) -> None:
    """Non-ASCII ids, texts and paths under LC_ALL=C."""
    items = [Item("ä", "größer 日本", "train", {"s": "ja 好"}), Item("ж", "x", "train", {"s": "nein ñ"})]
    items += [Item("ключ 🙂", "t", "test", {"s": "ja 好"})]
    write_bundle(tmp_path / "source", items, {"s": ("nominal", ["ja 好", "nein ñ"])})
    run = standin.add(run_id, pack(tmp_path / "source"))
    agent = there("--once", python=python38, workdir=tmp_path / "wörk 好", LC_ALL="C", LANG="", PYTHONUTF8="")
    assert agent.wait() == 0
    assert run.result is not None
    assert run.result["exit_code"] == 0, run.files["stderr.log"]
    assert run.result["artifact_uri"].endswith(f"/wörk 好/jobs/{run_id}/attempt-1/artifacts")
    assert [json.loads(line)["instance_id"] for line in run.files["predictions.jsonl"].splitlines()] == ["ключ 🙂"]
    assert b"3.8" in json.dumps(standin.claims).encode()


def test_a_terminal_that_is_ascii_gets_ascii(standin: StandIn, there: Start, tmp_path: Path) -> None:
    agent = there("--once", workdir=tmp_path / "wörk", PYTHONIOENCODING="ascii")
    wait_for(lambda: standin.claims)
    agent.interrupt()
    assert agent.wait() == 0
    assert "w\\xf6rk" in agent.said()


def test_the_person_is_told_once_that_the_server_is_gone_and_once_that_it_is_back(
    standin: StandIn, there: Start
) -> None:
    standin.stop()
    agent = there()
    wait_for(lambda: "the server cannot be reached, trying again" in agent.said())
    standin.start_again()
    wait_for(lambda: "the server is back after" in agent.said())
    agent.interrupt()
    assert agent.wait() == 0
    assert agent.said().count("cannot be reached") == 1
    assert f"http://127.0.0.1:{standin.port}" in agent.said()


def test_a_path_prefix_and_a_slash_at_the_end(there: Start, archive: bytes, run_id: str) -> None:
    """remote 38"""
    with serving(prefix="/labels/app") as standin:
        run = standin.add(run_id, archive)
        assert there("--once", url=standin.url + "/").wait() == 0
        assert run.result is not None
        second = standin.add(run_id + "-2", archive)
        assert there("--once", url=standin.url).wait() == 0
        assert second.result is not None


def test_potato_training_agent_is_the_same_program(
    standin: StandIn, archive: bytes, run_id: str, tmp_path: Path
) -> None:
    run = standin.add(run_id, archive)
    command = [str(Path(sys.executable).with_name("potato")), "training", "agent", "--once"]
    command += ["--server", standin.url, "--backend", BACKEND, "--workdir", str(tmp_path / "work")]
    done = subprocess.run(
        command, env=environment(POTATO_TRAINING_TOKEN=TOKEN), capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    assert run.result is not None
    helped = subprocess.run([*command[:3], "--help"], capture_output=True, text=True, check=True).stdout
    assert "--token-file" in helped
    assert "--slurm-config" in helped
    wrong = subprocess.run(command[:3], capture_output=True, text=True, check=False)
    assert wrong.returncode == 2
