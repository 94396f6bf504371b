"""Opening a data file as text: compression and encoding are told by its first bytes."""

from __future__ import annotations

import contextlib
import gzip
import io
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, TextIO, cast

GZIP = b"\x1f\x8b"
BOMS = (  # the longer first: UTF-32's begins with UTF-16's
    (b"\xff\xfe\x00\x00", "utf-32"),
    (b"\x00\x00\xfe\xff", "utf-32"),
    (b"\xff\xfe", "utf-16"),
    (b"\xfe\xff", "utf-16"),
    (b"\xef\xbb\xbf", "utf-8-sig"),
)


class Unreadable(Exception):
    """A file, or what follows a place in it, that is not text; the reason is a sentence."""

    def __init__(self, reason: str, line: int | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.line = line


@contextlib.contextmanager
def open_text(path: Path) -> Iterator[TextIO]:
    """The text of `path`, its line ends as they are. Raises `Unreadable`, also while the text is being read."""
    try:
        with _open_bytes(path) as binary:
            head = binary.read(4096)
            encoding = next((name for bom, name in BOMS if head.startswith(bom)), "utf-8")
            if encoding in ("utf-8", "utf-8-sig") and b"\0" in head:
                raise Unreadable(
                    "this is not UTF-8 text: it holds zero bytes. If it is UTF-16, save it with a byte order mark"
                )
        with _open_bytes(path) as binary, io.TextIOWrapper(binary, encoding, newline="") as text:
            yield text
    except UnicodeDecodeError as error:
        raise _undecodable(path, error) from error
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise Unreadable(f"the gzip data is damaged or cut off ({error})") from error
    except FileNotFoundError as error:
        raise Unreadable("there is no such file") from error
    except OSError as error:
        raise Unreadable(f"it cannot be read ({error.strerror or error})") from error


def kind_of(path: Path) -> str:
    """`json`, `jsonl`, `csv` or `tsv`, by the name, or empty."""
    name = path.name.lower()
    suffix = Path(name[:-3] if name.endswith(".gz") else name).suffix
    return {".json": "json", ".jsonl": "jsonl", ".ndjson": "jsonl", ".csv": "csv", ".tsv": "tsv"}.get(suffix, "")


def _open_bytes(path: Path) -> IO[bytes]:
    with path.open("rb") as file:
        zipped = file.read(2) == GZIP
    return cast("IO[bytes]", gzip.open(path, "rb") if zipped else path.open("rb"))


def _undecodable(path: Path, error: UnicodeDecodeError) -> Unreadable:
    if error.encoding not in ("utf-8", "utf-8-sig"):
        return Unreadable(f"its byte order mark says {error.encoding.upper()}, but the bytes are not: {error.reason}")
    with _open_bytes(path) as binary:
        for number, line in enumerate(binary, 1):
            try:
                line.decode()
            except UnicodeDecodeError as found:
                byte = found.object[found.start]
                return Unreadable(f"byte 0x{byte:02x} is not UTF-8; save the file as UTF-8", number)
    return Unreadable(f"it is not UTF-8 ({error.reason}); save the file as UTF-8")
