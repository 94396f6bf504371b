"""What Potato asks of SLURM, about one job: submit it, find it by its name, end it, and say how it ended."""

import os
from typing import Callable, List, Mapping, Optional, Sequence

from potato.training.agent.slurm import answers, commands
from potato.training.agent.slurm.answers import FORMAT, Answer, Detail
from potato.training.agent.slurm.commands import NoProgram, Said
from potato.training.agent.slurm.settings import SlurmTiming


class Scheduler:
    """SLURM, for the job named `name`. `meanwhile` is called while a program runs.

    A number alone names nobody: SLURM may forget a job, and give its number to another. So every question and every
    order names the job too. All of them raise `NoProgram`.
    """

    def __init__(
        self, name: str, env: Mapping[str, str], timing: SlurmTiming, meanwhile: Callable[[], None], cluster: str = ""
    ) -> None:
        self._name = name
        self._env = env
        self._timing = timing
        self._meanwhile = meanwhile
        self.cluster = cluster

    def submit(self, script: str, folder: str, output: str, asked: Sequence[str]) -> Said:
        """Submit a script, with the flags that the user asks for; what `sbatch` says proves little."""
        own = ["--parsable", "--job-name=" + self._name, "--output=" + output.replace("%", "%%")]
        own += ["--open-mode=append", "--chdir=" + folder, "--export=ALL"]
        command = ["sbatch", *asked, *own, script]
        return commands.run(command, self._env, self._timing.submit, self._meanwhile, cwd=folder)

    def find(self) -> Answer:
        """The jobs of this name, ended ones too while SLURM remembers them."""
        mine = ["--states=all", "--name=" + self._name, "--user=%d" % os.getuid()]
        return answers.listed(self._run("squeue", "--noheader", *mine, "--format=" + FORMAT))

    def end(self, job_id: Optional[int], politely: bool) -> Said:
        """Have the job end: SIGTERM to every process of a running one where `politely`, else whatever it does. The
        exit code proves nothing; look."""
        which = ["--user=%d" % os.getuid()] if job_id is None else [str(job_id)]
        how = ["--full", "--signal=TERM"] if politely else []
        return self._run("scancel", "--name=" + self._name, *how, *which)

    def detail(self, job_id: int) -> Optional[Detail]:
        """How the job ended; None where SLURM does not say, or the cluster has no `scontrol`."""
        try:
            return answers.detail(self._run("scontrol", "--oneliner", "show", "job", str(job_id)), self._name)
        except NoProgram:
            return None

    def boot_time(self) -> str:
        """When the controller was started, in its own words; empty where it does not say."""
        try:
            return answers.boot_time(self._run("scontrol", "show", "config"))
        except NoProgram:
            return ""

    def _run(self, program: str, *arguments: str) -> Said:
        there: List[str] = ["--clusters=" + self.cluster] if self.cluster else []
        return commands.run([program, *there, *arguments], self._env, self._timing.command, self._meanwhile)
