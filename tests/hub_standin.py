"""A stand-in for the Hugging Face Hub: as much of its API as publishing and downloading a model takes, and strict."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote, urlsplit

from ruamel.yaml import YAML, YAMLError

TOKEN = "hf_StandInTokenOfAda_q7Zx"
LARGE = 2000
"""Bytes from which a file goes the way of large ones, whatever it holds."""


@dataclass
class Repository:
    """A model's repository. `commits` are the trees, path → content, the newest last."""

    private: bool
    commits: list[dict[str, bytes]] = field(default_factory=lambda: [{".gitattributes": b"*.bin filter=lfs\n"}])

    @property
    def files(self) -> dict[str, bytes]:
        return self.commits[-1]

    @property
    def sha(self) -> str:
        return f"{len(self.commits):040x}"


@dataclass
class Hub:
    """What the stand-in knows. `who` is what it says of the token; `fault(method, path)` may give a status."""

    url: str = ""
    who: dict[str, Any] = field(default_factory=dict)
    repos: dict[str, Repository] = field(default_factory=dict)
    large: dict[str, bytes] = field(default_factory=dict)
    licences: dict[str, str] = field(default_factory=dict)
    requests: list[tuple[str, str]] = field(default_factory=list)
    fault: Callable[[str, str], int] = lambda method, path: 0
    lock: Any = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self.who = {
            "type": "user",
            "name": "ada",
            "orgs": [{"name": "acme", "roleInOrg": "write"}, {"name": "elsewhere", "roleInOrg": "read"}],
            "auth": {"type": "access_token", "accessToken": {"displayName": "potato", "role": "write"}},
        }

    def wrote(self) -> list[str]:
        """The requests that changed something, in order."""
        asked = ("/api/validate-yaml", "/api/whoami-v2")
        return [path for method, path in self.requests if method in ("POST", "PUT") and path not in asked]


class _Says(Exception):
    def __init__(self, status: int, error: str, code: str = "") -> None:
        super().__init__(error)
        self.status, self.error, self.code = status, error, code


class _Handler(BaseHTTPRequestHandler):
    server: Any
    protocol_version = "HTTP/1.1"

    def log_message(self, *args: Any) -> None:
        pass

    def do_GET(self) -> None:
        self._do("GET")

    def do_HEAD(self) -> None:
        self._do("HEAD")

    def do_POST(self) -> None:
        self._do("POST")

    def do_PUT(self) -> None:
        self._do("PUT")

    def _do(self, method: str) -> None:
        hub: Hub = self.server.hub
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        path = unquote(urlsplit(self.path).path)
        with hub.lock:
            hub.requests.append((method, path))
            try:
                status = hub.fault(method, path)
                if status:
                    raise _Says(status, f"the stand-in fails at {path} for {self.headers.get('authorization')}")
                if not path.startswith("/storage/") and self.headers.get("authorization") != f"Bearer {TOKEN}":
                    raise _Says(401, "Invalid username or password.")
                self._route(hub, method, path, body)
            except _Says as said:
                headers = {"X-Error-Code": said.code, "X-Error-Message": said.error} if said.code else {}
                self._json({"error": said.error}, said.status, headers)

    def _route(self, hub: Hub, method: str, path: str, body: bytes) -> None:
        for verb, pattern, answer in _ROUTES:
            found = re.fullmatch(pattern, path)
            if found and method in verb:
                answer(self, hub, body, *found.groups())
                return
        raise _Says(404, f"no such route: {method} {path}")

    def _json(self, value: Any, status: int = 200, headers: dict[str, str] | None = None) -> None:
        self._send(json.dumps(value).encode(), status, {"Content-Type": "application/json", **(headers or {})})

    def _send(self, data: bytes, status: int = 200, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(data)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def whoami(self, hub: Hub, body: bytes) -> None:
        self._json(hub.who)

    def validate(self, hub: Hub, body: bytes) -> None:
        raw = json.loads(body)
        head = raw["content"].split("---\n")
        try:
            metadata = YAML(typ="safe").load(io.StringIO(head[1]))
        except (YAMLError, IndexError) as error:
            self._json({"errors": [{"message": str(error)}], "warnings": []}, 400)
            return
        if not isinstance(metadata, dict) or not isinstance(metadata.get("tags"), list):
            self._json({"errors": [{"message": '"tags" must be an array'}], "warnings": []}, 400)
            return
        errors = []
        for result in [one for model in metadata.get("model-index") or [] for one in model["results"]]:
            if not re.fullmatch(r"(?:[\w-]+/)?[\w.-]+", result["dataset"]["type"]):
                errors.append({"message": '"dataset.type" fails to match the pattern'})
            if not all(isinstance(metric["value"], (int, float)) for metric in result["metrics"]):
                errors.append({"message": '"metrics.value" must be a number'})
        self._json({"errors": errors, "warnings": []}, 400 if errors else 200)

    def create(self, hub: Hub, body: bytes) -> None:
        raw = json.loads(body)
        name = f"{raw.get('organization') or hub.who['name']}/{raw['name']}"
        if name in hub.repos:
            self._json({"error": "You already created this model repo", "url": f"{hub.url}/{name}"}, 409)
            return
        private = raw.get("private", raw.get("visibility") == "private")
        hub.repos[name] = Repository(private)
        self._json({"url": f"{hub.url}/{name}"})

    def info(self, hub: Hub, body: bytes, name: str, revision: str | None) -> None:
        if name in hub.licences:
            self._json({"id": name, "private": False, "sha": "0" * 40, "cardData": {"license": hub.licences[name]}})
            return
        repo = self._repo(hub, name)
        files = [{"rfilename": path} for path in repo.files]
        self._json({"id": name, "private": repo.private, "sha": repo.sha, "siblings": files})

    def preupload(self, hub: Hub, body: bytes, name: str) -> None:
        repo = self._repo(hub, name)
        files = [
            {
                "path": entry["path"],
                "uploadMode": "lfs" if entry["size"] >= LARGE else "regular",
                "shouldIgnore": False,
                "oid": self._oid(repo, entry["path"]),
            }
            for entry in json.loads(body)["files"]
        ]
        self._json({"files": files})

    def _oid(self, repo: Repository, path: str) -> str | None:
        data = repo.files.get(path)
        if data is None:
            return None
        if len(data) >= LARGE:
            return hashlib.sha256(data).hexdigest()
        return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()

    def batch(self, hub: Hub, body: bytes, name: str) -> None:
        self._repo(hub, name)
        objects = []
        for entry in json.loads(body)["objects"]:
            action = {"upload": {"href": f"{hub.url}/storage/{entry['oid']}"}}
            there = entry["oid"] in hub.large
            objects.append({**entry, **({} if there else {"actions": action})})
        self._json({"transfer": "basic", "objects": objects})

    def store(self, hub: Hub, body: bytes, oid: str) -> None:
        if hashlib.sha256(body).hexdigest() != oid:
            raise _Says(400, "the digest differs")
        hub.large[oid] = body
        self._send(b"")

    def commit(self, hub: Hub, body: bytes, name: str) -> None:
        repo = self._repo(hub, name)
        lines = [json.loads(line) for line in body.splitlines()]
        header = next(line["value"] for line in lines if line["key"] == "header")
        if header.get("parentCommit") not in (None, repo.sha):
            raise _Says(412, "A commit has happened since")
        tree = dict(repo.files)
        for line in lines:
            value = line["value"]
            if line["key"] == "file":
                tree[value["path"]] = base64.b64decode(value["content"])
            elif line["key"] == "lfsFile":
                tree[value["path"]] = hub.large[value["oid"]]
            elif line["key"] == "deletedFile":
                del tree[value["path"]]
        repo.commits.append(tree)
        self._json({"success": True, "commitOid": repo.sha, "commitUrl": f"{hub.url}/{name}/commit/{repo.sha}"})

    def resolve(self, hub: Hub, body: bytes, name: str, revision: str, path: str) -> None:
        repo = self._repo(hub, name)
        if path not in repo.files:
            raise _Says(404, "Entry not found", "EntryNotFound")
        etag = f'"{self._oid(repo, path)}"'
        self._send(repo.files[path], headers={"ETag": etag, "X-Repo-Commit": repo.sha})

    def _repo(self, hub: Hub, name: str) -> Repository:
        if name not in hub.repos:
            raise _Says(404, "Repository not found", "RepoNotFound")
        return hub.repos[name]


_NAME = r"([\w.-]+/[\w.-]+)"
_ROUTES: list[tuple[tuple[str, ...], str, Callable[..., None]]] = [
    (("GET",), "/api/whoami-v2", _Handler.whoami),
    (("POST",), "/api/validate-yaml", _Handler.validate),
    (("POST",), "/api/repos/create", _Handler.create),
    (("GET",), rf"/api/models/{_NAME}(?:/revision/([\w.-]+))?", _Handler.info),
    (("POST",), rf"/api/models/{_NAME}/preupload/main", _Handler.preupload),
    (("POST",), rf"/{_NAME}\.git/info/lfs/objects/batch", _Handler.batch),
    (("PUT",), r"/storage/([0-9a-f]+)", _Handler.store),
    (("POST",), rf"/api/models/{_NAME}/commit/main", _Handler.commit),
    (("GET", "HEAD"), rf"/{_NAME}/resolve/([\w.-]+)/(.+)", _Handler.resolve),
]


@contextmanager
def serving() -> Iterator[Hub]:
    """The stand-in, until the block ends."""
    server: Any = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.daemon_threads = True
    server.hub = Hub(url=f"http://127.0.0.1:{server.server_address[1]}")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield server.hub
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
