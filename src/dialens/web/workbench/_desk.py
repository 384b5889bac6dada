"""What all pages of the workbench share: the open folder, templates, assets and the navigation."""

import getpass
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from typing import Any
from urllib.parse import quote, unquote, urlencode

from fastapi import FastAPI, HTTPException, Request
from fastapi.responses import HTMLResponse, Response
from jinja2 import Environment, PackageLoader, StrictUndefined

from dialens.base import DialensError, number
from dialens.web._loopback import Key
from dialens.web._pages import ASSETS, asset
from dialens.workbench import Item, Workbench

NAV = (
    ("Overview", "/"),
    ("Conversations", "/conversations"),
    ("Side by side", "/side-by-side"),
    ("Comparisons", "/comparisons"),
    ("Metrics", "/metrics"),
    ("Studies", "/studies"),
    ("Flags", "/flags"),
    ("Runs", "/runs"),
)
"""Every page that can stand in the navigation, with its address; shown once it has a route."""

CODER = "dialens-coder"
"""The cookie that says who flags; its value is quoted as in an address."""

OTHERS = "dialens-others"
"""The cookie of a coder who wants to see what others flagged; without it coding is blind."""

_LONGEST_CODER = 100
_YEAR_S = 31_536_000
_TYPES = {".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8"}
_FOLDER = files("dialens.web.workbench") / "assets"
_SHARED = ("study.css", "dark.css", "mark.svg", "scales.css", "chat.css", "controls.js")
"""What the pages of studies have too."""


@dataclass
class Desk:
    """The open folder, and how a page of it is rendered.

    Attributes:
        workbench: The open folder.
        key: To its pages.
        nav: Names and addresses of the pages that there are.
    """

    workbench: Workbench
    key: Key
    nav: tuple[tuple[str, str], ...] = ()
    _environment: Environment = field(init=False)

    def __post_init__(self) -> None:
        self._environment = Environment(
            loader=PackageLoader("dialens.web.workbench", "assets"),
            autoescape=True,
            undefined=StrictUndefined,
            auto_reload=False,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._environment.globals |= {"asset": asset_url, "address": address}
        self._environment.filters |= {"moment": moment, "number": number}

    def add_places(self, paths: Iterable[str]) -> None:
        """Show pages in the navigation that have routes now."""
        there = {path for _, path in self.nav} | set(paths)
        self.nav = tuple(place for place in NAV if place[1] in there)

    def item(self, name: str) -> Item:
        """The item of a name in an address; refused with 404 where there is none."""
        try:
            return self.workbench.catalogue.get(name)
        except DialensError as error:
            raise HTTPException(404, str(error)) from error

    def render(self, template: str, *, status: int = 200, **values: Any) -> Response:
        """A page from its template, `overview` for instance; `here` names the page in the nav.

        Args:
            template: Name of the template without its ending.
            status: Of HTTP.
            values: What the template shows.
        """
        shared = {"nav": self.nav, "here": "", "folder": self.workbench.folder}
        page = self._environment.get_template(f"{template}.html.j2")
        return HTMLResponse(page.render(shared | values), status)

    def fragment(self, template: str, macro: str, *values: object) -> str:
        """What a macro of a template makes of some values, to be put into a page that is open."""
        module: Any = self._environment.get_template(f"{template}.html.j2").module
        return str(getattr(module, macro)(*values))

    def coder(self, request: Request) -> str:
        """Who flags: as named on the page Flags, or else by the operating system."""
        return _coder_name(unquote(request.cookies.get(CODER, ""))) or _login_name()

    def name_coder(self, response: Response, name: str) -> None:
        """Let the browser say from now on who flags; an empty name leaves it to the system."""
        written = quote(_coder_name(name), safe="")
        response.set_cookie(CODER, written, samesite="strict", httponly=True, max_age=_YEAR_S)

    def sees_others(self, request: Request) -> bool:
        """Whether flags and notes of other coders are shown; they are not unless asked for."""
        return request.cookies.get(OTHERS) == "show"

    def show_others(self, response: Response, *, show: bool) -> None:
        """Let the browser say from now on whether flags of others are shown."""
        written = "show" if show else "hide"
        response.set_cookie(OTHERS, written, samesite="strict", httponly=True, max_age=_YEAR_S)


def _coder_name(written: str) -> str:
    """A name in one line; lists of coders have commas between them."""
    return " ".join(written.replace(",", " ").split())[:_LONGEST_CODER]


def _login_name() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # nobody is logged in, as in a container
        return "me"


def address(path: str, **query: object) -> str:
    """An address on this server, whatever characters its parts hold.

    Args:
        path: With slashes; everything else in it is quoted.
        query: Of those that are None nothing is said.

    Examples:
        >>> address("/conversations", agent="a b/..", page=None)
        '/conversations?agent=a+b%2F..'
    """
    shown = {name: str(value) for name, value in query.items() if value is not None}
    return quote(path) + (f"?{urlencode(shown)}" if shown else "")


def moment(when: datetime) -> str:
    """A time as people read it.

    Examples:
        >>> from datetime import UTC
        >>> moment(datetime(2026, 11, 6, 9, 5, tzinfo=UTC))
        '6 November 2026, 09:05 UTC'
    """
    when = when.astimezone(UTC)
    return f"{when.day} {when:%B %Y, %H:%M} UTC"


@cache
def _assets() -> Mapping[str, tuple[bytes, str]]:
    """Content and type of everything that can be asked for by name."""
    own = {
        file.name: (file.read_bytes(), kind)
        for file in _FOLDER.iterdir()
        for ending, kind in _TYPES.items()
        if file.name.endswith(ending)
    }
    return own | {name: (asset(name), ASSETS[name]) for name in _SHARED}


def asset_url(name: str) -> str:
    """Where a style sheet, script or picture is found.

    Examples:
        >>> asset_url("mark.svg")
        '/assets/mark.svg'
    """
    if name not in _assets():
        raise KeyError(name)
    return f"/assets/{name}"


def add_assets(app: FastAPI) -> None:
    """Serve style sheets, scripts and pictures, out of a list: a name, never a path."""

    @app.get("/assets/{name}")
    def assets(name: str) -> Response:
        if name not in _assets():
            raise HTTPException(404)
        content, kind = _assets()[name]
        return Response(content, media_type=kind)
