"""Params and packages of a trainer."""

from __future__ import annotations

import sys
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from lab import FAKES
from potato.training.trainers import registry
from potato.training.trainers.base import Param, ParamError, Requirement, TrainerInfo

SIZE = Param("size", "int", 3, "how many", 1, 10)
SHARE = Param("share", "float", None, "how much", 0)
KIND = Param("kind", "choice", "a", "which", choices=("a", "b"))
FLAG = Param("flag", "bool", False, "whether")
BASE = Param("base", "text", "hub/name", "from what", folder=True)

INFO = TrainerInfo(
    name="t",
    summary="",
    kinds=("nominal",),
    modalities=("text",),
    requires=(Requirement("a", "a"), Requirement("b", "b>=2")),
    licence="MIT",
    params=(SIZE, SHARE, KIND, FLAG, BASE),
)


def test_what_is_left_out_has_its_default() -> None:
    defaults = {"size": 3, "share": None, "kind": "a", "flag": False, "base": "hub/name"}
    assert INFO.parse_params({}) == defaults
    assert INFO.parse_params({"share": 1, "flag": True}) == {**defaults, "share": 1.0, "flag": True}


@pytest.mark.parametrize(
    ("params", "said"),
    [
        ({"sice": 1}, "trainer 't' has no param 'sice'; it takes size, share, kind, flag, base"),
        ({"size": "3"}, "param 'size' is a whole number, not '3'"),
        ({"size": True}, "param 'size' is a whole number, not True"),
        ({"size": 2.0}, "param 'size' is a whole number, not 2.0"),
        ({"size": None}, "param 'size' is a whole number, not None"),
        ({"size": 0}, "param 'size' is at least 1, not 0"),
        ({"size": 11}, "param 'size' is at most 10, not 11"),
        ({"share": float("nan")}, "param 'share' is a number, not nan"),
        ({"share": float("inf")}, "param 'share' is a number, not inf"),
        ({"share": 10**400}, f"param 'share' is a number, not 1{'0' * 79}"),
        ({"kind": "c"}, "param 'kind' is one of a, b, not 'c'"),
        ({"kind": ["a"]}, "param 'kind' is text, not ['a']"),
        ({"flag": 1}, "param 'flag' is true or false, not 1"),
    ],
)
def test_a_param_that_is_wrong_is_a_sentence(params: dict[str, Any], said: str) -> None:
    with pytest.raises(ParamError) as raised:
        INFO.parse_params(params)
    assert str(raised.value) == said


def test_the_command_that_installs_is_one_that_a_shell_takes() -> None:
    assert INFO.install_command("/opt/conda/bin/python3") == "/opt/conda/bin/python3 -m pip install a 'b>=2'"


def test_a_relative_folder_is_meant_from_the_projects(tmp_path: Path) -> None:
    (tmp_path / "models" / "mine").mkdir(parents=True)
    found = INFO.resolve_folders({"base": "models/mine", "kind": "models"}, str(tmp_path))
    assert found == {"base": str(tmp_path / "models" / "mine"), "kind": "models"}
    assert INFO.resolve_folders({"base": "hub/name"}, str(tmp_path)) == {"base": "hub/name"}
    assert INFO.resolve_folders({"base": ""}, str(tmp_path)) == {"base": ""}


@pytest.mark.parametrize("info", registry.infos(), ids=lambda info: info.name)
def test_every_trainer_says_what_it_is(info: TrainerInfo) -> None:
    assert info.summary
    assert info.kinds
    assert info.licence
    assert info.parse_params({}) == {param.name: param.default for param in info.params}
    for param in info.params:
        assert param.help.endswith(".")
        assert param.default is None or param.parse(param.default) == param.default


def test_installed_packages_are_looked_through_once_and_again_where_the_path_has_changed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    looks: list[int] = []
    look = metadata.entry_points
    monkeypatch.setattr(metadata, "entry_points", lambda: (looks.append(1), look())[1])
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if Path(entry) != FAKES])
    monkeypatch.syspath_prepend(str(tmp_path))
    for _ in range(3):
        assert registry.get("sklearn-text").info.name in registry.names()
    assert len(looks) == 1
    assert "fake" not in registry.names()
    monkeypatch.syspath_prepend(str(FAKES))
    assert "fake" in registry.names()
    assert len(looks) == 2


def test_a_trainer_that_nobody_has_is_named_with_those_there_are() -> None:
    with pytest.raises(registry.UnknownTrainer) as raised:
        registry.get("sklearn-txt")
    assert str(raised.value).startswith("there is no trainer 'sklearn-txt'; there are sklearn-text, text-embedding, ")


BAD_TRAINERS = """
from potato.training.trainers.base import Param, Trainer, TrainerInfo
INFO = dict(name="x", summary="", kinds=("nominal",), modalities=("text",), requires=(), licence="", params=())
class Whole(Trainer):
    info = TrainerInfo(**{**INFO, "name": "whole"})
    def fit(self, task): raise NotImplementedError
class NoInfo(Trainer):
    def fit(self, task): raise NotImplementedError
class OtherName(Whole): info = TrainerInfo(**INFO)
class OddParams(Whole): info = TrainerInfo(**{**INFO, "name": "odd-params", "params": ({"name": "p"},)})
class OneKind(Whole): info = TrainerInfo(**{**INFO, "name": "one-kind", "kinds": "nominal"})
class NoSummary(Whole): info = TrainerInfo(**{**INFO, "name": "no-summary", "summary": None})
class Raises(Whole):
    def __init__(self): raise RuntimeError("not today")
class Abstract(Trainer): pass
"""

BROKEN = {
    "no-info": ("NoInfo", "BadInfo: its class has no `info` that is a TrainerInfo"),
    "other-name": ("OtherName", "BadInfo: its `info` calls it 'x'; the entry point has to have the same name"),
    "odd-params": ("OddParams", "BadInfo: `params` in its `info` is no tuple of Param"),
    "one-kind": ("OneKind", "BadInfo: `kinds` in its `info` is no tuple of texts"),
    "no-summary": ("NoSummary", "BadInfo: `summary` in its `info` is no text"),
    "raises": ("Raises", "RuntimeError: not today"),
    "abstract": ("Abstract", "TypeError: "),
    "missing": ("Missing", "AttributeError: "),
}


@pytest.fixture
def bad_trainers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "bad-1.0.dist-info"
    package.mkdir()
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: bad\nVersion: 1.0\n", "utf-8")
    lines = [f"{name} = bad_trainers:{attribute}" for name, (attribute, _) in BROKEN.items()]
    lines += ["whole = bad_trainers:Whole", "exits = bad_trainer_exits:Exits"]
    (package / "entry_points.txt").write_text("\n".join(["[potato.trainers]", *lines, ""]), "utf-8")
    (tmp_path / "bad_trainers.py").write_text(BAD_TRAINERS, "utf-8")
    (tmp_path / "bad_trainer_exits.py").write_text("import sys\nsys.exit()\n", "utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))


@pytest.mark.usefixtures("bad_trainers")
def test_a_third_partys_broken_trainer_is_left_out_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    found = [info.name for info in registry.infos()]
    assert "whole" in found
    assert "sklearn-text" in found
    assert not {*BROKEN, "exits"} & set(found)
    assert all(f"the trainer '{name}' (bad_trainers:" in caplog.text for name in BROKEN)
    assert "the trainer 'exits' (bad_trainer_exits:Exits) cannot be loaded: SystemExit\n" in caplog.text


@pytest.mark.usefixtures("bad_trainers")
@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_trainer_is_told_why(name: str) -> None:
    with pytest.raises(registry.BrokenTrainer) as raised:
        registry.get(name)
    assert f"cannot be loaded: {BROKEN[name][1]}" in str(raised.value)
