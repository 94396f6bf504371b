"""Publishing one model: every check, then one upload."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from potato.project import Project
from potato.store import Database
from potato.store.clock import Clock, to_text, utc_now
from potato.store.training import publications
from potato.store.training import runs as rows
from potato.store.training.publications import Publication
from potato.store.training.runs import Run
from potato.training.publishing import hub
from potato.training.publishing.card import Subject, card
from potato.training.publishing.errors import CannotPublish
from potato.training.publishing.hub import Hub, Published
from potato.training.publishing.model_files import OWN_CARD, ModelFiles, model_files, scheme_of


@dataclass(frozen=True)
class Plan:
    """What is to be published, as far as this machine alone can tell that it can be."""

    run: Run
    scheme: str
    repo: str
    public: bool
    files: ModelFiles


def plan(project: Project, run: Run, repo: str, public: bool, scheme: str | None = None) -> Plan:
    """Check what needs no network. Raises `HubNotInstalled`, `BadRepoName`, `SchemeNeeded`, `CannotPublish`,
    `ModelElsewhere` and `NoToken`."""
    name = scheme_of(run, scheme)
    if name not in project.schemes:
        raise CannotPublish(f"The project has no scheme {name!r:.100} any more")
    files = model_files(project, run, name)
    hub.check_name(repo)
    hub.find_token()
    return Plan(run, name, repo, public, files)


def publish(project: Project, planned: Plan, say: Callable[[str], None], endpoint: str | None = None) -> Published:
    """Check everything that the Hub can tell, then upload. `say` is told each step. Raises the errors of
    `publishing.errors`; safe to repeat."""
    there = Hub(hub.find_token(), endpoint)
    say("checking the account and the repository")
    there.check_rights(planned.repo)
    repo = there.look(planned.repo, planned.public)
    say("writing the model card")
    text = card(_subject(project, planned, there))
    there.check_card(text)
    files = {name: planned.files.content(name) for name in planned.files.names}
    count = len(files) + 1
    say(f"uploading {count} files, {planned.files.size / 1e6:.1f} MB")
    files[OWN_CARD] = text.encode()
    return there.upload(planned.repo, repo, planned.public, files, f"Run {planned.run.run_id} of Potato")


def push(
    project: Project,
    database: Database,
    number: int,
    planned: Plan,
    say: Callable[[str], None],
    clock: Clock = utc_now,
) -> Publication:
    """`publish`, keeping the row `number` of `publications` up to date but for its failure."""

    def step(text: str) -> None:
        say(text)
        with database.write() as connection:
            publications.step(connection, number, text)

    done = publish(project, planned, step)
    with database.write() as connection:
        publications.finish(connection, number, done.url, done.revision, done.public, to_text(clock()))
        return publications.get(connection, number)


def load_run(database: Database, run_id: str) -> Run:
    """The run. Raises `UnknownRun`."""
    with database.read() as connection:
        return rows.get_or_raise(connection, run_id)


def _subject(project: Project, planned: Plan, there: Hub) -> Subject:
    base = _hub_name(str(planned.files.record.get("base_model") or ""))
    return Subject(
        project=project,
        run=planned.run,
        scheme=project.schemes[planned.scheme],
        repo=planned.repo,
        record=planned.files.record,
        labels=_training_labels(project, planned),
        base=base,
        licence=there.licence_of(base) if base else None,
    )


def _hub_name(base: str) -> str | None:
    """A base model's name on the Hub; None for a folder of this machine's."""
    is_folder = base.startswith(("/", "~", ".")) or base.count("/") > 1 or (base and Path(base).exists())
    return None if is_folder or not base else base


def _training_labels(project: Project, planned: Plan) -> Mapping[str, int]:
    """How often training saw each label, as the bundle's manifest counts them; nothing where the bundle is gone."""
    manifest = project.runs_dir / planned.run.run_id / "bundle" / "manifest.json"
    if not manifest.is_file():
        return {}
    counts = json.loads(manifest.read_text("utf-8"))["counts"].get(planned.scheme) or {}
    found: Mapping[str, int] = (counts.get("labels") or {}).get("train") or {}
    return found
