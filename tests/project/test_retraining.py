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
