"""What the calls of one connection share."""

from dataclasses import dataclass
from typing import Any, Dict

from potato.training.contract.channel import Channel
from potato.training.host.hangup import Hangup


@dataclass(frozen=True)
class Session:
    """One connection. `remote_dir` is absolute."""

    channel: Channel
    remote_dir: str
    hangup: Hangup

    def progress(self, text: str, **more: Any) -> None:
        """Show that work goes on; the server expects a word every 5 seconds. Raises `ChannelClosed`."""
        frame: Dict[str, Any] = {"progress": text}
        frame.update(more)
        self.channel.send(frame)
