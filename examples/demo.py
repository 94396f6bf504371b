"""Show Potato at work on the example project: start it, import labels, train a model, say what to open.

Uses nothing but Potato's commands and its API, so it can be read as an example of both.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).resolve().parent / "reviews"
ADMIN_KEY = "potato-demo"  # as in the project file
PATIENCE_S = 120


class DemoFailed(Exception):
    """The demo cannot go on; the message says why."""


def main() -> int:
    """Run the demo; 0 when all was shown."""
    options = _options()
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(line_buffering=True)  # a pipe shows each line as it comes, too
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with _server(options.project, _free_port() if options.port is None else options.port) as address:
            _import_labels(options.project)
            _report(_train(address), address)
            if not options.once:
                _wait_for_ctrl_c()
    except KeyboardInterrupt:
        print("\nPotato has stopped. Your answers are kept: `make demo` goes on from there.")
    except DemoFailed as failure:
        print(f"\nThe demo stopped: {failure}", file=sys.stderr)
        return 1
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, help="where to serve (default: 8000, or the next one that is free)")
    parser.add_argument("--once", action="store_true", help="end once all is shown")
    parser.add_argument("--project", type=Path, default=PROJECT, help="the project's folder")
    return parser.parse_args()


def _free_port() -> int:
    for port in range(8000, 8100):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            with contextlib.suppress(OSError):
                probe.bind(("127.0.0.1", port))
                return port
    raise DemoFailed("every port from 8000 to 8099 is taken; name another: make demo PORT=9000")


@contextlib.contextmanager
def _server(project: Path, port: int) -> Iterator[str]:
    """`potato start` while the block runs; gives its address once it answers."""
    log = project / "annotation_output" / "server.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("wb") as output:
        command = _potato("start", project / "config.yaml", "--port", str(port))
        server = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT)
    print("Starting the server ...")
    try:
        yield _address(server, log)
    finally:
        _stop(server)


def _potato(*arguments: str | Path) -> list[str]:
    return [sys.executable, "-m", "potato", *map(str, arguments)]


def _address(server: subprocess.Popen[bytes], log: Path) -> str:
    """Where the server says that it serves, once it does. Whatever answers on the port might be another one."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        said = log.read_text(encoding="utf-8")
        if found := re.search(r"is served at (http://\S+?)/ ", said):
            return found[1]
        if server.poll() is not None:
            raise DemoFailed(f"the server ended with exit code {server.returncode}.\n{said[-2000:]}")
        time.sleep(0.1)
    raise DemoFailed(f"the server did not answer within {PATIENCE_S} seconds; {log} has its output")


def _stop(server: subprocess.Popen[bytes]) -> None:
    server.terminate()
    try:
        server.wait(30)
    except subprocess.TimeoutExpired:
        server.kill()
        server.wait()


def _import_labels(project: Path) -> None:
    print("Importing the labels ...")
    command = _potato("import", project / "config.yaml", project / "labels.jsonl")
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode:
        raise DemoFailed(f"the labels could not be imported.\n{result.stdout}{result.stderr}")
    print(_indented(result.stdout))


def _train(address: str) -> dict[str, Any]:
    """Start a run through the API and follow it to its end."""
    print("Training a model ...")
    run = _call(address, "POST", "runs", {"trainer": "sklearn-text", "schemas": ["sentiment"]})
    step = ""
    while run["state"] not in ("success", "error", "cancelled"):
        time.sleep(0.2)
        run = _call(address, "GET", f"runs/{run['run_id']}")
        if run["step"] and run["step"] != step:
            step = run["step"]
            print(_indented(step))
    if run["state"] != "success":
        raise DemoFailed(f"the run ended as {run['state']}: {(run['error'] or {}).get('message', '')}")
    return run


def _call(address: str, method: str, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
    request = urllib.request.Request(
        f"{address}/admin/training/api/{path}",
        data=None if body is None else json.dumps(body).encode(),
        headers={"X-API-Key": ADMIN_KEY, "Content-Type": "application/json"},
        method=method,
    )
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
            result: dict[str, Any] = json.load(answer)
            return result
    except urllib.error.HTTPError as error:
        raise DemoFailed(f"{method} {path} was answered {error.code}: {error.read().decode()}") from error
    except OSError as error:
        raise DemoFailed(f"the server no longer answers: {error}") from error


def _report(run: dict[str, Any], address: str) -> None:
    scores, written = run["scores"]["sentiment"], run["writeback"]["written"]
    primary, baseline = scores["primary"], scores["baseline"]
    print(
        f"\n  The model's score on {scores['test']['n']} held-out reviews: macro F1 {_interval(primary)}."
        f"\n  Always answering with the commonest label would get {baseline['macro_f1']:.2f}."
        f"\n  {written} suggestions now wait on the annotation page.\n"
        f"\n  Annotate   {address}/   sign in with any name"
        f"\n  This run   {address}/admin/training/runs/{run['run_id']}   the admin key is {ADMIN_KEY}"
        f"\n  Train      {address}/admin/training"
    )


def _interval(primary: dict[str, Any]) -> str:
    low, high = primary["interval"] or (None, None)
    return (
        f"{primary['value']:.2f}" if low is None else f"{primary['value']:.2f} (95 % interval {low:.2f} to {high:.2f})"
    )


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.strip().splitlines())


def _wait_for_ctrl_c() -> None:
    print("\n  Ctrl-C stops the server.", flush=True)
    while True:
        time.sleep(3600)


if __name__ == "__main__":
    sys.exit(main())
