"""The calls `list_artifacts` and `send_artifact`: a run's model files on their way to the server."""

import hashlib
import os
import stat
from typing import Any, Dict, Iterator, List, Mapping, Optional

from potato.training.agent.folder import Attempt, JobFolder
from potato.training.contract.channel import ChannelClosed
from potato.training.host.failures import CallFailed
from potato.training.host.session import Session

NAME = "artifacts"
PIECE = 128 << 10


def list_artifacts(session: Session, call: Mapping[str, Any]) -> Dict[str, Any]:
    """The newest attempt's finished model files; no folder where there are none."""
    attempt = newest(JobFolder(session.remote_dir, str(call["run_id"])))
    if attempt is None:
        return {"attempt": None, "folder": None, "files": []}
    return {"attempt": attempt.number, "folder": _folder(attempt), "files": list(_files(_folder(attempt)))}


def send_artifact(session: Session, call: Mapping[str, Any]) -> Dict[str, Any]:
    """Send a file from `offset` on as one body, and then answer with the SHA-256 of the whole of it.

    Raises `CallFailed` before the body begins. What happens afterwards ends the connection: half a body cannot be
    taken back.
    """
    attempt = JobFolder(session.remote_dir, str(call["run_id"])).attempt(int(call["attempt"]))
    path = _inside(_folder(attempt), str(call["path"]))
    offset = int(call.get("offset") or 0)
    with open(path, "rb", buffering=0) as file:
        length = os.fstat(file.fileno()).st_size - offset
        if length < 0:
            raise CallFailed("no_such_artifact", "%s has %d bytes, fewer than %d" % (path, length + offset, offset))
        digest = hashlib.sha256()
        for piece in _pieces(file.fileno(), offset):
            digest.update(piece)
            session.progress("reading what was sent before")
        _send(session, file.fileno(), length, digest)
    return {"sha256": digest.hexdigest()}


def newest(folder: JobFolder) -> Optional[Attempt]:
    """The newest attempt that has model files."""
    found = [attempt for attempt in folder.attempts() if os.path.isdir(_folder(attempt))]
    return found[-1] if found else None


def _send(session: Session, descriptor: int, length: int, digest: Any) -> None:
    buffer = memoryview(bytearray(PIECE))  # a small one: what is hashed and sent is still in the core's own cache

    def read(most: int) -> memoryview:
        piece = buffer[: os.readv(descriptor, [buffer[:most]])]
        digest.update(piece)
        return piece

    try:
        session.channel.send_stream({"ok": True, "bytes": length}, length, read)
    except OSError as error:
        raise ChannelClosed("the file cannot be read: %s" % error) from error


def _pieces(descriptor: int, length: int) -> Iterator[bytes]:
    while length:
        piece = os.read(descriptor, min(length, 8 << 20))
        if not piece:
            return
        length -= len(piece)
        yield piece


def _folder(attempt: Attempt) -> str:
    return os.path.join(attempt.path, NAME)


def _files(folder: str) -> Iterator[Dict[str, Any]]:
    """Plain files with their path from there, in a stable order. A half-saved model is in a hidden folder, and a link
    may lead anywhere: neither is told of."""
    for parent, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not (name.startswith(".") and name.endswith(".part")))
        for name in sorted(names):
            path = os.path.join(parent, name)
            found = os.lstat(path)
            if stat.S_ISREG(found.st_mode):
                inside = os.path.relpath(path, folder).replace(os.sep, "/")
                yield {"path": inside, "bytes": found.st_size, "mtime": found.st_mtime}


def _inside(folder: str, path: str) -> str:
    """The file `path` of `folder`. Raises `CallFailed` for what is not a plain file in it."""
    parts: List[str] = path.split("/")
    whole = os.path.join(folder, *parts)
    honest = not set(parts) & {"", ".", ".."} and os.path.realpath(whole) == os.path.join(
        os.path.realpath(folder), *parts
    )
    if not honest or not os.path.isfile(whole):
        raise CallFailed("no_such_artifact", "there is no model file %.200r" % path)
    return whole
