"""`potato validate` as people and scripts call it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from potato.cli import build
from project_texts import BASE, SLURM, training

EXAMPLE = """\
annotation_task_name: "Review Sentiment"
task_dir: "."
data_files:
  - "data/reviews.json"
item_properties:
  id_key: "id"
  text_key: "text"
output_annotation_dir: "annotation_output"
admin_api_key: "change-me"

annotation_schemes:
  - annotation_type: "radio"
    name: "sentiment"
    description: "Is this review positive or negative?"
    labels: ["positive", "negative"]

model_training:
  enabled: true
  backend: gpu-server        # the default for runs; leave out to keep runs local
  max_wall_seconds: 3600
  writeback:
    schemas: ["sentiment"]
    include_unlabeled: true
    min_confidence: 0.6
  backends:
    gpu-server:
      type: ssh
      host: gpu.example.org
      python: /opt/conda/bin/python3
      gpus: auto
      min_free_gpu_mb: 4000
    cluster:
      type: slurm
      host: login.cluster.example.org
      python: /opt/conda/bin/python3
      job_python: /shared/envs/train/bin/python
      remote_dir: /shared/projects/me/potato-training
      gres: gpu:1
      time: "04:00:00"
      prelude: ["module load cuda/12.4"]
    lab-workstation:
      type: agent
      queue_timeout_s: 3600
"""
"""The project file that the specification promises to work as it stands."""

LONG = training(SLURM, "      time: 12:00:00")
WARNING = (
    "model_training.backends.cluster.time is 12:00:00. A job that holds a GPU for more than 6 hours is long on a shared"
    " cluster; check its policy"
)
KNOWN = 'validation: {acknowledge: ["model_training.backends.cluster.time is"]}\n'


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "reviews.json").write_text('[{"id": "1", "text": "good"}, {"id": "2", "text": "bad"}]')
    monkeypatch.chdir(tmp_path)
    return tmp_path


def validate(text: str, *options: str) -> Result:
    Path("config.yaml").write_text(text, encoding="utf-8")
    return CliRunner().invoke(build(), ["validate", "config.yaml", *options])


@pytest.mark.usefixtures("folder")
class TestValidate:
    def test_the_example_passes_strictly_without_a_finding(self):
        result = validate(EXAMPLE, "--strict")
        assert (result.exit_code, result.stdout) == (0, "config.yaml: no findings\n")

    def test_an_error_fails(self):
        result = validate(BASE + "zzz: 1\n")
        assert result.exit_code == 1
        assert result.stdout == "error: config.yaml:9: zzz: unknown key `zzz`\nconfig.yaml: 1 error\n"

    def test_a_warning_fails_only_strictly(self):
        assert validate(LONG).exit_code == 0
        result = validate(LONG, "--strict")
        assert result.exit_code == 1
        assert result.stdout == f"warning: config.yaml:15: {WARNING}\nconfig.yaml: 1 warning\n"

    def test_an_acknowledged_warning_does_not_fail(self):
        result = validate(LONG + KNOWN, "--strict")
        assert result.exit_code == 0
        assert result.stdout == f"acknowledged: config.yaml:15: {WARNING}\nconfig.yaml: 1 acknowledged\n"

    def test_an_entry_that_matches_nothing_fails_strictly(self):
        assert validate(BASE + KNOWN).exit_code == 0
        assert validate(BASE + KNOWN, "--strict").exit_code == 1

    def test_broken_yaml_is_a_finding(self):
        result = validate("a: b: c\n")
        assert result.exit_code == 1
        assert result.stdout.startswith("error: config.yaml:1: not valid YAML at column 5: ")

    @pytest.mark.parametrize("name", ["nope.yaml", "data"])
    def test_a_file_that_cannot_be_read(self, name):
        result = CliRunner().invoke(build(), ["validate", name])
        assert (result.exit_code, result.stdout) == (2, "")
        assert result.stderr.startswith(f"potato: {name} cannot be read: ")

    def test_findings_of_the_data_files_have_file_and_line(self):
        Path("data/reviews.jsonl").write_text(
            '{"id": "1", "text": "a"}\n{"id": "2", "text": \n{"id": "1", "text": "b"}\n'
        )
        result = validate(BASE.replace("reviews.json", "reviews.jsonl"))
        assert result.exit_code == 1
        lines = result.stdout.splitlines()
        assert [line.split(": ")[:2] for line in lines[:-1]] == [
            ["error", "data/reviews.jsonl:2"],
            ["error", "data/reviews.jsonl:3"],
        ]

    def test_one_id_with_two_contents_names_both_places(self):
        Path("data/reviews.json").write_text('{"id": "1", "text": "a"}\n{"id": "1", "text": "b"}\n')
        result = validate(BASE)
        assert result.exit_code == 1
        assert "data/reviews.json:1" in result.stdout
        assert "data/reviews.json:2" in result.stdout

    def test_data_files_are_looked_into_beside_other_errors(self):
        Path("data/reviews.json").write_text('{"id": "1"}\n')
        result = validate(BASE.replace('["data/reviews.json"]', "[data/reviews.json, data/more.csv]") + "zzz: 1\n")
        assert [line.split(":")[1] for line in result.stdout.splitlines()[:3]] == [
            " config.yaml",
            " config.yaml",
            " data/reviews.json",
        ]
        assert result.stdout.count("data/more.csv") == 1

    def test_nothing_is_written(self, folder):
        before = sorted(folder.rglob("*"))
        validate(EXAMPLE)
        assert sorted(folder.rglob("*")) == sorted([*before, folder / "config.yaml"])

    def test_a_corpus_whose_predictions_pass_the_limit(self):
        text = EXAMPLE.replace("  max_wall_seconds: 3600", "  max_predictions_mb: 1")
        rows = "".join(f'{{"id": "{number}", "text": "x"}}\n' for number in range(10_000))
        Path("data/reviews.json").write_text(rows)
        result = validate(text, "--strict")
        assert result.exit_code == 1
        assert "config.yaml:23: model_training.writeback.include_unlabeled is true over 10,000 items" in result.stdout

    def test_json(self):
        text = LONG + 'validation: {acknowledge: ["cluster.time is"]}\nzzz: 1\ndebug: true\n'
        result = validate(text, "--json")
        body = json.loads(result.stdout)
        assert result.exit_code == 1
        assert (body["file"], body["ok"]) == ("config.yaml", False)
        unknown = {"file": "config.yaml", "line": 17, "key": "zzz", "message": "unknown key `zzz`"}
        assert body["errors"] == [unknown]
        assert [(found["line"], found["key"]) for found in body["warnings"]] == [(18, "debug")]
        time = {"file": "config.yaml", "line": 15, "key": "model_training.backends.cluster.time", "message": WARNING}
        assert body["acknowledged"] == [time]

    def test_json_of_a_project_without_findings(self):
        body = json.loads(validate(EXAMPLE, "--json", "--strict").stdout)
        assert body == {"file": "config.yaml", "ok": True, "errors": [], "warnings": [], "acknowledged": []}

    def test_json_of_a_file_that_cannot_be_read(self):
        result = CliRunner().invoke(build(), ["validate", "nope.yaml", "--json"])
        assert result.exit_code == 2
        assert json.loads(result.stdout) == {
            "ok": False,
            "error": "nope.yaml cannot be read: no such file or directory",
            "code": "unreadable_project",
        }

    def test_ok_in_json_follows_strict(self):
        assert json.loads(validate(LONG, "--json").stdout)["ok"] is True
        assert json.loads(validate(LONG, "--json", "--strict").stdout)["ok"] is False


def test_the_installed_command_under_a_plain_locale(folder):
    """Exit codes and odd characters as a shell script meets them."""
    (folder / "config.yaml").write_text(BASE + "größe: ☃\n", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "potato", "validate", "config.yaml"],
        env={**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        capture_output=True,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    assert done.stderr == b""
    assert done.stdout.startswith(b"error: config.yaml:9: gr")


def test_schema_is_json_that_knows_the_keys():
    result = CliRunner().invoke(build(), ["schema"])
    assert result.exit_code == 0
    assert "annotation_schemes" in json.loads(result.stdout)["properties"]
