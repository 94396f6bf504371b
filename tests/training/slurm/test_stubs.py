"""What only a stand-in for one of SLURM's programs can bring about, in front of the real ones."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from lab import wait_for
from slurm_cluster import PATH, Cluster
from slurm_scene import FAST, Login

Stubs = Callable[[str, str], Path]


def real(name: str) -> str:
    """The path of SLURM's own program."""
    found = shutil.which(name, path=PATH)
    assert found is not None
    return found


@pytest.mark.parametrize(
    "shape",
    [
        'echo "Submitted batch job $id on cluster hpc"',
        'echo "20 jobs are waiting"; echo "$id"',
        'echo "welcome 12"; echo; echo "$id;"',
        "exit 0",
        'echo "sbatch: error: Batch job submission failed: Socket timed out on send/recv operation" >&2; exit 1',
    ],
)
def test_an_answer_of_another_shape_is_looked_up(login: Login, cluster: Cluster, stubs: Stubs, shape: str) -> None:
    """remote 1, 2"""
    stubs("sbatch", f'id=$({real("sbatch")} "$@") || exit 1\n{shape}')
    one = login.submit()
    assert one.ended()["exit_code"] == 0, one.log()
    assert len([name for _, name, *_ in cluster.jobs("all") if one.run_id in name]) == 1


def test_a_cluster_that_sbatch_names_is_asked_further_on(login: Login, stubs: Stubs, tmp_path: Path) -> None:
    """remote 1"""
    stubs("sbatch", f'id=$({real("sbatch")} "$@") && echo "$id;hpc-2"')
    for name in ("squeue", "scontrol"):
        drop = 'for a; do shift; case $a in --clusters=*) echo "$a" >>"$seen";; *) set -- "$@" "$a";; esac; done'
        stubs(name, f'seen={tmp_path}/{name}\n{drop}\nexec {real(name)} "$@"')
    one = login.submit()
    assert one.ended()["exit_code"] == 0
    assert (tmp_path / "squeue").read_text().splitlines()[0] == "--clusters=hpc-2"
    assert any(line.startswith(f"Submitted SLURM job {one.job_id()} on hpc-2") for line in one.log())


def test_a_squeue_that_is_empty_for_a_while_ends_nothing(login: Login, stubs: Stubs, tmp_path: Path) -> None:
    """remote 4"""
    count = f"echo x >>{tmp_path}/asked; n=$(wc -l <{tmp_path}/asked)"
    stubs("squeue", f'{count}\nif [ "$n" -ge 3 ] && [ "$n" -le 5 ]; then exit 0; fi\nexec {real("squeue")} "$@"')
    one = login.submit({"prelude": ["sleep 4"]}, replace(FAST, gone=30))
    assert one.ended()["exit_code"] == 0, one.log()


def test_a_squeue_that_fails_now_and_then_ends_nothing(login: Login, stubs: Stubs, tmp_path: Path) -> None:
    """remote 3"""
    words = "slurm_load_jobs error: Unable to process configuration file"
    count = f"echo x >>{tmp_path}/asked; n=$(wc -l <{tmp_path}/asked)"
    stubs("squeue", f'{count}\nif [ $((n % 3)) != 0 ]; then echo "{words}" >&2; exit 1; fi\nexec {real("squeue")} "$@"')
    one = login.submit({"prelude": ["sleep 3"]})
    assert one.ended()["exit_code"] == 0, one.log()


def test_a_word_that_nobody_knows_means_that_it_goes_on(login: Login, stubs: Stubs) -> None:
    """remote 6"""
    stubs("squeue", f'{real("squeue")} "$@" | sed s/RUNNING/DAYDREAMING/')
    one = login.submit({"prelude": ["sleep 3"]})
    assert one.ended()["exit_code"] == 0
    assert sum("DAYDREAMING is not known here" in line for line in one.log()) == 1


def test_out_of_memory_with_a_whole_record_is_a_success_with_a_warning(login: Login, stubs: Stubs) -> None:
    """remote 11"""
    stubs("squeue", f'{real("squeue")} "$@" | sed s/COMPLETED/OUT_OF_MEMORY/')
    one = login.submit()
    record = one.ended()
    assert record["exit_code"] == 0
    job = one.job_id()
    told = f"SLURM says OUT_OF_MEMORY of job {job}, which left exit code 0, but the worker's result is whole"
    assert record["warnings"] == [told]


def test_out_of_memory_without_a_record_is_the_reason(login: Login, cluster: Cluster, stubs: Stubs) -> None:
    """remote 11"""
    stubs("squeue", f'{real("squeue")} "$@" | sed s/CANCELLED/OUT_OF_MEMORY/')
    one = login.submit(params={"does": "wait"})
    one.says("now fit")
    cluster.run("scancel", str(one.job_id()))
    one.ended()
    assert one.error()["message"].endswith("ended before the worker finished: it ran out of memory")


def test_a_cancel_before_the_id_is_known_is_remembered(login: Login, cluster: Cluster, stubs: Stubs) -> None:
    """remote 13"""
    stubs("sbatch", f'id=$({real("sbatch")} "$@") || exit 1\nsleep 3\necho "$id"')
    one = login.submit(params={"does": "wait"})
    wait_for(lambda: (one.folder / "slurm.json").exists() and cluster.jobs())
    one.cancel()
    assert one.ended()["reason"] == "cancelled"


def test_a_job_that_slurm_forgot_is_judged_by_its_files(login: Login, stubs: Stubs, tmp_path: Path) -> None:
    """remote 5"""
    gone = f'[ -e {tmp_path}/gone ] && exit 0\nexec {real("squeue")} "$@"'
    stubs("squeue", gone)
    stubs("scontrol", f'[ -e {tmp_path}/gone ] && exit 1\nexec {real("scontrol")} "$@"')
    ended, lost = login.submit({"prelude": ["sleep 2"]}), login.submit({"prelude": ["sleep 2; exit 0"]})
    for one in (ended, lost):
        one.says("RUNNING on")
    (tmp_path / "gone").touch()
    assert ended.ended()["exit_code"] == 0
    lost.ended()
    told = "SLURM knows nothing of it any more, and the worker left no final record"
    assert lost.error()["message"] == f"SLURM job {lost.job_id()} ended before the worker finished: {told}"


def test_a_login_node_without_sbatch_says_so(login: Login, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    one = login.submit()
    one.ended()
    assert one.error()["message"].endswith("has no sbatch on PATH, so it cannot submit jobs")


def test_neither_accounting_nor_srun_is_ever_asked_for(
    login: Login, cluster: Cluster, stubs: Stubs, tmp_path: Path
) -> None:
    """remote 17: the cluster has no accounting database, and here not even the programs are of use"""
    assert "AccountingStorageType   = accounting_storage/none" in cluster.run("scontrol", "show", "config")
    for name in ("sacct", "sacctmgr", "srun", "salloc"):
        stubs(name, f"echo {name} >>{tmp_path}/asked; exit 1")
    good, cancelled = login.submit(), login.submit(params={"does": "wait"})
    cancelled.says("now fit")
    cluster.run("scancel", str(cancelled.job_id()))
    assert good.ended()["exit_code"] == 0
    cancelled.ended()
    assert cancelled.error()["message"].endswith("it was cancelled by an scancel from outside Potato")
    assert not (tmp_path / "asked").exists()


def test_variables_for_other_jobs_change_nothing(login: Login, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {
        "SBATCH_PARTITION": "nosuch",
        "SBATCH_HOLD": "1",
        "SLURM_CLUSTERS": "nosuch",
        "SQUEUE_STATES": "PENDING",
        "SQUEUE_FORMAT": "%i",
        "SLURM_JOB_ID": "1",
        "SCANCEL_STATE": "PENDING",
    }.items():
        monkeypatch.setenv(name, value)
    one = login.submit({"prelude": ['env | grep -E "^(SBATCH|SQUEUE|SCANCEL)_" && exit 3']})
    assert one.ended()["exit_code"] == 0, one.log()


def test_gpus_are_those_that_the_scheduler_grants(
    login: Login, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,1,2,3")
    seen = ['echo "GPUs: ${CUDA_VISIBLE_DEVICES-unset}." >"$potato_folder/gpus"']
    one, two, none = (
        login.submit({**asked, "prelude": seen}) for asked in ({"gres": "gpu:1"}, {"gpus_per_node": "2"}, {})
    )
    for run, granted in ((one, ("0", "1")), (two, ("0,1",)), (none, ("",))):
        assert run.ended()["exit_code"] == 0, run.log()
        assert (run.folder / "gpus").read_text() in {f"GPUs: {value}.\n" for value in granted}
