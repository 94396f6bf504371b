"""The settings of a slurm job: from the project file, or from a file of an agent's."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from potato.project.backends import SlurmBackend, _ReachedBySsh
from potato.training.agent.slurm.settings import KEYS, SettingsError, parse, read_file, recall


def test_the_keys_are_those_of_the_project_file() -> None:
    own = set(SlurmBackend.model_fields) - set(_ReachedBySsh.model_fields) - {"type", "remote_dir"}
    assert set(KEYS) == own


def test_keys_become_flags_and_further_ones_follow() -> None:
    settings = parse(
        {"partition": "gpu", "gres": "gpu:1", "time": "1:00:00", "cpus_per_task": 4, "sbatch_args": ["-x", "n9"]}
    )
    assert settings.asked == ("--partition=gpu", "--gres=gpu:1", "--time=1:00:00", "--cpus-per-task=4", "-x", "n9")
    assert recall(json.loads(json.dumps(settings.as_json()))) == settings


@pytest.mark.parametrize(
    ("raw", "gpus"),
    [
        ({}, False),
        ({"partition": "gpu"}, False),
        ({"gres": "gpu:1"}, True),
        ({"gpus_per_node": "1"}, True),
        ({"sbatch_args": ["--gpus=1"]}, True),
        ({"sbatch_args": ["-G", "1"]}, True),
        ({"sbatch_args": ["--gpu-bind=none"]}, False),
    ],
)
def test_whether_gpus_are_asked_for(raw: dict[str, Any], gpus: bool) -> None:
    assert parse(raw).asks_for_gpus is gpus


@pytest.mark.parametrize(
    ("args", "cluster"), [([], ""), (["-M", "hpc"], "hpc"), (["--clusters=hpc"], "hpc"), (["-Mhpc"], "hpc")]
)
def test_the_cluster_is_known_from_the_flags(args: list[str], cluster: str) -> None:
    assert parse({"sbatch_args": args}).clusters == cluster


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        ({"partition": ["gpu"]}, "the slurm setting partition must be text on one line"),
        ({"partition": "a\nb"}, "partition must be text on one line"),
        ({"poll_interval_s": 0}, "poll_interval_s must be a number of seconds above 0"),
        ({"poll_interval_s": True}, "poll_interval_s must be a number of seconds above 0"),
        ({"prelude": "module load x"}, "prelude must be a list of lines"),
        ({"sbatch_args": ["--array=1-9"]}, "sbatch_args cannot hold --array=1-9"),
        ({"sbatch_args": ["-W"]}, "sbatch_args cannot hold -W"),
        ({"sbatch_args": ["--test-only"]}, "sbatch_args cannot hold --test-only"),
        ({"partitoin": "gpu"}, "the slurm settings have no key partitoin; there are partition, account"),
    ],
)
def test_what_cannot_be_used_is_said_in_one_sentence(raw: dict[str, Any], words: str, tmp_path: Path) -> None:
    file = tmp_path / "slurm.json"
    file.write_text(json.dumps(raw), "utf-8")
    with pytest.raises(SettingsError) as caught:
        read_file(str(file))
    assert words in str(caught.value)


def test_a_file_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="cannot be read: No such file"):
        read_file(str(tmp_path / "none.json"))
    (tmp_path / "odd.json").write_text("{", "utf-8")
    with pytest.raises(SettingsError, match="are not JSON"):
        read_file(str(tmp_path / "odd.json"))
    (tmp_path / "list.json").write_text("[]", "utf-8")
    with pytest.raises(SettingsError, match="are not a JSON object"):
        read_file(str(tmp_path / "list.json"))
