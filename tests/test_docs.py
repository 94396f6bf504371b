"""The documentation is true of the code: its commands, keys, examples and links are tried here."""

from __future__ import annotations

import importlib.util
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.main
from pydantic import BaseModel
from ruamel.yaml import YAML

from potato import cli
from potato.project import reference
from potato.project.models import ProjectFile
from potato.training.agent.__main__ import parser as agent_parser
from potato.training.trainers import registry

ROOT = Path(__file__).parents[1]
PAGES = [*sorted(ROOT.glob("docs/*.md")), ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "examples/README.md"]
SMALLEST = {
    "annotation_task_name": "x",
    "data_files": ["x.jsonl"],
    "annotation_schemes": [
        {"annotation_type": "radio", "name": "sentiment", "description": "x", "labels": ["positive", "negative"]}
    ],
}


def listed(function: Callable[[str], Iterator[Any]]) -> Callable[[str], list[Any]]:
    """The same as a list, which is what `parametrize` takes."""
    return lambda argument: list(function(argument))


@listed
def blocks(language: str) -> Iterator[Any]:
    """Every fenced block of that language, as a test parameter named for its page and line."""
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for found in re.finditer(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
            line = text.count("\n", 0, found.start()) + 1
            yield pytest.param(found.group(1), id=f"{page.relative_to(ROOT)}:{line}")


@listed
def commands(program: str) -> Iterator[Any]:
    """Every line of a block without language, and every code span, that calls `program`."""
    for page in PAGES:
        for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
            spans = re.findall(rf"`(?:[A-Z_]+=\S+ )*({program} [^`]+)`", line)
            whole = re.findall(rf"^(?:[A-Z_]+=\S+ )*({program} .+)$", line)
            for command in spans + whole:
                yield pytest.param(command, id=f"{page.relative_to(ROOT)}:{number} {command}")


@pytest.mark.parametrize("command", commands("potato"))
def test_every_command_in_the_docs_exists_and_takes_its_options(command: str) -> None:
    words = command.replace("[", "").replace("]", "").split()[1:]
    found: Any = typer.main.get_command(cli.build())
    while hasattr(found, "commands") and words and not words[0].startswith("-") and words[0] != "COMMAND":
        name = words.pop(0)
        assert name in found.commands, f"there is no `{name}` in `{command}`"
        found = found.commands[name]
    used = {word for word in words if word.startswith("-")}
    options = {option for param in found.params for option in param.opts} | {"--help"}
    if found.context_settings.get("ignore_unknown_options"):  # it hands over to the agent, which travels
        options = set(agent_parser()._option_string_actions)
    assert used <= options
    assert used or not hasattr(found, "commands"), f"`{command}` names no command"


@pytest.mark.parametrize("command", commands("make"))
def test_every_make_target_in_the_docs_exists(command: str) -> None:
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    named = [word for word in command.split()[1:] if "=" not in word]
    assert set(named) <= set(targets)


@pytest.mark.parametrize("text", blocks("yaml"))
def test_every_piece_of_a_project_file_in_the_docs_is_valid(text: str) -> None:
    piece = YAML(typ="safe").load(text) or {}
    ProjectFile.model_validate({**SMALLEST, **piece})


@pytest.mark.parametrize("text", blocks("json"))
def test_every_json_example_parses(text: str) -> None:
    try:
        json.loads(text)
    except json.JSONDecodeError:
        for line in text.splitlines():
            json.loads(line)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_to_a_file_leads_somewhere(page: Path) -> None:
    targets = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
    assert [target for target in targets if not (page.parent / target).exists()] == []


def settings(model: type[BaseModel]) -> set[str]:
    """The names of all fields of a model and of the models in it."""
    definitions = model.model_json_schema()
    models = [definitions, *definitions.get("$defs", {}).values()]
    return {name for each in models for name in each.get("properties", {})}


def test_every_setting_is_in_the_configuration_reference() -> None:
    page = reference.markdown()
    assert {name for name in settings(ProjectFile) if f"`{name}`" not in page and f".{name}`" not in page} == set()


def tables() -> Any:
    """The module that writes the generated tables; it lies beside the pages."""
    spec = importlib.util.spec_from_file_location("tables", ROOT / "docs" / "tables.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_trainer_and_param_is_in_the_trainers_reference() -> None:
    page = tables().trainers()
    for info in registry.infos():
        assert f"## `{info.name}`" in page
        assert all(f"| `{param.name}` |" in page for param in info.params)


TITLES = {
    "train-your-first-model": "Train your first model",
    "model-training-overview": "Model training overview",
    "model-in-the-loop": "Model in the loop",
    "trainers": "Trainers",
    "configuration": "Configuration",
    "where-runs-execute": "Where runs execute",
    "troubleshooting": "Troubleshooting",
}


@pytest.mark.parametrize("name", TITLES)
def test_pages_are_found_by_the_names_that_users_look_for(name: str) -> None:
    assert (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8").startswith(f"# {TITLES[name]}\n")


FAILURES = (
    "Trainer 'hf-text-classification' could not be imported",
    "The run was stopped after 3600 seconds (max_wall_seconds)",
    "the server stopped while the run was going",
)


@pytest.mark.parametrize("message", FAILURES)
def test_every_failure_has_its_fix(message: str) -> None:
    assert message in (ROOT / "docs" / "troubleshooting.md").read_text(encoding="utf-8")
