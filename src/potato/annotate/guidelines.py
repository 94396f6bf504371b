"""The project's guidelines: a Markdown file that opens beside the text."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from markupsafe import Markup

from potato.project import Project


def guidelines_html(project: Project) -> Markup | None:
    """The guidelines as HTML, read anew when the file has changed; None where the project has none."""
    if project.config.guidelines is None:
        return None
    file = project.task_dir / project.config.guidelines
    try:
        stamp = file.stat().st_mtime_ns
    except FileNotFoundError:
        return Markup("<p>The guidelines' file is missing at the moment.</p>")
    return _rendered(file, stamp)


@lru_cache(maxsize=4)
def _rendered(file: Path, _stamp: int) -> Markup:
    from markdown_it import MarkdownIt  # many projects have no guidelines

    text = file.read_text(encoding="utf-8-sig", errors="replace")
    # HTML in the file is shown as text, and markdown-it drops links to scripts.
    return Markup(MarkdownIt("commonmark", {"html": False}).enable("table").render(text))  # noqa: S704
