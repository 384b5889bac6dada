"""The application: every page behind one key, and what is said where something goes wrong."""

import secrets
import sys
from functools import partial
from http import HTTPStatus
from urllib.parse import urlencode

from fastapi import Depends, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, PlainTextResponse, Response
from starlette.exceptions import HTTPException
from starlette.types import Receive, Scope, Send

from dialens.base import DialensError, first_line, listed, printable
from dialens.web._guard import Guard, security_headers
from dialens.web._loopback import Key, foreign
from dialens.web._study_app import not_refused
from dialens.web.workbench import (
    _comparisons,
    _conversations,
    _dialogue,
    _flagging,
    _flags,
    _metrics,
    _overview,
    _runs,
    _side_by_side,
    _studies,
    _study_replay,
    _to_study,
)
from dialens.web.workbench._desk import Desk, add_assets
from dialens.web.workbench._middleware import Faults, Keyed
from dialens.workbench import Workbench

ROUTERS = (
    _overview.routes,
    _conversations.routes,
    _comparisons.routes,
    _metrics.routes,
    _studies.routes,
    _study_replay.routes,
    _to_study.routes,
    _dialogue.routes,
    _side_by_side.routes,
    _flagging.routes,
    _flags.routes,
    _runs.routes,
)
"""Functions that make a page's routes of the desk, one a module."""

_MOST_BYTES = 8 * 1_048_576
_TITLES = {
    403: "Refused",
    404: "There is no such page",
    405: "Refused",
    422: "This cannot be shown",
    500: "Something broke",
}
_NOWHERE = "Nothing is found at this address. It may be of another folder, or misspelt."
_OUR_FAULT = (
    "That is a fault of dialens, and nothing of yours is lost. The terminal says what it was."
)


class WorkbenchApp:
    """The pages of a folder, for whoever has the token."""

    def __init__(self, workbench: Workbench, token: str) -> None:
        """Serve an open folder.

        Args:
            workbench: The open folder.
            token: The key to its pages.
        """
        self.workbench = workbench
        self.key = Key(token, "dialens open", "dialens-open")
        self._app = _pages(self)

    @property
    def address(self) -> str:
        """Path of the first page, with the key."""
        return f"/?{urlencode({'token': self.key.token})}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection."""
        refusal = foreign(scope) if scope["type"] == "http" else None
        await (refusal or self._app)(scope, receive, send)


def workbench_app(workbench: Workbench, token: str | None = None) -> WorkbenchApp:
    """The application of an open folder; with a token of its own if none is given."""
    return WorkbenchApp(workbench, token or secrets.token_urlsafe(24))


def _pages(owner: WorkbenchApp) -> FastAPI:
    desk = Desk(owner.workbench, owner.key)
    app = FastAPI(
        title="dialens open",
        redirect_slashes=False,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        dependencies=[Depends(not_refused)],
    )
    for routes in ROUTERS:
        router = routes(desk)
        desk.add_places(getattr(route, "path", "") for route in router.routes)
        app.include_router(router)
    add_assets(app)
    app.exception_handler(HTTPException)(partial(_refused, desk))
    app.exception_handler(DialensError)(partial(_unshown, desk))
    app.exception_handler(RequestValidationError)(partial(_unreadable, desk))
    app.add_middleware(Keyed, key=owner.key, refused=partial(_refused, desk))
    app.add_middleware(Faults, broken=partial(_broken, desk))
    app.add_middleware(Guard, headers=security_headers(), most_bytes=_MOST_BYTES)
    return app


def _said(desk: Desk, request: Request, status: int, sentence: str) -> Response:
    """A sentence as a page, or as JSON for who asked with a script."""
    sent = request.headers
    asked = "json" in sent.get("accept", "") or sent.get("sec-fetch-dest") == "empty"
    if asked or request.url.path.startswith("/api/"):
        return JSONResponse({"detail": sentence}, status)
    if not desk.key.opens(request):  # strangers do not even learn which folder it is
        return PlainTextResponse(sentence, status)
    title = _TITLES.get(status, "This could not be done")
    return desk.render("sorry", status=status, title=title, sentence=sentence)


def _refused(desk: Desk, request: Request, error: HTTPException) -> Response:
    unsaid = error.detail == HTTPStatus(error.status_code).phrase
    sentence = _NOWHERE if unsaid and error.status_code == 404 else str(error.detail)
    return _said(desk, request, error.status_code, sentence)


def _unshown(desk: Desk, request: Request, error: DialensError) -> Response:
    return _said(desk, request, 422, str(error))


def _unreadable(desk: Desk, request: Request, error: RequestValidationError) -> Response:
    problem = error.errors()[0]
    kind, place = problem["type"], problem["loc"]
    if kind == "json_invalid" or place == ("body",):
        sentence = "What was sent is not JSON. Nothing was stored."
    elif place[0] != "body":
        places = {str(one["loc"][-1]) for one in error.errors()}
        sentence = f"This address cannot be read: see {listed(sorted(places))}."
    elif kind == "missing":
        sentence = f"The field “{place[-1]}” is empty. Fill it in, and send it again."
    elif kind == "string_too_long":
        most = problem["ctx"]["max_length"]
        sentence = f"The field “{place[-1]}” has more than {most:,} characters. Shorten it."
    else:
        sentence = f"The field “{place[-1]}” cannot be read: {problem['msg']}."
    return _said(desk, request, 400, sentence)


def _broken(desk: Desk, request: Request, error: Exception) -> Response:
    fault = f"{type(error).__name__}: {first_line(error)}"
    print(printable(f"Fault at {request.url.path}: {fault}"), file=sys.stderr, flush=True)
    return _said(desk, request, 500, _OUR_FAULT)
