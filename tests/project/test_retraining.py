"""What `auto_retrain` asks for must be something that a run can do."""

from __future__ import annotations

import pytest

from project_texts import BASE

AUTO = BASE + "model_training:\n  enabled: true\n  auto_retrain:\n    enabled: true\n    schemas: [sentiment]\n"
"""What a test appends begins on line 14."""

PATH = "error: config.yaml:14: model_training.auto_retrain"


def test_a_block_that_can_work(findings):
    assert findings(AUTO) == []


def test_an_unknown_trainer(findings):
    told = "there is no trainer `sklearn-txt`; did you mean `sklearn-text`?"
    assert findings(AUTO + "    trainer: sklearn-txt\n") == [f"{PATH}.trainer: {told}"]


def test_a_trainer_that_resembles_none(findings):
    (found,) = findings(AUTO + "    trainer: zzz\n")
    assert found.startswith(f"{PATH}.trainer: there is no trainer `zzz`; there are `sklearn-text`")


@pytest.mark.parametrize("params", ["{nope: 1}", "{seed: many}"])
def test_a_param_that_the_trainer_does_not_take(params, findings):
    (found,) = findings(AUTO + f"    params: {params}\n")
    assert found.startswith(f"{PATH}.params.{params[1:5]}: ")


def test_a_block_that_is_off_is_not_asked_about_its_trainer(findings):
    text = AUTO.replace("    enabled: true\n", "    enabled: false\n")
    assert findings(text + "    trainer: nope\n") == []


def test_a_trainer_of_a_broken_package_is_a_finding(findings, folder, monkeypatch):
    package = folder / "broken-1.0.dist-info"
    package.mkdir()
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1.0\n")
    (package / "entry_points.txt").write_text("[potato.trainers]\nbroken = no_such_module_here:Trainer\n")
    monkeypatch.syspath_prepend(str(folder))
    (found,) = findings(AUTO + "    trainer: broken\n")
    assert found.startswith(f"{PATH}.trainer: the trainer 'broken' (no_such_module_here:Trainer) cannot be loaded: ")


def test_a_trainer_that_does_not_fit_the_scheme(findings, folder, monkeypatch):
    package = folder / "fit-1.0.dist-info"
    package.mkdir()
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: fit\nVersion: 1.0\n")
    (package / "entry_points.txt").write_text("[potato.trainers]\nspans = trainer_of_spans:Spans\n")
    (folder / "trainer_of_spans.py").write_text(
        "from potato.training.trainers.base import Trainer, TrainerInfo\n"
        "class Spans(Trainer):\n"
        "    info = TrainerInfo('spans', '', ('span',), ('text',), (), 'MIT', (), backends=('local',))\n"
        "    def fit(self, task): raise NotImplementedError\n"
    )
    monkeypatch.syspath_prepend(str(folder))
    remote = "  backends: {gpu: {type: ssh, host: h}}\n  backend: gpu\n"
    assert findings(AUTO + "    trainer: spans\n" + remote) == [
        "error: config.yaml:13: model_training.auto_retrain.schemas[0]:"
        " trainer `spans` takes `span`, and `sentiment` is nominal",
        "error: config.yaml:16: model_training.backend: trainer `spans` cannot run on `gpu`, which is of type ssh",
    ]
