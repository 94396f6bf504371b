"""Every error of a project file: its exact text and its line."""

from __future__ import annotations

from pathlib import Path

import pytest

from potato.project.loading import InvalidProject, UnreadableProject, load, load_or_raise
from project_texts import BASE, SLURM, SSH, training

SCHEME = "annotation_schemes[0]"
GPU = "model_training.backends.gpu"
CLUSTER = "model_training.backends.cluster"


def replaced(old: str, new: str) -> str:
    assert old in BASE
    return BASE.replace(old, new)


CASES = {
    "a misspelt key of a backend": (
        training("    gpu: {type: ssh, host: h,", "      pyhton: python3}"),
        [f"12: {GPU}.pyhton: unknown key `pyhton`; did you mean `python`?"],
    ),
    "a misspelt key at the top": (
        BASE + "anotations_per_item: 2\n",
        ["9: anotations_per_item: unknown key `anotations_per_item`; did you mean `annotations_per_item`?"],
    ),
    "a key with a hyphen": (
        BASE + "lease-minutes: 2\n",
        ["9: lease-minutes: unknown key `lease-minutes`; did you mean `lease_minutes`?"],
    ),
    "a key of another block": (
        BASE + "max_wall_seconds: 2\n",
        ["9: max_wall_seconds: unknown key `max_wall_seconds`; did you mean `model_training.max_wall_seconds`?"],
    ),
    "a key that nothing comes near": (BASE + "zzz: 2\n", ["9: zzz: unknown key `zzz`"]),
    "a misspelt key of a scheme": (
        replaced("    labels:", "    labls:"),
        [
            "5: annotation_schemes[0].labels: the required key `labels` is missing",
            "8: annotation_schemes[0].labls: unknown key `labls`; did you mean `labels`?",
        ],
    ),
    "a key of a label": (
        replaced("[positive, negative]", "[{name: positive, colour: red}, negative]"),
        ["8: annotation_schemes[0].labels[0].colour: unknown key `colour`"],
    ),
    "ssh without host": (
        training("    gpu:", "      type: ssh"),
        [f"11: {GPU}.host: the required key `host` is missing"],
    ),
    "slurm without host": (
        training("    cluster:", "      type: slurm", "      remote_dir: /shared/x"),
        [f"11: {CLUSTER}.host: the required key `host` is missing"],
    ),
    "slurm without remote_dir": (
        training("    cluster:", "      type: slurm", "      host: h"),
        [f"11: {CLUSTER}.remote_dir: the required key `remote_dir` is missing"],
    ),
    "packages on slurm": (
        training(SLURM, "      packages: [torch]"),
        [
            f"15: {CLUSTER}.packages: unknown key `packages`; a slurm backend does not take it:"
            " install them into the environment of `job_python`"
        ],
    ),
    "gpus on slurm": (
        training(SLURM, "      gpus: auto"),
        [
            f"15: {CLUSTER}.gpus: unknown key `gpus`; a slurm backend does not take it:"
            " the scheduler chooses the GPU; ask for one with `gres`"
        ],
    ),
    "a slurm key on ssh": (
        training(SSH, "      gres: gpu:1"),
        [f"14: {GPU}.gres: unknown key `gres`; an ssh backend does not take it"],
    ),
    "a fifth key on an agent": (
        training("    lab:", "      type: agent", "      python: python3"),
        [
            "13: model_training.backends.lab.python: unknown key `python`; an agent backend does not take it:"
            " it takes `type`, `description`, `heartbeat_timeout_s` or `queue_timeout_s`"
        ],
    ),
    "a misspelt key on an agent": (
        training("    lab:", "      type: agent", "      queue_timeout: 1"),
        ["13: model_training.backends.lab.queue_timeout: unknown key `queue_timeout`; did you mean `queue_timeout_s`?"],
    ),
    "a backend without type": (
        training("    gpu:", "      host: h"),
        [f"11: {GPU}: the required key `type` is missing; it is `ssh`, `slurm` or `agent`"],
    ),
    "a backend of an unknown type": (
        training("    gpu:", "      type: shh", "      host: h"),
        [f"12: {GPU}.type: must be `ssh`, `slurm` or `agent`, not `shh`; did you mean `ssh`?"],
    ),
    "a backend that is no mapping": (
        training("    gpu: gpu.example.org"),
        [f"11: {GPU}: must be a mapping of keys, not `gpu.example.org`"],
    ),
    "a backend named local": (
        training("    local:", "      type: agent"),
        [
            "11: model_training.backends.local: `local` is reserved for runs on this machine;"
            " give the backend another name"
        ],
    ),
    "a backend's name with a space": (
        training("    my gpu:", "      type: agent"),
        [
            "11: model_training.backends.my gpu: a backend's name is made of letters, digits, `-`, `_` and `.`,"
            " not `my gpu`"
        ],
    ),
    "a backend named ..": (
        training("    ..:", "      type: agent"),
        ["11: model_training.backends...: a backend's name is made of letters, digits, `-`, `_` and `.`, not `..`"],
    ),
    "a default backend that is not there": (
        training(SSH, "  backend: gpuu"),
        ["14: model_training.backend: there is no backend `gpuu` under `model_training.backends`; did you mean `gpu`?"],
    ),
    "a backend for retraining that is not there": (
        BASE + "model_training:\n  auto_retrain:\n    backend: nowhere\n",
        ["11: model_training.auto_retrain.backend: there is no backend `nowhere` under `model_training.backends`"],
    ),
    "write-back of an unknown scheme": (
        BASE + "model_training:\n  writeback:\n    include_unlabeled: true\n    schemas: [sentiment, sentimnet]\n",
        [
            "12: model_training.writeback.schemas[1]: there is no annotation scheme `sentimnet`;"
            " did you mean `sentiment`?"
        ],
    ),
    "retraining of an unknown scheme": (
        BASE + "model_training:\n  enabled: true\n  auto_retrain:\n    schemas:\n    - topic\n",
        ["13: model_training.auto_retrain.schemas[0]: there is no annotation scheme `topic`"],
    ),
    "two schemes of one name": (
        BASE + "  - {annotation_type: likert, name: sentiment, description: How?}\n",
        [
            "9: annotation_schemes[1].name: annotation_schemes[0] is named `sentiment` too;"
            " each scheme has a name of its own"
        ],
    ),
    "an unknown scheme type": (
        replaced("radio", "raido"),
        [
            "5: annotation_schemes[0].annotation_type: must be `radio`, `multiselect`, `likert`, `slider`, `number`, "
            "`span`, `pairwise` or `text`, not `raido`;"
            " did you mean `radio`?"
        ],
    ),
    "a data file that is not there": (
        replaced("data/reviews.json", "data/reveiws.json"),
        ["2: data_files[0]: there is no such file: {folder}/data/reveiws.json"],
    ),
    "a data file that is a folder": (
        replaced("data/reviews.json", "data"),
        ["2: data_files[0]: is a folder, not a data file: {folder}/data"],
    ),
    "a task_dir that is not there": (
        BASE + "task_dir: elsewhere\n",
        ["9: task_dir: there is no folder {folder}/elsewhere"],
    ),
    "guidelines that are not there": (
        BASE + "guidelines: how.md\n",
        ["9: guidelines: there is no such file: {folder}/how.md"],
    ),
    "an output folder that is a file": (
        BASE + "output_annotation_dir: data/reviews.json\n",
        ["9: output_annotation_dir: is a file, not a folder: {folder}/data/reviews.json"],
    ),
    "required keys that are missing": (
        "debug: false\n",
        [
            "1: annotation_task_name: the required key `annotation_task_name` is missing",
            "1: data_files: the required key `data_files` is missing",
            "1: annotation_schemes: the required key `annotation_schemes` is missing",
        ],
    ),
    "splits that do not add up": (
        BASE + "model_training:\n  splits: {train: 0.7, val: 0.2, test: 0.2}\n",
        ["10: model_training.splits: train, val and test must add up to 1, not to 1.1"],
    ),
    "a proxy that is no address": (
        BASE + "login: {type: header, trusted_proxies: [proxy.example.org]}\n",
        ["9: login.trusted_proxies: is no address or network: proxy.example.org"],
    ),
    "an environment variable's name": (
        training(SSH, "      env: {A-B: 1}"),
        [f"14: {GPU}.env.A-B: `A-B` cannot be the name of an environment variable"],
    ),
    "a host that ssh would take for an option": (
        training("    gpu:", "      type: ssh", "      host: -oProxyCommand=x"),
        [f"13: {GPU}.host: must be one word that does not begin with `-`, not `-oProxyCommand=x`"],
    ),
    "an interpreter with a line break": (
        training(SSH, '      python: "a\\nb"'),
        [f"14: {GPU}.python: must stand on one line, without control characters: `a b`"],
    ),
    "gpus that are no indices": (
        training(SSH, "      gpus: first"),
        [f"14: {GPU}.gpus: must be `auto`, `none` or indices such as `1` or `0,1`, not `first`"],
    ),
    "gpus as a list": (
        training(SSH, "      gpus: [0, 1]"),
        [f"14: {GPU}.gpus: must be text, not a list"],
    ),
    "gpus between braces": (
        training("    gpu: {type: ssh, host: h, gpus: 0,1}"),
        [f"11: {GPU}.1: unknown key `1`; between braces a comma ends a value, so put what holds a comma into quotes"],
    ),
    "a device": (
        BASE + "model_training:\n  device: gpu\n",
        ["10: model_training.device: must be `auto`, `cpu`, `cuda`, `cuda:N` or `mps`, not `gpu`"],
    ),
    "a webhook's address": (
        BASE + "model_training:\n  webhooks: [{url: 'ftp://x'}]\n",
        ["10: model_training.webhooks[0].url: must be an address that begins with http:// or https://"],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_an_error_names_line_key_and_what_is_wrong(name, findings, folder):
    text, wanted = CASES[name]
    assert findings(text) == [f"error: config.yaml:{line.format(folder=folder)}" for line in wanted]


VALUES = {
    "enabled: maybe": "must be true or false, not `maybe`",
    "enabled: 1": "must be true or false, not `1`",
    "enabled:": "has no value; it must be true or false",
    "retain_runs: five": "must be a whole number, not `five`",
    "retain_runs: 1.5": "must be a whole number, not `1.5`",
    "retain_runs: -1": "must be at least 0, not `-1`",
    "retain_runs: [1]": "must be a whole number, not a list",
    "retain_runs: {a: 1}": "must be a whole number, not a mapping",
    "max_wall_seconds: 0": "must be more than 0, not `0.0`",
    "max_wall_seconds: an hour": "must be a number, not `an hour`",
    "max_wall_seconds: .inf": "must be a number, not `.inf`",
    "max_wall_seconds: 1e999": "must be a number, not `1e999`",
    "max_wall_seconds: 3_600": "must be a number, not `3_600`",
    "max_predictions_mb: 99999999999999999999": "must be a whole number, not `99999999999999999999`",
    "aggregation: mean": "must be `consensus` or `majority`, not `mean`",
    "aggregation: concensus": "must be `consensus` or `majority`, not `concensus`; did you mean `consensus`?",
    "backend: ''": "must not be empty",
    "backend: null": "has no value; it must be text",
    "backends: gpu": "must be a mapping of keys, not `gpu`",
    "webhooks: a": "must be a list, not `a`; for one entry write [a]",
    "webhooks: {a: 1}": "must be a list, not a mapping",
    "splits: []": "must be a mapping of keys, not a list",
}


@pytest.mark.parametrize("line", VALUES)
def test_a_value_of_the_wrong_type_or_out_of_range(line, findings):
    key = line.partition(":")[0]
    found = findings(BASE + f"model_training:\n  {line}\n")
    assert found == [f"error: config.yaml:10: model_training.{key}: {VALUES[line]}"]


def test_a_port_out_of_range(findings):
    assert findings(training(SSH, "      port: 65536")) == [
        f"error: config.yaml:14: {GPU}.port: must be at most 65535, not `65536`"
    ]


@pytest.mark.parametrize(
    "where",
    [
        "/tmp",
        "/tmp/x",
        "//tmp//x",
        "/var/tmp/x",
        "/shared/../tmp/x",
        "/./var//tmp/",
        "~/../../tmp/x",
        "~me/../../var/tmp",
        "../../tmp/x",
    ],
)
def test_a_remote_dir_that_nodes_do_not_share(where, findings):
    text = training("    cluster:", "      type: slurm", "      host: h", f"      remote_dir: {where}")
    told = f"is under /tmp or /var/tmp, which login and compute nodes do not share: `{where}`"
    assert findings(text) == [f"error: config.yaml:14: {CLUSTER}.remote_dir: {told}"]


@pytest.mark.parametrize("where", ["/tmpfs/x", "/shared/tmp", "~/tmp", "tmp/x", "/var/tmp2", "/tmp/../shared/x", "'~'"])
def test_a_remote_dir_that_only_looks_like_tmp(where, findings):
    assert not findings(training("    cluster:", "      type: slurm", "      host: h", f"      remote_dir: {where}"))


def test_an_ssh_backend_may_work_under_tmp(findings):
    assert not findings(training(SSH, "      remote_dir: /tmp/x"))


def test_all_findings_come_at_once_in_the_order_of_the_file(findings):
    text = training(
        "    gpu: {type: ssh, pyhton: python3}",
        "    cluster: {type: slurm, host: h, time: soon}",
        "    local: {type: agent}",
        "    lab: {type: ag}",
        "  backend: nowhere",
        "  retain_runs: many",
        "  writeback: {schemas: [topic], min_confidence: 2}",
    ).replace("labels: [positive, negative]", "labels: [positive, positive]")
    keys = [finding.split(": ")[2] for finding in findings(text) if finding.startswith("error")]
    assert keys == [
        "annotation_schemes[0].labels[1]",
        f"{GPU}.pyhton",
        f"{GPU}.host",
        f"{CLUSTER}.remote_dir",
        f"{CLUSTER}.time",
        "model_training.backends.local",
        "model_training.backends.lab.type",
        "model_training.backend",
        "model_training.retain_runs",
        "model_training.writeback.min_confidence",
        "model_training.writeback.schemas[0]",
    ]


def test_an_error_does_not_hide_a_warning(findings):
    found = findings(training("    cluster: {type: slurm, host: h, time: 12:00:00}"))
    assert [line.split(":")[0] for line in found] == ["error", "warning"]


def test_what_names_a_broken_thing_is_not_an_error_too(findings):
    """A scheme or backend with an error of its own still is the one that others speak of."""
    text = training(
        "    gpu: {type: shh}", "  backend: gpu", "  writeback: {schemas: [sentiment], include_unlabeled: on}"
    )
    assert len(findings(text.replace("radio", "raido"))) == 2


def test_no_secret_is_printed(findings):
    text = (
        replaced('"change-me"', "[s3cret]")
        + "database_url: {s3cret: 1}\nmodel_training:\n  webhooks: [{secret: [s3cret]}]\n"
    )
    assert len(findings(text)) >= 3
    assert "s3cret" not in "".join(line for line in findings(text) if "unknown key" not in line)


@pytest.mark.parametrize("scheme", ["postgresql", "postgres"])
def test_a_database_is_one_of_postgresql(findings, scheme):
    assert findings(BASE + f"database_url: {scheme}://u:s3cret@db.example.org/reviews\n") == []
    (found,) = findings(BASE + "database_url: mysql://u:s3cret@db.example.org/reviews\n")
    assert "database_url" in found and "is no address of a PostgreSQL database" in found
    assert "s3cret" not in found


def test_a_long_value_is_cut(findings):
    (found,) = findings(BASE + "model_training:\n  aggregation: " + "x" * 5000 + "\n")
    assert len(found) < 250


def test_a_project_is_what_the_file_says(folder):
    (folder / "config.yaml").write_text(training(SSH, "  backend: gpu"))
    project = load(Path("config.yaml")).project
    assert project is not None
    assert project.file == folder / "config.yaml"
    assert project.data_files == [folder / "data" / "reviews.json"]
    assert project.config.model_training.backend == "gpu"


def test_load_or_raise_tells_all_errors_in_one(folder):
    (folder / "config.yaml").write_text(BASE + "a1: 1\nb2: 2\n")
    with pytest.raises(InvalidProject) as raised:
        load_or_raise(Path("config.yaml"))
    assert raised.value.message.splitlines() == [
        "config.yaml has 2 errors",
        "config.yaml:9: a1: unknown key `a1`",
        "config.yaml:10: b2: unknown key `b2`",
    ]


def test_load_or_raise_does_not_need_the_data_files(folder):
    (folder / "config.yaml").write_text(BASE)
    (folder / "data" / "reviews.json").unlink()
    assert load_or_raise(Path("config.yaml")).schemes.keys() == {"sentiment"}


def test_a_file_that_cannot_be_read(folder):
    with pytest.raises(UnreadableProject, match=r"^nope\.yaml cannot be read: no such file or directory$"):
        load(Path("nope.yaml"))
    with pytest.raises(UnreadableProject, match=r"^data cannot be read: is a directory$"):
        load(Path("data"))


def test_paths_start_from_task_dir_and_task_dir_from_the_file(folder, monkeypatch):
    (folder / "set").mkdir()
    (folder / "set" / "config.yaml").write_text(BASE + "task_dir: ..\n")
    monkeypatch.chdir("/")
    loaded = load(folder / "set" / "config.yaml")
    assert loaded.project is not None, loaded.findings
    assert loaded.project.task_dir == folder
