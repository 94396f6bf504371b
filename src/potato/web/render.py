"""Templates, and addresses that hold under any prefix."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import quote
from weakref import WeakKeyDictionary

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse

from potato.store.clock import from_text
from potato.web.site import site_of

HERE = Path(__file__).parent
DASH = "\u2013"
"""Stands where there is no figure."""


def render(
    request: Request, template: str, *, status: int = 200, headers: Mapping[str, str] | None = None, **context: Any
) -> HTMLResponse:
    """The page `template` with `context`; `url`, `project`, `now` and the filters below are there in every template."""
    html = fill(request, template, **context)
    return HTMLResponse(html.encode("utf-8", "replace"), status_code=status, headers=dict(headers or {}))


def fill(request: Request, template: str, *, at: str | None = None, **context: Any) -> str:
    """The text of `template` with `context`. A part of another page than the one asked for says `at` which path that
    page has: addresses hold there."""
    site = site_of(request)
    folder = posixpath.dirname(at or _own_path(request)) or "/"

    def url(name: str, **params: Any) -> str:
        return _relative(folder, _target(request.app, name, tuple(params.items())))

    return (
        environment()
        .get_template(template)
        .render(
            request=request,
            project=site.project,
            site_tag=site.sessions.tag,
            now=site.clock(),
            url=url,
            static=lambda path: url("static", path=path),
            **context,
        )
    )


def url(request: Request, name: str, **params: Any) -> str:
    """The address of the route `name` as seen from the page that is asked for, such as `../static/potato.css`.

    It names neither host nor prefix, so it holds behind any proxy.
    """
    folder = posixpath.dirname(_own_path(request)) or "/"
    return _relative(folder, _target(request.app, name, tuple(params.items())))


def go(request: Request, name: str, **params: Any) -> RedirectResponse:
    """Send the browser to the route `name` by GET."""
    return RedirectResponse(url(request, name, **params), status_code=303)


_PLAIN = "/~!$&'()*+,;=:@"
"""What an address holds as it is, beside letters, digits, `_`, `.` and `-`: a file's name may hold anything else."""


@lru_cache(maxsize=2048)
def _relative(folder: str, target: str) -> str:
    parent, name_in_it = posixpath.split(target)
    relative = posixpath.relpath(parent, folder)
    return quote(f"./{name_in_it}" if relative == "." else f"{relative}/{name_in_it}", safe=_PLAIN)


_TARGETS: WeakKeyDictionary[Any, dict[tuple[object, ...], str]] = WeakKeyDictionary()


def _target(app: Any, name: str, params: tuple[tuple[str, Any], ...]) -> str:
    """The path of a route. Looking for it costs more than rendering the address, and most have no params."""
    known = _TARGETS.setdefault(app, {})
    if params and name != "static":
        return str(app.url_path_for(name, **dict(params)))
    key = (name, *params)
    if key not in known:
        known[key] = str(app.url_path_for(name, **dict(params)))
    return known[key]


def _own_path(request: Request) -> str:
    path, root = str(request.scope["path"]), str(request.scope.get("root_path", ""))
    return path[len(root) :] if root and path.startswith(root) else path


@lru_cache(maxsize=1)
def environment() -> Environment:
    """The templates. A name that a page was not given is an error, never an empty string."""
    made = Environment(
        loader=FileSystemLoader(HERE / "templates"),
        autoescape=True,
        auto_reload=False,  # it would look at the files of every template of every page
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    icon = (HERE / "static" / "potato.svg").read_text("utf-8")
    made.globals["icon"] = f"data:image/svg+xml,{quote(icon)}"  # a file would be asked for with each item
    made.filters.update(
        exact=exact, number=number, plain=plain, percent=percent, score=score, signed=signed, ago=ago, duration=duration
    )
    return made


def exact(text: str) -> Markup:
    """`text` such that the browser's text node equals it: HTML would turn a carriage return into a line feed."""
    return Markup(str(escape(text)).replace("\r", "&#13;").replace("\0", "\ufffd"))  # noqa: S704 - escaped just before


def number(value: float | None) -> str:
    """`12,345`; a dash for nothing."""
    return DASH if value is None else f"{value:,}"


def plain(value: float) -> str:
    """A number as it is typed, without a fraction where it is whole."""
    return f"{value:.15g}"


def percent(value: float | None) -> str:
    """`87 %` with a no-break space; a dash for nothing. Only what is all or nothing is rounded to 100 or to 0."""
    if value is None:
        return DASH
    if 0.995 <= value < 1:
        return ">99\u00a0%"
    return "<1\u00a0%" if 0 < value < 0.005 else f"{value * 100:.0f}\u00a0%"


def score(value: float | None) -> str:
    """`0.913`; a dash for what is undefined."""
    return DASH if value is None else f"{value:.3f}"


def signed(value: float | None) -> str:
    """`+0.021`, with a real minus sign where it falls; a dash for what is undefined."""
    return DASH if value is None else f"{value:+.3f}".replace("-", "\u2212")


def ago(moment: str | datetime | None, now: datetime) -> str:
    """`2 minutes ago`; a dash for never."""
    if moment is None:
        return DASH
    seconds = (now - (from_text(moment) if isinstance(moment, str) else moment)).total_seconds()
    if seconds < 45:
        return "just now"
    for unit, size in (("day", 86400), ("hour", 3600), ("minute", 60)):
        if seconds >= size or unit == "minute":
            count = max(1, int(seconds // size))
            return f"{count} {unit}{'' if count == 1 else 's'} ago"
    raise AssertionError("unreachable: the last unit always answers")


def duration(seconds: float | None) -> str:
    """`4 min 12 s`; a dash for nothing."""
    if seconds is None:
        return DASH
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
