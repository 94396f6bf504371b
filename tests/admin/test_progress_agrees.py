"""`Done` is one thing everywhere: people's answers to every required question, by as many as the project wants."""

from __future__ import annotations

import io
import json
import re
from collections import Counter
from pathlib import Path

import site_scenes as scenes
import training_scenes
from potato.items.exporting import export_labels
from potato.store import Database
from potato.store.clock import to_text
from potato.store.training import predictions
from potato.store.training.predictions import Stored

SHOWN = {"writeback": {"schemas": ["sentiment"]}}


def test_machine_labels_never_count_and_every_page_and_the_export_agree(tmp_path: Path) -> None:
    """annotation 37"""
    project = scenes.project(tmp_path, ["a", "b", "c", "d", "e"], annotations_per_item=2, model_training=SHOWN)
    database = Database(project.database_url)
    with database.write() as connection:
        run = training_scenes.succeeded(1)
        training_scenes.add(connection, run)
        said = [Stored(seq, "sentiment", "positive", 0.9, None, None) for seq in range(1, 6)]
        predictions.add(connection, run.run_id, said)
        predictions.set_live(connection, run.run_id, ["sentiment"], to_text(training_scenes.NOW), {"sentiment": 5})
    with scenes.served(project, headers=scenes.PAGE) as client:
        client.post("/admin/sign-in", data={"key": scenes.KEY})
        for name, answered in (("ann", 4), ("bob", 2), ("cy", 1)):
            client.post("/sign-in", data={"name": name})
            for number in range(answered):
                seq = scenes.hand_out(client)
                answers = {"sentiment": "negative"} if (name, number) != ("bob", 1) else {"stars": 3}  # not enough
                assert scenes.save(client, seq, answers, f"request-{name}-{number}", annotator=name).status_code == 200
        done = _figure(client.get("/admin").text, "done")
        page = client.get("/annotate", follow_redirects=True).text
        assert f"<strong>{done}</strong> of 5" in " ".join(page.split())
    exported = io.BytesIO()
    export_labels(project, database, exported)
    lines = [json.loads(line) for line in exported.getvalue().splitlines()]
    enough = Counter(line["id"] for line in lines if "sentiment" in line.get("annotations", {}))
    assert done == sum(count >= 2 for count in enough.values())
    assert 0 < done < 5
    database.close()


def _figure(html: str, label: str) -> int:
    found = re.search(rf'figure-value">([\d,]+)</p><p class="figure-label">{label}<', " ".join(html.split()))
    assert found
    return int(found[1])
