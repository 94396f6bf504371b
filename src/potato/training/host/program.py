"""The host's program: takes a call, answers it, and leaves when the connection ends."""

import sys
import traceback
from typing import Any, Callable, Dict, Mapping

from potato.training.agent.slurm import tools
from potato.training.agent.transport import Gone
from potato.training.contract.channel import Channel, ChannelClosed
from potato.training.host import artifacts, environment, gpus, greeting, leftovers, probe, tidy, work
from potato.training.host.failures import CallFailed, of_disk
from potato.training.host.hangup import Hangup
from potato.training.host.session import Session

CALLS: Dict[str, Callable[[Session, Mapping[str, Any]], Dict[str, Any]]] = {
    "hello": greeting.hello,
    "environment": environment.environment,
    "probe": probe.probe,
    "gpus": gpus.gpus,
    "work": work.work,
    "list_artifacts": artifacts.list_artifacts,
    "send_artifact": artifacts.send_artifact,
    "tail": leftovers.tail,
    "end": leftovers.end,
    "remove": leftovers.remove,
    "tidy": tidy.tidy,
    "slurm": lambda session, call: tools.look(session.remote_dir),
}
"""Each takes the call's header, and returns what stands in the answer beside `ok`. Raises `CallFailed`, `OSError`."""


def main(read_fd: int, write_fd: int, remote_dir: str) -> None:
    """Serve the connection on these descriptors until it ends."""
    hangup = Hangup(read_fd)
    hangup.watch()
    session = Session(Channel(read_fd, write_fd), remote_dir, hangup)
    try:
        while True:
            header, _ = session.channel.receive()
            session.channel.send(answer(session, header))
    except (ChannelClosed, Gone):
        hangup.leave()


def answer(session: Session, header: Mapping[str, Any]) -> Dict[str, Any]:
    """The answer to one call; whatever goes wrong is one too. Raises `ChannelClosed`, `Gone`."""
    call = CALLS.get(str(header.get("call")))
    if call is None:
        return CallFailed("unknown_call", "this Potato knows no call %.50r" % header.get("call")).as_answer()
    try:
        return dict(call(session, header), ok=True)
    except CallFailed as failed:
        return failed.as_answer()
    except OSError as error:
        return of_disk(error, session.remote_dir).as_answer()
    except (ChannelClosed, Gone):
        raise
    except Exception as error:
        traceback.print_exc(file=sys.stderr)  # ssh brings it to the server
        told = "%s: %s" % (type(error).__name__, error)
        return CallFailed("host_failed", "the call %s failed: %s" % (header["call"], told)).as_answer()
