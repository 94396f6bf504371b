"""Runs on a host by ssh, on real reviews: the same as on this machine, and no trace is left."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from conftest import minilm_folder
from lab import Lab, use_fakes
from potato.store.training.runs import Run, State
from raters import majority
from ssh_scene import REMOTE_DIR, Scene, in_tmp, jobs_there, scene, settings, ssh_lab
from sshd import ALIAS, Client, Host


@pytest.fixture
def labelled(reviews: Path, tmp_path: Path, host: Host, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Lab]:
    """Makes a lab of the first reviews, labelled with the signs that most of five raters gave them."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")

    def make(most: int | None = None) -> Lab:
        rows = [json.loads(line) for line in (reviews / "reviews.jsonl").read_text("utf-8").splitlines()][:most]
        backend = settings(host, num_threads=1, env={"HF_HUB_OFFLINE": "1"})
        writeback = {"schemas": ["sentiment"]}
        return ssh_lab(tmp_path / "lab", {ALIAS: backend}, rows, majority(reviews), writeback=writeback)

    return make


def both(lab: Scene, host: Host, trainer: str, **params: Any) -> Run:
    """The same run here and there, with the same scores and predictions; the one there."""
    here = lab.success(lab.submit("local", trainer, **params), 250)
    there = lab.success(lab.submit(ALIAS, trainer, **params), 250)
    assert there.scores == here.scores and there.writeback == here.writeback
    told = [lab.folder(run.run_id).predictions.read_bytes() for run in (here, there)]
    assert told[0] == told[1]
    names = [files(lab.folder(run.run_id).artifacts) for run in (here, there)]
    assert names[0] == names[1] != []
    assert jobs_there(host) == [] and host.there.processes() == {}
    return there


def files(folder: Path) -> list[str]:
    """Every file in a folder, by its path there."""
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


@pytest.mark.computes
def test_sklearn_text_there_is_as_here(labelled: Callable[..., Lab], host: Host) -> None:
    import skops.io

    with scene(labelled()) as lab:
        run = both(lab, host, "sklearn-text")
        pipeline = skops.io.load(lab.folder(run.run_id).artifacts / "1-sentiment" / "model.skops")
        assert pipeline.predict_proba(["A wonderful film, I loved it"]).shape == (1, 2)
        test = run.scores["sentiment"]["test"]
        assert test["n"] > 300 and test["accuracy"] > 0.7
        assert host.log_ins() == 1


@pytest.mark.computes
def test_a_small_network_there_is_as_here(labelled: Callable[..., Lab], host: Host) -> None:
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    with scene(labelled(160)) as lab:
        run = both(lab, host, "hf-text-classification", base_model=minilm_folder(), epochs=1, max_length=32)
        folder = lab.folder(run.run_id).artifacts / "1-sentiment"
        model, tokenizer = (
            AutoModelForSequenceClassification.from_pretrained(folder),
            AutoTokenizer.from_pretrained(folder),
        )
        assert model(**tokenizer("A wonderful film", return_tensors="pt")).logits.shape == (1, 2)


@pytest.fixture
def lab(host: Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lab:
    """A lab with fake trainers and the usual host."""
    use_fakes(monkeypatch)
    wishes: dict[str, dict[str, Any]] = {
        ALIAS: {},
        "keeps": {"keep_remote": True},
        "stays": {"fetch_artifacts": False},
        "small": {"max_artifact_mb": 1},
    }
    return ssh_lab(tmp_path / "lab", {name: settings(host, **wish) for name, wish in wishes.items()})


def there(run: Run, host: Host) -> list[str]:
    """The files in the folder on the host that the run names as its model's."""
    assert run.artifact_uri is not None
    name, _, folder = run.artifact_uri.partition(":")
    assert name and Path(folder).is_absolute()
    return files(host.there.root / folder.lstrip("/"))


def test_nothing_is_left_there_but_the_code_and_the_next_run_uses_it(lab: Lab, host: Host, client: Client) -> None:
    with scene(lab) as made:
        made.success(made.submit())
        (copy,) = (host.home / REMOTE_DIR / "code").iterdir()
        before = copy.stat().st_ino, made.log
        made.success(made.submit())
        assert [path.stat().st_ino for path in copy.parent.iterdir()] == [before[0]]
    assert jobs_there(host) == []
    assert host.there.processes() == {} and client.living() == []
    assert in_tmp(host) == [host.there.folder.name]
    assert host.log_ins() == 2, "one log-in a run"


def test_a_broken_copy_of_the_code_is_not_used(lab: Lab, host: Host) -> None:
    with scene(lab) as made:
        made.success(made.submit())
        (copy,) = (host.home / REMOTE_DIR / "code").iterdir()
        (copy / "potato/training/contract/events.py").write_text("raise SystemExit('broken')\n", "ascii")
        os.truncate(copy / "potato/training/worker/__main__.py", 10)
        made.success(made.submit())


def test_the_log_tells_the_host_s_python_and_the_gpu(lab: Lab) -> None:
    with scene(lab) as made:
        run = made.success(made.submit())
        log = made.log(run.run_id)
        assert "Python 3." in log and "CPU" in log
        assert run.host


def test_a_failed_run_leaves_its_last_words_here_and_nothing_there(lab: Lab, host: Host) -> None:
    with scene(lab) as made:
        run = made.run(does="fail")
        assert run.state is State.ERROR and run.error is not None
        assert run.error["message"] == "the fake was told to fail"
        assert made.folder(run.run_id).agent_log.exists()
    assert jobs_there(host) == []


def test_a_folder_may_be_kept(lab: Lab, host: Host) -> None:
    with scene(lab) as made:
        run = made.success(made.submit("keeps"))
        assert jobs_there(host) == [run.run_id]


def test_models_may_stay_there(lab: Lab, host: Host) -> None:
    with scene(lab) as made:
        run = made.success(made.submit("stays", weights=1))
        assert there(run, host) == ["1-sentiment/model.txt", "1-sentiment/weights-0.bin"]
        assert not made.folder(run.run_id).artifacts.exists()
        made.success(made.submit())
        assert there(run, host) == ["1-sentiment/model.txt", "1-sentiment/weights-0.bin"]


def test_a_file_that_is_too_large_stays_there(lab: Lab, host: Host) -> None:
    with scene(lab) as made:
        run = made.success(made.submit("small", weights=2, weights_mb=2))
        assert files(made.folder(run.run_id).artifacts) == ["1-sentiment/model.txt"]
        assert "1-sentiment/weights-1.bin" in there(run, host)
        log = made.log(run.run_id)
        assert "weights-0.bin" in log and "weights-1.bin" in log and "max_artifact_mb" in log
