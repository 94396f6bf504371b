"""The slurm settings: the keys of a slurm backend that concern the job, and how long Potato waits for what."""

import json
import math
import re
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Callable, Dict, List, Mapping, Optional, Tuple

FLAGS = {
    "partition": "--partition",
    "account": "--account",
    "qos": "--qos",
    "gres": "--gres",
    "gpus_per_node": "--gpus-per-node",
    "time": "--time",
    "cpus_per_task": "--cpus-per-task",
    "mem": "--mem",
    "constraint": "--constraint",
    "nodelist": "--nodelist",
    "exclude": "--exclude",
    "reservation": "--reservation",
}
"""Key → the flag of `sbatch`, in the order in which they are given."""
KEYS = (*FLAGS, "job_python", "sbatch_args", "prelude", "poll_interval_s")

_REFUSED = re.compile(r"(--(array|wait|wrap|test-only|help|usage|version)(=.*)?|-[aW].*|-[hV])")
"""Flags with which `sbatch` does not submit one job and leave."""
_CLUSTERS = re.compile(r"(?:--clusters?=|-M=?)(.+)")
_GPUS = re.compile(r"--(gres|gpus|gpus-per-[a-z]+|tres-per-[a-z]+)(=.*)?|-G.*")


Monotonic = Callable[[], float]
"""A clock that only ever goes on, in seconds."""


class SettingsError(Exception):
    """The settings cannot be used; the sentence says why."""


@dataclass(frozen=True)
class SlurmTiming:
    """Every duration that is chosen here, in seconds."""

    follow: float = 0.5
    """Between two looks into the job's files."""
    soon: float = 1.0
    """Between two calls of `squeue` while something is about to change."""
    settle: float = 100.0
    """How long shared storage may lag behind the end of a job."""
    settle_killed: float = 30.0
    """The same for a job whose end explains a missing record."""
    gone: float = 30.0
    """A job that `squeue` does not list is gone after this long and `gone_rounds` answers."""
    gone_rounds: int = 3
    never: float = 60.0
    """A job that will never start is given up after this long."""
    held: float = 3600.0
    """So is one that nobody releases."""
    unsaid: float = 10.0
    """A shorter silence of SLURM is not worth a line."""
    longest_pause: float = 60.0
    """Between two questions to a SLURM that does not answer."""
    misconfigured: float = 60.0
    """So long SLURM's commands may find no configuration before the run is given up."""
    finished: float = 60.0
    """How long SLURM may go on with a job whose worker has finished."""
    command: float = 25.0
    """The longest that `squeue`, `scancel` and `scontrol` may take."""
    submit: float = 60.0
    """The longest that `sbatch` may take."""


@dataclass(frozen=True)
class SlurmSettings:
    """What a job asks for. `flags` come from the keys, `sbatch_args` after them."""

    flags: Tuple[str, ...] = ()
    sbatch_args: Tuple[str, ...] = ()
    prelude: Tuple[str, ...] = ()
    job_python: Optional[str] = None
    poll_interval_s: float = 10.0
    timing: SlurmTiming = field(default_factory=SlurmTiming)

    @property
    def asked(self) -> Tuple[str, ...]:
        """Everything that the user asks `sbatch` for."""
        return self.flags + self.sbatch_args

    @property
    def asks_for_gpus(self) -> bool:
        """Whether any flag asks for GPUs."""
        return any(_GPUS.fullmatch(flag) for flag in self.asked)

    @property
    def clusters(self) -> str:
        """The cluster that `sbatch_args` name; empty for the usual one."""
        args = self.sbatch_args
        after = [args[place + 1] for place, flag in enumerate(args[:-1]) if flag in ("-M", "--clusters", "--cluster")]
        named = [found.group(1) for found in map(_CLUSTERS.fullmatch, args) if found]
        return (after + named + [""])[0]

    def as_json(self) -> Dict[str, Any]:
        """For the job's order; `recall` reads it."""
        return asdict(self)


def recall(raw: Mapping[str, Any]) -> SlurmSettings:
    """What `as_json` wrote."""
    names = {each.name for each in fields(SlurmTiming)}
    timing = SlurmTiming(**{name: value for name, value in raw["timing"].items() if name in names})
    lists = {name: tuple(raw[name]) for name in ("flags", "sbatch_args", "prelude")}
    return SlurmSettings(job_python=raw["job_python"], poll_interval_s=raw["poll_interval_s"], timing=timing, **lists)


def read_file(path: str) -> SlurmSettings:
    """The settings in a JSON file. Raises `SettingsError`."""
    try:
        with open(path, encoding="utf-8") as file:
            raw = json.load(file)
    except OSError as error:
        raise SettingsError("the slurm settings %s cannot be read: %s" % (path, error.strerror)) from error
    except ValueError as error:
        raise SettingsError("the slurm settings %s are not JSON: %s" % (path, error)) from error
    if not isinstance(raw, dict):
        raise SettingsError("the slurm settings %s are not a JSON object" % path)
    unknown = sorted(set(raw) - set(KEYS))
    if unknown:
        raise SettingsError("the slurm settings have no key %s; there are %s" % (unknown[0], ", ".join(KEYS)))
    return parse(raw)


def parse(raw: Mapping[str, Any]) -> SlurmSettings:
    """The settings in the words of the project file; keys that are unknown here are left out. Raises
    `SettingsError`."""
    flags = ["%s=%s" % (flag, _word(key, raw[key])) for key, flag in FLAGS.items() if raw.get(key) is not None]
    python = raw.get("job_python")
    return SlurmSettings(
        flags=tuple(flags),
        sbatch_args=tuple(_args(raw.get("sbatch_args"))),
        prelude=tuple(line.rstrip("\r\n") for line in _lines("prelude", raw.get("prelude"))),
        job_python=None if python is None else _word("job_python", python),
        poll_interval_s=_seconds("poll_interval_s", raw.get("poll_interval_s", 10.0)),
    )


def _word(key: str, value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, (str, int)) or value == "" or not str(value).isprintable():
        raise SettingsError("the slurm setting %s must be text on one line, not %.80r" % (key, value))
    return str(value)


def _lines(key: str, value: Any) -> List[str]:
    if value is None:
        return []
    if not isinstance(value, (list, tuple)) or not all(isinstance(line, str) and "\0" not in line for line in value):
        raise SettingsError("the slurm setting %s must be a list of lines, not %.80r" % (key, value))
    return list(value)


def _args(value: Any) -> List[str]:
    args = _lines("sbatch_args", value)
    refused = [arg for arg in args if _REFUSED.fullmatch(arg)]
    if refused:
        raise SettingsError("sbatch_args cannot hold %s: Potato submits one job, and follows it" % refused[0])
    return args


def _seconds(key: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value) or value <= 0:
        raise SettingsError("the slurm setting %s must be a number of seconds above 0, not %.80r" % (key, value))
    return float(value)
