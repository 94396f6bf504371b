"""The first program on a host, sent as text to `python -c`: it fetches Potato itself, and hands over to it.

It says which Python this is, so it is written in what 2.7 can read; all else is for 3.8 and newer.
"""

import sys

sys.path[:] = [entry for entry in sys.path if entry not in ("", ".")]  # a random.py in the home is not Python's

import errno  # noqa: E402
import hashlib  # noqa: E402
import json  # noqa: E402
import os  # noqa: E402
import shutil  # noqa: E402
import struct  # noqa: E402

PREFIX = struct.Struct(">IQ")
HINT = "set remote_dir to a folder that this account may write in"


def main(nonce):
    # type: (str) -> None
    version = ".".join(str(part) for part in sys.version_info[:3])
    encode = getattr(os, "fsencode", lambda text: text)
    os.write(1, ("\nPOTATO-%s-PY %s " % (nonce, version)).encode("ascii") + encode(sys.executable or "?") + b"\n")
    if sys.version_info >= (3, 8):
        os.umask(0o77)
        source, target = os.dup(0), os.dup(1)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)  # no child may hold the connection,
        os.dup2(2, 1)  # and nothing that prints may break a frame
        remote_dir = fetch(source, target)
        from potato.training.host.program import main as go_on

        go_on(source, target, remote_dir)


def fetch(source, target):
    # type: (int, int) -> str
    """Have Potato's code, from the copy here or from the server; the absolute remote_dir."""
    call = receive(source)[0]
    remote_dir = os.path.normpath(os.path.join(os.path.expanduser("~"), os.path.expanduser(call["remote_dir"])))
    copies = os.path.join(remote_dir, "code")
    root = os.path.join(copies, call["hash"])
    try:
        os.makedirs(copies, exist_ok=True)
        if os.stat(copies).st_uid != os.getuid():
            raise OSError(errno.EPERM, "%s belongs to another account" % copies)
        have = is_whole(root)
        if have:
            os.utime(root)  # it is in use
        send(target, {"ok": True, "have": have, "remote_dir": remote_dir})
        if not have:
            unpack(receive(source)[1], root)
            send(target, {"ok": True})
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        send(
            target,
            {
                "ok": False,
                "code": "remote_disk_full" if full else "remote_dir_not_writable",
                "error": "%s cannot be written: %s" % (remote_dir, error.strerror or error),
                "hint": "make room there, or set remote_dir to a folder on another disk" if full else HINT,
            },
        )
        sys.exit(1)
    sys.path.insert(0, root)
    return remote_dir


def is_whole(root):
    # type: (str) -> bool
    """Whether a copy is as it was unpacked: a machine that lost its power may have kept half of a file, and some sites
    delete what was not read for a while."""
    try:
        with open(os.path.join(root, ".sha256")) as file:
            return file.read() == digest(root)
    except OSError:
        return False


def digest(root):
    # type: (str) -> str
    found = hashlib.sha256()
    for folder, folders, names in os.walk(root):
        folders.sort()
        for name in sorted(names):
            if name.endswith(".py"):
                path = os.path.join(folder, name)
                with open(path, "rb") as file:
                    found.update(os.fsencode(os.path.relpath(path, root)) + b"\0" + file.read() + b"\0")
    return found.hexdigest()


def unpack(packed, root):
    # type: (bytes, str) -> None
    """Unpack the code beside, and put it at its place."""
    import io
    import tarfile

    beside = "%s.%d.part" % (root, os.getpid())
    try:
        with tarfile.open(fileobj=io.BytesIO(packed)) as tar:
            for member in tar:
                if member.isfile():
                    place(os.path.join(beside, member.name), tar.extractfile(member).read())  # type: ignore[union-attr]
        place(os.path.join(beside, ".sha256"), digest(beside).encode("ascii"))
        shutil.rmtree(root, ignore_errors=True)  # broken, or not there
        try:
            os.rename(beside, root)
        except OSError:
            if not is_whole(root):  # another run was quicker
                raise
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def place(path, data):
    # type: (str, bytes) -> None
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(data)


def receive(source):
    # type: (int) -> tuple[dict[str, str], bytes]
    header, body = PREFIX.unpack(take(source, PREFIX.size))
    return json.loads(take(source, header).decode("utf-8")), take(source, body)


def take(source, length):
    # type: (int, int) -> bytes
    data = bytearray()
    while len(data) < length:
        piece = os.read(source, length - len(data))
        if not piece:
            sys.exit(0)  # the server has left
        data += piece
    return bytes(data)


def send(target, header):
    # type: (int, dict[str, object]) -> None
    text = json.dumps(header).encode("utf-8")
    os.write(target, PREFIX.pack(len(text), 0) + text)


if __name__ == "__main__":
    main(sys.argv[1])
