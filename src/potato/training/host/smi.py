"""What `nvidia-smi` says of a machine's GPUs. Every field of it may be missing, and the whole of it may fail."""

import os
import re
import shutil
from dataclasses import dataclass, replace
from typing import List, Optional, Sequence, Tuple

from potato.training.host import children
from potato.training.host.children import Done
from potato.training.host.session import Session

LIMIT_S = 20.0
PLACES = ("/usr/bin", "/usr/local/bin", "/usr/lib/wsl/lib", "/opt/bin")
"""Where it lies on machines whose PATH does not tell."""
FIELDS = ("index", "uuid", "name", "memory.free", "memory.total", "utilization.gpu", "driver_version")
MIG_FIELD = "mig.mode.current"
"""Unknown to drivers older than MIG."""


@dataclass(frozen=True)
class Gpu:
    """A GPU, or a MIG device on one; then `index` is that of the GPU. None is what nvidia-smi does not say."""

    index: int
    uuid: str
    name: str
    free_mb: Optional[int] = None
    total_mb: Optional[int] = None
    utilisation: Optional[int] = None
    driver: str = ""
    mig: bool = False
    mark: str = ""
    """Why a run cannot have it, in parentheses; empty where it can."""

    @property
    def text(self) -> str:
        """As the log says it: `GPU 1 (NVIDIA A100, 39000 MB free)`."""
        free = "free memory unknown" if self.free_mb is None else "%d MB free" % self.free_mb
        return "GPU %d (%s, %s)" % (self.index, self.name, free)

    @property
    def id(self) -> str:
        """What tells it from every other; CUDA takes it where it is a UUID."""
        return self.uuid or str(self.index)


@dataclass(frozen=True)
class Seen:
    """The GPUs in nvidia-smi's order, and the reason where it did not list them."""

    gpus: Sequence[Gpu] = ()
    reason: str = ""


def look(session: Session, limit_s: float = LIMIT_S) -> Seen:
    """Ask nvidia-smi; at most `limit_s` for each question. Never raises for what that does."""
    program = shutil.which("nvidia-smi") or shutil.which("nvidia-smi", path=os.pathsep.join(PLACES))
    if program is None:
        return Seen(reason="nvidia-smi was not found")
    for fields in ((*FIELDS, MIG_FIELD), FIELDS):
        query = _ask(session, program, limit_s, _query(fields))
        if not query.code or "not a valid field" not in query.out:
            break
    if query.code == 0:
        gpus = parse_query(query.out, fields)
        if not any(gpu.mig for gpu in gpus):
            return Seen(gpus)
    elif "not a valid field" in query.out:
        gpus = []  # very old; it can list them
    else:
        return Seen(reason=_reason(query, limit_s))
    listed = _ask(session, program, limit_s, ["-L"])
    if listed.code != 0:
        return Seen(gpus, _reason(listed, limit_s))
    return Seen(parse_list(listed.out, gpus))


def parse_query(text: str, fields: Sequence[str]) -> List[Gpu]:
    """The GPUs of `--query-gpu` for `fields`, with `csv,noheader,nounits`. A name may hold commas, and what is no line
    of a GPU is passed over."""
    found = []
    for line in text.splitlines():
        parts = [part.strip() for part in line.split(", ")]
        after = len(fields) - 3
        if len(parts) < len(fields) or not parts[0].isdigit():
            continue
        last = dict(zip(fields[3:], parts[-after:]))
        found.append(
            Gpu(
                index=int(parts[0]),
                uuid=parts[1] if parts[1].startswith("GPU-") else "",
                name=", ".join(parts[2:-after]),
                free_mb=_number(last["memory.free"]),
                total_mb=_number(last["memory.total"]),
                utilisation=_number(last["utilization.gpu"]),
                driver=last["driver_version"],
                mig=last.get(MIG_FIELD) == "Enabled",
            )
        )
    return found


def parse_list(text: str, known: Sequence[Gpu]) -> List[Gpu]:
    """The GPUs of `-L`, with what is `known` of them; one that is cut up by MIG is replaced by its devices."""
    by_index = {gpu.index: gpu for gpu in known}
    found: List[List[Gpu]] = []
    for line in text.splitlines():
        whole = re.match(r"GPU (\d+): (.*) \(UUID: (\S+)\)", line)
        part = re.match(r"\s+(MIG .*?)\s+Device\s+\d+: \(UUID: (\S+)\)", line)
        if whole:
            index = int(whole.group(1))
            found.append([by_index.get(index) or Gpu(index, whole.group(3), whole.group(2))])
        elif part and found:
            gpu = found[-1][0]
            name = "%s %s" % (gpu.name, part.group(1))
            found[-1].append(Gpu(gpu.index, part.group(2), name, driver=gpu.driver, mig=True))
    return [device for gpu, *devices in found for device in devices or [_whole(gpu)]]


def _whole(gpu: Gpu) -> Gpu:
    return replace(gpu, mark="(MIG is on, and no device was made on it)") if gpu.mig else gpu


def _query(fields: Tuple[str, ...]) -> List[str]:
    return ["--query-gpu=" + ",".join(fields), "--format=csv,noheader,nounits"]


def _ask(session: Session, program: str, limit_s: float, arguments: List[str]) -> Done:
    env = dict(os.environ, LC_ALL="C")
    try:
        return children.run(session, [program, *arguments], "asking nvidia-smi", limit_s, env)
    except OSError as error:
        return Done(-1, "", "%s cannot be started: %s" % (program, error.strerror or error))


def _reason(done: Done, limit_s: float) -> str:
    """Its own words, on whichever stream they came."""
    if done.code is None:
        return "nvidia-smi did not answer within %g seconds" % limit_s
    words = " ".join((done.out + " " + done.err).split())
    return words[:300] or "nvidia-smi ended with code %d" % done.code


def _number(text: str) -> Optional[int]:
    found = re.match(r"\d+", text)
    return int(found.group()) if found else None
