"""Reading what SLURM's programs print. Nothing here guesses: what has another shape says nothing."""

import re
from dataclasses import dataclass
from typing import Dict, NamedTuple, Optional, Tuple

from potato.training.agent.slurm import states
from potato.training.agent.slurm.commands import Said
from potato.training.agent.slurm.states import State

FORMAT = "%A|%T|%N|%r"
"""What `squeue` is asked to print: id, state, nodes, reason. A reason may hold anything, so it comes last."""

_SUBMITTED = re.compile(r"([1-9][0-9]*)(?:;([A-Za-z0-9._-]+))?")
_LINE = re.compile(r"([1-9][0-9]*)\|([^|]+)\|([^|]*)\|(.*)")
_HEADER = re.compile(r"CLUSTER: *\S+")
_FIELD = re.compile(r"(?:^|\s)([A-Z][A-Za-z:/_]*)=(\S*)")
_BOOT = re.compile(r"^BOOT_TIME *= *(\S+)", re.MULTILINE)


class JobId(NamedTuple):
    """A job's number, and its cluster where `sbatch` named one."""

    number: int
    cluster: str = ""


@dataclass(frozen=True)
class Listed:
    """A job as `squeue` lists it."""

    number: int
    state: State
    nodes: str
    reason: str

    @property
    def text(self) -> str:
        """`PENDING (Priority)`, `RUNNING on node07`."""
        if self.state.kind in (states.Kind.WAITING, states.Kind.HELD) and self.reason not in ("", "None"):
            return "%s (%s)" % (self.state.word, self.reason)
        on = self.nodes and self.state.kind is states.Kind.RUNNING
        return "%s on %s" % (self.state.word, self.nodes) if on else self.state.word


@dataclass(frozen=True)
class Answer:
    """The answer about a job. `jobs` is None for no answer, empty for "not there"; `words` say why there is none."""

    jobs: Optional[Tuple[Listed, ...]]
    words: str = ""


@dataclass(frozen=True)
class Detail:
    """What `scontrol show job` knows of a job. `exit` is its exit code and signal, such as `0:9`."""

    state: State
    reason: str
    exit: str
    nodes: str


def submitted(out: str) -> Optional[JobId]:
    """The job that `sbatch --parsable` printed; None where it printed anything else."""
    lines = [line.strip() for line in out.splitlines() if line.strip()]
    found = _SUBMITTED.fullmatch(lines[0]) if len(lines) == 1 else None
    return JobId(int(found.group(1)), found.group(2) or "") if found else None


def listed(said: Said) -> Answer:
    """The jobs that `squeue` printed in `FORMAT`."""
    if said.code != 0:
        if said.code == 1 and "Invalid job id" in said.err:
            return Answer(())
        return Answer(None, said.words)
    lines = [line.strip() for line in said.out.splitlines() if line.strip()]
    found = [match for match in map(_LINE.fullmatch, lines) if match]
    jobs = tuple(Listed(int(m.group(1)), states.read(m.group(2)), m.group(3), m.group(4)) for m in found)
    odd = [line for line in lines if not _LINE.fullmatch(line) and not _HEADER.fullmatch(line)]
    if not jobs and (odd or said.err.strip()):
        return Answer(None, (odd or [said.words])[0][:500])
    return Answer(jobs)


def detail(said: Said, name: str) -> Optional[Detail]:
    """The job that `scontrol -o show job` printed, where it is the one of that name: numbers are given again."""
    fields: Dict[str, str] = {}
    for match in _FIELD.finditer(said.out):
        fields.setdefault(match.group(1), match.group(2))
    if said.code != 0 or fields.get("JobName") != name or "JobState" not in fields:
        return None
    nodes = fields.get("NodeList", "")
    return Detail(
        states.read(fields["JobState"]),
        fields.get("Reason", ""),
        fields.get("ExitCode", ""),
        "" if nodes == "(null)" else nodes,
    )


def boot_time(said: Said) -> str:
    """When the controller was started, in its own words; empty where it does not say."""
    found = _BOOT.search(said.out) if said.code == 0 else None
    return found.group(1) if found else ""
