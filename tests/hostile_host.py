"""What a hostile host may do: a program that stands where Potato expects an interpreter, and asks for what it wants.

It answers the calls that come before `work` as an honest host does, and then sends the requests that stand in
`requests.json` in the home, each `{"method", "path", "headers", "body"}`, with RUN-ID for the id of its run; what it
was answered goes to `answers.json`.
`words.json` there, `{call: {field: value}}`, says what it answers to each call beside that.
"""

import json
import os
import struct
import sys
from pathlib import Path

PREFIX = struct.Struct(">IQ")
HOME = str(Path.home())


def send(header, body=b""):
    """One frame."""
    raw = json.dumps(header).encode()
    data = PREFIX.pack(len(raw), len(body)) + raw + body
    while data:
        data = data[os.write(1, data) :]


def exactly(length):
    """The next bytes; leaves at the end."""
    data = b""
    while len(data) < length:
        piece = os.read(0, length - len(data))
        if not piece:
            sys.exit(0)
        data += piece
    return data


def receive():
    """One frame."""
    lengths = PREFIX.unpack(exactly(PREFIX.size))
    return json.loads(exactly(lengths[0])), exactly(lengths[1])


def read(name, run_id=""):
    """A file of the home, as JSON; nothing where there is none."""
    try:
        with Path(HOME, name).open(encoding="utf-8") as file:
            return json.loads(file.read().replace("RUN-ID", run_id))
    except FileNotFoundError:
        return {}


def work(run_id):
    """Ask for everything."""
    answers = []
    for request in read("requests.json", run_id):
        head = {"method": request["method"], "path": request["path"], "headers": request.get("headers", {})}
        send({"request": head}, request.get("body", "").encode())
        header, body = receive()
        answers.append([request["method"], request["path"], header["status"], body.decode("utf-8", "replace")])
    Path(HOME, "answers.json").write_text(json.dumps(answers), "utf-8")


def main():
    """Play a host until the server leaves."""
    words = read("words.json")
    version, executable = words.get("", ["3.11.0", "/usr/bin/python3"])
    os.write(1, f"\nPOTATO-{sys.argv[-1]}-PY {version} {executable}\n".encode())
    honest = {
        "code": {"have": True, "remote_dir": HOME},
        "hello": {"host": "gpu", "python": version, "executable": executable, "home": HOME, "remote_dir": HOME},
        "environment": {"python": executable, "made": False},
        "gpus": {"gpus": [], "chosen": [], "text": "no GPU: training on the CPU", "env": {}},
        "probe": {"trainers": [{"name": "fake", "ok": True, "missing": [], "install": ""}], "device": {"name": "cpu"}},
        "work": {"code": 3, "said": []},
    }
    while True:
        call, _ = receive()
        name = call.get("call")
        if name == "work":
            work(call["run_id"])
        send({"ok": True, **honest.get(name, {}), **words.get(name, {})})


if __name__ == "__main__":
    main()
