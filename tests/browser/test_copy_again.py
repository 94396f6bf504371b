"""The button that fetches a model whose way home broke off, in a real browser, from a host with a real sshd."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import browsing
import sshd
from lab import use_fakes
from ssh_scene import IMPATIENT, REMOTE_DIR, broken_off, jobs_there, scene, settings, slowly, ssh_lab
from sshd import ALIAS, Host

pytestmark = pytest.mark.browser

MODEL = "1-sentiment/weights-0.bin"


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch) -> Iterator[Host]:
    """A usual host, which this process and the servers that it starts know."""
    use_fakes(monkeypatch)
    with sshd.client() as client, sshd.host(client) as made:
        monkeypatch.setenv("PATH", client.path)
        yield made


def test_a_model_that_did_not_come_home_is_fetched_with_a_button(
    host: Host, tmp_path: Path, live: Any, tab: Any
) -> None:
    lab = ssh_lab(tmp_path, {ALIAS: settings(slowly(host))})
    with scene(lab, IMPATIENT) as made:
        run = broken_off(made, host)
    host.up()
    host.also("slow", "ProxyCommand none")
    (model,) = (host.home / REMOTE_DIR / "jobs" / run.run_id).glob(f"attempt-*/artifacts/{MODEL}")
    live.open(lab.project)
    browsing.enter_admin(tab, live.url, "lab-key")
    tab.goto(f"{live.url}admin/training/runs/{run.run_id}")
    browsing.ready(tab)
    tab.get_by_text("The copy from slow sent nothing for 2 s").first.wait_for()

    model.chmod(0)  # the host holds it, and does not give it
    again = tab.get_by_role("button", name="Copy the model again")
    again.click()
    ends = tab.locator("[data-part=ends]")
    ends.get_by_text("The copy from slow failed: ").wait_for()
    ends.get_by_text("Permission denied").wait_for()
    assert tab.locator("[data-part=record]").get_by_text(MODEL).count() == 0

    model.chmod(0o600)
    again.click()
    tab.locator("[data-part=record]").get_by_role("link", name=MODEL).wait_for()
    again.wait_for(state="detached")
    ends.get_by_text("The copy from slow").wait_for(state="detached")
    with tab.expect_download() as download:
        tab.get_by_role("link", name=MODEL).click()
    assert Path(download.value.path()).stat().st_size == 3 << 20
    assert jobs_there(host) == []
