"""Tables of the documentation that are made from the code."""

from __future__ import annotations

from potato.items.exporters import EXPORTERS, Exporter
from potato.training.trainers import registry
from potato.training.trainers.base import Param, TrainerInfo

TYPES = {"int": "whole number", "float": "number", "bool": "`true` or `false`", "text": "text", "choice": "one of"}


def formats() -> str:
    """What each format of `potato export` keeps."""
    rows = [
        f"| `{name}` | {exporter.keeps} | {'yes' if exporter.comes_back else 'no'} | {_needs(exporter)} |"
        for name, exporter in EXPORTERS.items()
    ]
    heading = "| `--format` | keeps | `potato import` gives the same labels | needs |"
    return "\n".join([heading, "| --- | --- | --- | --- |", *rows, ""])


def _needs(exporter: Exporter) -> str:
    return "nothing more" if exporter.needs is None else f"`{exporter.needs}`, the extra `export`"


def trainers() -> str:
    """A section for each built-in trainer: what it is for, what it needs, and its params."""
    return "\n".join(_section(info) for info in registry.infos())


def _section(info: TrainerInfo) -> str:
    packages = ", ".join(f"`{requirement.pip}`" for requirement in info.requires)
    install = f"the extra `{info.extra}`" if info.extra else "nothing beyond Potato itself"
    return "\n".join(
        [
            f"## `{info.name}`",
            "",
            f"{info.summary}.",
            "",
            f"- Scheme kinds: {', '.join(info.kinds)}",
            f"- Reads: {', '.join(info.modalities)}",
            f"- Packages: {packages}",
            f"- Install: {install}",
            f"- Licence of what it uses: {info.licence}",
            "",
            "| param | takes | default | limits | meaning |",
            "| --- | --- | --- | --- | --- |",
            *(_row(param) for param in info.params),
            "",
        ]
    )


def _row(param: Param) -> str:
    return f"| `{param.name}` | {TYPES[param.type]} | {_default(param)} | {_limits(param)} | {param.help} |"


def _default(param: Param) -> str:
    if param.default is None:
        return "none"
    return f"`{param.default}`".lower() if param.type == "bool" else f"`{param.default}`"


def _limits(param: Param) -> str:
    if param.choices:
        return ", ".join(f"`{choice}`" for choice in param.choices)
    parts = []
    if param.minimum is not None:
        parts.append(f"at least {param.minimum:g}")
    if param.maximum is not None:
        parts.append(f"at most {param.maximum:g}")
    return ", ".join(parts)
