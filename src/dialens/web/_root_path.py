"""Pages below a path, such as /warmth: the part of every address that a proxy puts before ours."""

import re
from collections.abc import Iterable

from jinja2 import Environment
from jinja2.ext import Extension
from starlette.requests import Request
from starlette.responses import RedirectResponse
from starlette.routing import BaseRoute, Match
from starlette.types import ASGIApp, Receive, Scope, Send

from dialens.base import DialensError

_FOLDERS = ("/api", "/assets")
_SEGMENTS = re.compile(r"(/[A-Za-z0-9._~-]+)*")
_ADDRESS = re.compile(r'\b(href|action|src)="/(?!/)')


def root_path(text: str) -> str:
    """The path that all addresses begin with, without a slash at its end; empty if there is none.

    Examples:
        >>> root_path("/warmth/"), root_path("labs/warmth"), root_path("/")
        ('/warmth', '/labs/warmth', '')
    """
    path = "/" + text.strip("/")
    if path == "/":
        return ""
    if not _SEGMENTS.fullmatch(path) or {".", ".."} & set(path.split("/")):
        raise DialensError(
            f"--root-path takes a path of letters, digits, hyphens and dots, such as /warmth; "
            f"seen: {text!r}."
        )
    return path


def check_root(root: str, routes: Iterable[BaseRoute]) -> None:
    """Refuse a root path that is one of our own addresses.

    Some proxies take the root path away before they pass a request on, others do not. Both work,
    unless it cannot be told which of the two /study is.
    """
    asked = {"type": "http", "method": "GET", "path": root, "root_path": "", "headers": []}
    if root in _FOLDERS or (root and any(one.matches(asked)[0] != Match.NONE for one in routes)):
        raise DialensError(
            f"{root} is an address of the study's own pages, so it cannot be its root path. "
            "Choose another."
        )


def address_below(request: Request) -> str:
    """The path of a request, without the root path."""
    return request.url.path.removeprefix(request.scope.get("root_path", ""))


class RootPath:
    """Middleware: requests carry the root path, whether or not a proxy took it away."""

    def __init__(self, app: ASGIApp, *, root: str) -> None:
        self._app = app
        self._root = root

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection."""
        if scope["type"] != "http" or not self._root:
            await self._app(scope, receive, send)
            return
        path = scope["path"]
        if path == self._root:
            query = scope["query_string"].decode("latin-1")
            to = f"{self._root}/" + (f"?{query}" if query else "")
            await RedirectResponse(to, 307)(scope, receive, send)
            return
        whole = path if path.startswith(f"{self._root}/") else self._root + path
        await self._app({**scope, "root_path": self._root, "path": whole}, receive, send)


class RootedAddresses(Extension):
    """Templates write addresses from the study's own root; this puts the root path before them."""

    def __init__(self, environment: Environment) -> None:
        super().__init__(environment)
        environment.globals.setdefault("root", "")

    def preprocess(self, source: str, name: str | None, filename: str | None = None) -> str:
        """Asked by Jinja for each template."""
        return _ADDRESS.sub(r'\1="{{ root }}/', source)
