"""`/healthz` tells whether the store can be read, to anybody."""

from __future__ import annotations

from pathlib import Path

import pytest

import postgres
import site_scenes as scenes


@pytest.mark.sqlite("it spoils the file")
def test_it_is_ok_while_the_store_can_be_read(tmp_path: Path) -> None:
    project = scenes.project(tmp_path)
    with scenes.served(project) as client:
        answer = client.get("/healthz")
        assert (answer.status_code, answer.json()) == (200, {"status": "ok"})
        client.app.state.site.database.close()
        (project.output_dir / "potato.db").write_bytes(b"no database at all, and long enough to be read as one" * 100)
        for suffix in ("-wal", "-shm"):
            (project.output_dir / f"potato.db{suffix}").unlink(missing_ok=True)
        answer = client.get("/healthz")
        assert answer.status_code == 503
        assert answer.json() == {"status": "the store cannot be read"}


def test_what_the_database_does_not_take_is_refused_for_now_and_kept_by_nobody(tmp_path: Path) -> None:
    with postgres.start() as server:
        project = scenes.project(tmp_path, database_url=server.url())
        with scenes.served(project) as client:
            scenes.sign_in(client)
            item = scenes.hand_out(client)
            server.stop()
            assert client.get("/healthz").status_code == 503
            answer = scenes.save(client, item, {"sentiment": "positive"})
            assert (answer.status_code, answer.headers["retry-after"]) == (503, "2")
            assert answer.json() == {
                "error": "The project's database does not answer, so nothing was saved",
                "code": "store_unreachable",
                "hint": "Try again in a moment.",
            }
            page = client.get(f"/annotate/{item}", headers=scenes.PAGE)
            assert (page.status_code, "does not answer" in page.text) == (503, True)
            server.start()
            assert client.get("/healthz").status_code == 200
            assert scenes.save(client, item, {"sentiment": "positive"}).json()["repeated"] is False
            assert scenes.save(client, item, {"sentiment": "positive"}).json()["repeated"] is True
