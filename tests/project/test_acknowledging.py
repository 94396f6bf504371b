"""Warnings that the project says it knows."""

from __future__ import annotations

from pathlib import Path

import pytest

from potato.project.acknowledging import acknowledge
from potato.project.loading import load
from project_texts import SLURM, training

TIME = "model_training.backends.cluster.time is"


@pytest.fixture
def judged(folder: Path):
    def write_and_judge(*entries: str, extra: str = "") -> list[str]:
        text = training(SLURM, "      time: 12:00:00", SLURM.replace("cluster", "other"), "      time: 1-0")
        block = "validation:\n  acknowledge:\n" + "".join(f"    - {entry}\n" for entry in entries) if entries else ""
        (folder / "config.yaml").write_text(text + block + extra)
        loaded = load(Path("config.yaml"))
        assert loaded.draft is not None
        found = acknowledge(loaded.findings, loaded.draft)
        return [f"{f.severity.value} {f.line} {f.message}"[:70] for f in found]

    return write_and_judge


def test_without_entries_every_warning_counts(judged):
    assert [line.split()[0] for line in judged()] == ["warning", "warning"]


def test_an_entry_that_names_the_backend_acknowledges_for_it_only(judged):
    found = judged(f'"{TIME}"')
    assert found[0].startswith(f"acknowledged 15 {TIME} 12:00:00.")
    assert found[1].startswith("warning 20 model_training.backends.other.time is 1-0.")


def test_an_entry_for_all_of_a_kind(judged):
    assert [line.split()[0] for line in judged('"long on a shared cluster"')] == ["acknowledged"] * 2


def test_an_entry_is_case_sensitive_and_matches_nothing_otherwise(judged):
    assert (
        judged('"Model_Training.backends"')[-1]
        == ("warning 23 validation.acknowledge[0] matches no warning: 'Model_Training.backends'"[:70])
    )


def test_a_short_entry_is_a_warning_and_acknowledges_nothing(judged):
    found = judged('"cluster.tim"')
    assert [line.split()[0] for line in found] == ["warning"] * 3
    assert found[-1] == "warning 23 validation.acknowledge[0] has 11 characters; an entry needs at least 12"[:70]


def test_twelve_characters_are_enough(judged):
    assert [line.split()[0] for line in judged('"cluster.time"')] == ["acknowledged", "warning"]


def test_a_warning_about_an_entry_cannot_be_acknowledged(judged):
    found = judged('"short"', '"validation.acknowledge"', '"matches no warning"')
    assert [line.split()[0] for line in found] == ["warning"] * 5


def test_an_error_cannot_be_acknowledged(judged):
    found = judged('"unknown key `zzz`"', extra="zzz: 1\n")
    assert "error 24 unknown key `zzz`" in found
