"""What works, and is likely not what was meant: the exact text, and the line."""

from __future__ import annotations

from pathlib import Path

import pytest

from potato.project import slurm_time
from potato.project.loading import load, load_or_raise, warnings
from project_texts import BASE, SLURM, SSH, training

WRITEBACK = BASE + "model_training:\n  enabled: true\n  writeback:\n"
"""What a test appends begins on line 12."""


def long(time: str) -> str:
    return (
        f"warning: config.yaml:15: model_training.backends.cluster.time is {time}. A job that holds a GPU for more than"
        " 6 hours is long on a shared cluster; check its policy"
    )


@pytest.mark.parametrize(
    "time",
    ["12:00:00", "361", "360:01", "6:00:01", "06:00:01", "0-7", "1-0", "0-6:01", "0-06:00:01", "7-00:00:00", "0"],
)
def test_a_job_of_more_than_six_hours(time, findings):
    assert findings(training(SLURM, f"      time: {time}")) == [long(time)]


@pytest.mark.parametrize("time", ["06:00:00", "6:0:0", "360", "360:00", "0-6", "0-6:0", "0-06:00:00", "04:00:00"])
def test_a_job_of_six_hours_or_less(time, findings):
    assert findings(training(SLURM, f"      time: {time}")) == []


@pytest.mark.parametrize("time", ["soon", "12h", "1:2:3:4", "1-", "-1", "1-2-3", ":30", "1.5", "UNLIMITED", "٤٥"])
def test_a_time_in_no_form_of_slurm(time, findings):
    forms = "`minutes`, `minutes:seconds`, `hours:minutes:seconds`, `days-hours`, `days-hours:minutes`"
    assert findings(training(SLURM, f"      time: {time}")) == [
        f"error: config.yaml:15: model_training.backends.cluster.time:"
        f" must be {forms} or `days-hours:minutes:seconds`, not `{time}`"
    ]


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("5", 300), ("5:30", 330), ("1:2:3", 3723), ("2-3", 183_600), ("2-3:4", 183_840), ("2-3:4:5", 183_845)],
)
def test_the_forms_of_a_time(text, seconds):
    assert slurm_time.seconds(text) == seconds


def test_a_figure_that_models_are_judged_by(findings):
    """annotation 52: what the gates go by is configurable, and a wrong name of it is told."""
    block = BASE + "model_training:\n  enabled: true\n  metrics:\n    "
    assert findings(block + "sentiment: accuracy\n") == []
    start = "error: config.yaml:12: model_training.metrics"
    assert findings(block + "sentimnt: accuracy\n") == [
        f"{start}.sentimnt: there is no annotation scheme `sentimnt`; did you mean `sentiment`?"
    ]
    assert findings(block + "sentiment: f1\n") == [
        f"{start}.sentiment: models of `sentiment` are judged by `macro_f1`, `accuracy` or `kappa`, not by `f1`"
    ]


def test_a_time_belongs_to_slurm_alone(findings):
    (found,) = findings(training(SSH, "      time: 12:00:00"))
    assert found.startswith("error: config.yaml:14: model_training.backends.gpu.time: unknown key `time`")


def test_debug_beside_a_machine_reached_by_ssh(findings):
    for backend, name in ((SSH, "gpu"), (SLURM, "cluster")):
        (found,) = findings(training(backend, "debug: true"))
        assert found == (
            f"warning: config.yaml:{11 + len(backend.splitlines())}: debug is true beside the backend {name}. Requests"
            " from this machine then have admin rights; leave it off where runs go to machines that others use"
        )
    assert findings(training("    lab:", "      type: agent", "debug: true")) == []


def test_min_confidence_without_schemas(findings):
    assert findings(WRITEBACK + "    min_confidence: 0.6\n") == [
        "warning: config.yaml:12: model_training.writeback.min_confidence has no effect without writeback.schemas:"
        " no prediction is shown"
    ]


def test_schemas_without_include_unlabeled(findings):
    assert findings(WRITEBACK + "    schemas: [sentiment]\n") == [
        "warning: config.yaml:12: model_training.writeback.schemas has no effect without include_unlabeled: true."
        " Suggestions go to unlabelled items, and none is predicted"
    ]


def test_a_score_that_cannot_be_reached(findings):
    text = "    schemas: [sentiment]\n    include_unlabeled: true\n    min_score: 0.5\n"
    text += "  splits: {train: 0.8, val: 0.2, test: 0}\n"
    assert findings(WRITEBACK + text) == [
        "warning: config.yaml:14: model_training.writeback.min_score can never be reached: splits.test is 0,"
        " so there is no held-out score"
    ]


def test_every_suggestion_hidden(findings):
    text = "    schemas: [sentiment]\n    include_unlabeled: true\n    hide_share: 1\n"
    assert findings(WRITEBACK + text) == [
        "warning: config.yaml:14: model_training.writeback.hide_share is 1, so every suggestion is hidden"
    ]


def test_a_variable_that_nobody_expands(findings):
    text = training("    cluster:", "      type: slurm", "      host: h", "      remote_dir: /scratch/$USER/potato")
    assert findings(text) == [
        "warning: config.yaml:14: model_training.backends.cluster.remote_dir is /scratch/$USER/potato."
        " No shell reads it, so `$` stays as it is; write the folder out"
    ]


def test_retraining_that_never_starts(findings):
    assert findings(BASE + "model_training:\n  auto_retrain:\n    enabled: true\n    schemas:\n") == [
        "warning: config.yaml:11: model_training.auto_retrain.enabled has no effect while model_training.enabled is"
        " false",
        "warning: config.yaml:12: model_training.auto_retrain.schemas is empty, so no run is ever started",
    ]


def test_a_data_file_named_twice(findings):
    text = BASE.replace('["data/reviews.json"]', '\n- "data/reviews.json"\n- ./data/reviews.json\n- data/reviews.json')
    assert findings(text) == [
        "warning: config.yaml:4: data_files[1] is ./data/reviews.json, which is listed above already",
        "warning: config.yaml:5: data_files[2] is data/reviews.json, which is listed above already",
    ]


def test_a_strategy_that_no_model_feeds(findings):
    assert findings(BASE + "assignment_strategy: uncertainty\n") == [
        "warning: config.yaml:9: assignment_strategy is uncertainty, and without model_training.enabled: true and "
        "writeback.schemas and writeback.include_unlabeled: true no model says what it is unsure of: "
        "items come at random"
    ]


def test_a_proxy_that_may_be_anyone(findings):
    assert findings(BASE + 'login: {type: header, trusted_proxies: ["10.0.0.0/8", "0.0.0.0/0"]}\n') == [
        "warning: config.yaml:9: login.trusted_proxies[1] is 0.0.0.0/0, which is every address there is: anyone can "
        "sign in as anyone"
    ]
    assert findings(BASE + 'login: {type: name, trusted_proxies: ["0.0.0.0/0"]}\n') == []


@pytest.fixture
def config(folder: Path) -> Path:
    (folder / "config.yaml").write_text(BASE)
    return Path("config.yaml")


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.7", "annotate.example.org"])
def test_the_example_key_where_others_reach_the_server(host, config):
    told = f"config.yaml:3: admin_api_key is still change-me while the server listens on {host}, where others reach it"
    assert [str(finding) for finding in warnings(load_or_raise(config), host)] == [told]
    assert [str(finding) for finding in load(config, host=host).findings] == [told]


@pytest.mark.parametrize("host", [None, "127.0.0.1", "127.1.2.3", "::1", "localhost"])
def test_the_example_key_on_loopback_alone(host, config):
    assert warnings(load_or_raise(config), host) == []


def test_another_key_is_no_warning(config):
    config.write_text(BASE.replace("change-me", "k" * 20))
    assert warnings(load_or_raise(config), "0.0.0.0") == []


def test_predictions_that_would_pass_the_limit(config):
    config.write_text(WRITEBACK + "    schemas: [sentiment]\n    include_unlabeled: true\n  max_predictions_mb: 1\n")
    (found,) = warnings(load_or_raise(config), items=1_000_000)
    assert found.line == 13
    assert found.message.startswith(
        "model_training.writeback.include_unlabeled is true over 1,000,000 items, whose predictions take about 1"
    )
    assert found.message.endswith(" MB. More than max_predictions_mb (1) fails the run; raise it")
    assert warnings(load_or_raise(config), items=1_000) == []
    assert warnings(load_or_raise(config)) == []
