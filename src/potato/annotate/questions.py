"""A project's questions as HTML, and the keys that answer them."""

from __future__ import annotations

from markupsafe import Markup

from potato.annotate.view import Ask
from potato.project import Project
from potato.schemes import keys
from potato.web.render import environment


class Questions:
    """The questions of one project. One that nobody has answered yet, and that looks the same with every item and to
    everybody, is rendered once."""

    def __init__(self, project: Project) -> None:
        self.keys = keys.assign(project.schemes.values())
        self._kept: dict[tuple[int, bool], Markup] = {}

    def html(self, ask: Ask) -> Markup:
        """The question, as its template shows it."""
        if not ask.is_blank:
            return _rendered(ask)
        kept = (ask.index, ask.asked)
        if kept not in self._kept:
            self._kept[kept] = _rendered(ask)
        return self._kept[kept]


def _rendered(ask: Ask) -> Markup:
    module = environment().get_template(f"schemes/{ask.scheme.template}").module
    html: Markup = module.question(ask)  # type: ignore[attr-defined]  # a macro of the template
    return html
