"""The releases of `potato-annotation` before this one, driven the same way, to be measured beside it.

They live in an environment of their own, which the benchmarks are told: `pip install 'potato-annotation<2.13'` there,
then `--peer PATH/bin/potato`.
"""

from __future__ import annotations

import json
import random
import re
from pathlib import Path
from typing import TYPE_CHECKING

from common import Client, Command, make_project

if TYPE_CHECKING:
    from saves import Pause, Timings

PROJECT = """\
annotation_task_name: Benchmark
task_dir: .
output_annotation_dir: output
output_annotation_format: jsonl
data_files: [items.jsonl]
item_properties: {{id_key: id, text_key: text}}
require_password: false
user_config: {{allow_all_users: true, users: []}}
assignment_strategy: fixed_order
max_annotations_per_user: -1
max_annotations_per_item: {overlap}
annotation_schemes:
  - annotation_type: radio
    name: sentiment
    description: How does the writer feel?
    labels: [positive, negative]
"""


def make_peer_project(folder: Path, items: int, overlap: int = 1) -> Path:
    """The project of `common.make_project` in the earlier releases' terms."""
    config = make_project(folder, items)
    config.write_text(PROJECT.format(overlap=overlap))
    return config


def peer(program: Path, config: Path) -> Command:
    """The command that serves it; nothing of this environment reaches it, whose package has the same name."""
    python = program.parent / "python"
    return lambda port: [str(python), "-I", str(program), "start", str(config), "-p", str(port)]


class PeerPages:
    """The three requests of an annotator, as the earlier releases take them."""

    def __init__(self, port: int, name: str) -> None:
        self.client = Client(port)
        self._name = name

    async def sign_in(self) -> None:
        """Sign in; the first item is given out with it."""
        body = f"email={self._name}&action=login".encode()
        reply = await self.client.request("POST", "/auth", body, "application/x-www-form-urlencoded")
        assert reply.status == 302, reply
        await self.client.request("GET", "/annotate")

    async def next_item(self) -> str | None:
        """Go on to the next item; its id, from its page."""
        body = json.dumps({"action": "next_instance"}).encode()
        page = await self.client.request("POST", "/annotate", body, "application/json")
        field = re.search(rb"<input[^>]*\bid=\"instance_id\"[^>]*>", page.body)
        found = field and re.search(rb"value=\"([^\"]*)\"", field[0])
        return found[1].decode() if page.status == 200 and found else None

    async def answer(self, item: str, timings: Timings, pause: Pause) -> str | None:
        """Answer `item` and go on, as the page does; the next item."""
        await pause()
        with timings.noted("save"):
            timings.failed += not await self.save(item)
        await pause()
        with timings.noted("next_item"):
            return await self.next_item()

    async def save(self, item: str) -> bool:
        """Answer it."""
        label = random.choice(["positive", "negative"])
        body = {"instance_id": item, "annotations": {f"sentiment:{label}": label}, "span_annotations": []}
        reply = await self.client.request("POST", "/updateinstance", json.dumps(body).encode(), "application/json")
        return reply.status == 200 and b"success" in reply.body
