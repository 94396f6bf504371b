"""What a probe found, in the words of a check."""

from __future__ import annotations

from typing import Any

from potato.training.backends.base import CheckReport

ON_A_CPU = "trainers that fine-tune a transformer are slow on a CPU: they belong on a remote backend with a GPU"


def local_report(probe: dict[str, Any], trainer: str | None) -> CheckReport:
    """The report of `local` from `worker.probe`'s answer; `trainer` narrows it to that one."""
    device, trainers = probe["device"], probe["trainers"]
    asked = [entry for entry in trainers if trainer in (None, entry["name"])]
    lines = [f"local: this machine, {device['text']}"] if device["error"] is None else [f"local: {device['error']}"]
    lines += [f"warning: {warning}" for warning in device["warnings"]]
    if device["text"] == "CPU":
        lines.append(ON_A_CPU)
    lines.append(f"python {probe['python']}: {probe['executable']}")
    lines += [line for entry in asked for line in trainer_lines(entry)]
    if not asked:
        lines.append(f"there is no trainer '{trainer}'; there are {', '.join(entry['name'] for entry in trainers)}")
    ok = device["error"] is None and any(entry["ok"] for entry in asked)
    return CheckReport("local", ok, lines, probe)


def trainer_lines(entry: dict[str, Any]) -> list[str]:
    """A trainer for people: whether it could run, and what would mend it."""
    if entry["ok"]:
        return [f"{entry['name']}: ready"]
    return [f"{entry['name']}: {'; '.join(entry['missing'])}", f"  Install: {entry['install']}"]
