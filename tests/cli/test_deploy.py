"""The files under `deploy/` hang together: what they start exists, and who they name is there."""

from __future__ import annotations

import ipaddress
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import typer.main
from ruamel.yaml import YAML

from potato import cli
from potato.project.models import ProjectFile
from potato.servers.address import checked

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
UNITS = sorted(DEPLOY.glob("*.service"))
SITES = [*DEPLOY.glob("nginx-s*.conf"), DEPLOY / "compose" / "nginx.conf"]


def text(name: str) -> str:
    return (DEPLOY / name).read_text("utf-8")


@pytest.fixture(scope="module")
def compose() -> Any:
    return YAML(typ="safe").load(text("compose/compose.yaml"))


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_a_unit_starts_a_command_that_exists(unit: Path) -> None:
    [line] = re.findall(r"^ExecStart=.*/bin/potato (.+?)'?$", unit.read_text("utf-8"), re.MULTILINE)
    name, *words = shlex.split(line)
    command = typer.main.get_command(cli.build()).commands[name]  # type: ignore[attr-defined]
    options = {option for param in command.params for option in param.opts}
    assert {word for word in words if word.startswith("--")} <= options
    assert words[0] == "config.yaml"


def test_a_timer_has_its_service() -> None:
    assert [timer for timer in DEPLOY.glob("*.timer") if not timer.with_suffix(".service").exists()] == []


def test_the_unit_and_nginx_mean_one_port() -> None:
    [port] = re.findall(r"--port (\d+)", text("potato.service"))
    asked = re.findall(r"127\.0\.0\.1:(\d+)/", text("nginx-site.conf") + text("nginx-sign-in.conf"))
    assert set(asked) == {port}


@pytest.mark.parametrize("site", SITES, ids=lambda site: site.name)
def test_no_way_to_potato_lets_a_browser_say_who_it_is(site: Path) -> None:
    ways = [part for part in re.findall(r"\{([^{}]*)\}", site.read_text("utf-8")) if "proxy_pass" in part]
    assert ways
    header = ProjectFile.model_fields["login"].annotation.model_fields["header"].default  # type: ignore[union-attr]
    assert [way for way in ways if f"proxy_set_header {header} " not in way or "snippets/potato.conf" not in way] == []


def test_servers_are_reached_under_the_names_that_they_have(compose: Any) -> None:
    servers = {name: it for name, it in compose["services"].items() if "POTATO_ADDRESS" in it.get("environment", {})}
    addresses = {checked(it["environment"]["POTATO_ADDRESS"]) for it in servers.values()}
    assert addresses == {f"{name}:8000" for name in servers}
    assert set(re.findall(r"server ([\w.:-]+);", text("compose/nginx.conf"))) == addresses
    assert all({"build", "volumes", "depends_on"} <= set(it) for it in servers.values())


def test_servers_believe_the_proxy_and_nobody_else(compose: Any) -> None:
    proxy = compose["services"]["proxy"]["networks"]["default"]["ipv4_address"]
    [pool] = compose["networks"]["default"]["ipam"]["config"]
    assert ipaddress.ip_address(proxy) in ipaddress.ip_network(pool["subnet"])
    for name in ("potato-1", "potato-2"):
        assert compose["services"][name]["environment"]["FORWARDED_ALLOW_IPS"] == proxy


def test_what_is_mounted_is_there_or_made_by_the_page(compose: Any) -> None:
    mounted = [entry.partition(":")[0] for entry in compose["services"]["proxy"]["volumes"]]
    assert [name for name in mounted if not (DEPLOY / "compose" / name).exists()] == ["./tls"]
    page = (ROOT / "docs" / "running-it-for-others.md").read_text("utf-8")
    assert "deploy/compose/tls" in page
    assert "mkdir study" in page


def test_the_page_shows_every_file() -> None:
    page = (ROOT / "docs" / "running-it-for-others.md").read_text("utf-8")
    shown = set(re.findall(r"\{literalinclude\} \.\./(\S+)", page))
    assert shown == {str(file.relative_to(ROOT)) for file in DEPLOY.rglob("*") if file.suffix in SHOWN}


SHOWN = (".service", ".timer", ".conf", ".yaml")
