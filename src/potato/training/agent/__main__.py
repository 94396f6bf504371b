"""`python -m potato.training.agent`: see `--help`."""

import argparse
import contextlib
import os
import shutil
import signal
import sys
import time
from typing import List, Optional

from potato import __version__
from potato.training.agent.agent import Agent, Leave
from potato.training.agent.client import Client
from potato.training.agent.course import Settings
from potato.training.agent.lock import AgentLock, AlreadyRunning
from potato.training.agent.slurm import tools
from potato.training.agent.slurm.settings import SettingsError, SlurmSettings, read_file
from potato.training.agent.stop import Stop
from potato.training.agent.token import NoToken, take_token
from potato.training.agent.transport import HttpTransport, Unusable

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def main(arguments: Optional[List[str]] = None) -> int:
    """Run an agent until it is stopped; its exit code."""
    options = parser().parse_args(arguments)
    workdir = os.path.abspath(os.path.expanduser(options.workdir))
    lock = AgentLock(workdir, options.backend)
    try:
        token = take_token(options.token_file, os.environ)
        _transport(options)
        python = _interpreter(options.python)
        slurm = _slurm(options.slurm_config, workdir)
        os.makedirs(workdir, mode=0o700, exist_ok=True)
        lock.take()
    except (NoToken, Unusable, NoInterpreter, SettingsError) as error:
        say(str(error))
        return Leave.USAGE
    except OSError as error:
        say("the work folder %s cannot be used: %s" % (workdir, error.strerror or error))
        return Leave.USAGE
    except AlreadyRunning as error:
        say(str(error))
        return Leave.BACKEND_HELD
    try:
        return _work(options, workdir, python, slurm, token)
    finally:
        for number in SIGNALS:
            signal.signal(number, signal.SIG_IGN)  # the exit code tells more than a second Ctrl-C
        lock.release()


def _transport(options: argparse.Namespace) -> HttpTransport:
    return HttpTransport(options.server, os.environ, options.ca, options.fingerprint)


class NoInterpreter(Exception):
    """`--python` names nothing that can be run."""


def _interpreter(wanted: str) -> str:
    found = shutil.which(os.path.expanduser(wanted))
    if found is None:
        raise NoInterpreter("%s was not found; --python names the interpreter for the worker" % wanted)
    return os.path.abspath(found)


def _slurm(path: Optional[str], workdir: str) -> Optional[SlurmSettings]:
    """Raises `SettingsError`."""
    if path is None:
        return None
    if not tools.may_be_shared(workdir):
        raise SettingsError("compute nodes do not share %s; name a folder that they do with --workdir" % workdir)
    return read_file(os.path.expanduser(path))


def _work(options: argparse.Namespace, workdir: str, python: str, slurm: Optional[SlurmSettings], token: str) -> int:
    stop = Stop()
    stop.listen(number for number in SIGNALS if signal.getsignal(number) != signal.SIG_IGN)  # nohup ignores one
    settings = Settings(options.backend, workdir, python, __version__, options.once, options.keep, slurm=slurm)

    def clients() -> Client:
        return Client(_transport(options), token, options.backend)

    def say_without_token(text: str) -> None:
        say(text.replace(token, "<token>"))  # an address that the server names may have it in it

    say("agent for '%s' on %s, working in %s; Ctrl-C stops it" % (options.backend, options.server, workdir))
    return Agent(settings, clients, say_without_token, stop).run()


def say(text: str) -> None:
    """A line on the terminal, with the time."""
    encoding = sys.stdout.encoding or "ascii"
    clean = "".join(char if char.isprintable() else " " for char in text)
    line = "%s  %s" % (time.strftime("%H:%M:%S"), clean.encode(encoding, "backslashreplace").decode(encoding))
    with contextlib.suppress(OSError):  # the terminal is gone, and the job is not
        print(line, flush=True)  # noqa: T201


def parser() -> argparse.ArgumentParser:
    """The command line that `main` takes."""
    made = argparse.ArgumentParser(
        prog="potato training agent",
        description="Run training jobs on this machine for a Potato server.",
        allow_abbrev=False,  # `--token` is not `--token-file`
    )
    made.add_argument("--server", required=True, metavar="URL", help="the server, e.g. https://annotate.example.org")
    made.add_argument("--backend", required=True, metavar="NAME", help="the agent backend that this machine serves")
    made.add_argument("--token-file", metavar="F", help="read the token from F instead of POTATO_TRAINING_TOKEN")
    made.add_argument("--python", metavar="P", default=sys.executable, help="the interpreter for the worker")
    made.add_argument("--workdir", metavar="D", default="~/.cache/potato-training", help="default: %(default)s")
    made.add_argument("--slurm-config", metavar="F", help="submit jobs to SLURM with the settings in F, a JSON object")
    made.add_argument("--once", action="store_true", help="leave after one job")
    made.add_argument("--keep", action="store_true", help="keep each job's bundle")
    made.add_argument("--ca", metavar="FILE", help="trust this certificate authority besides the system's")
    made.add_argument(
        "--fingerprint", metavar="SHA256", help="trust the certificate with this fingerprint, and no other"
    )
    return made


if __name__ == "__main__":
    sys.exit(main())
