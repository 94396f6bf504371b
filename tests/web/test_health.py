"""`/healthz` tells whether the store can be read, to anybody."""

from __future__ import annotations

from pathlib import Path

import site_scenes as scenes


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
