"""The application: participants' pages, the researcher's, the API, and a guard around them."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from anyio import create_task_group, to_thread
from fastapi import Depends, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, JSONResponse, Response
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from dialens.base import DialensError
from dialens.studies import MEDIA_TYPES, study_mark
from dialens.studies.store import EventError, StoreUnavailable
from dialens.web._api import api_routes
from dialens.web._desk import Desk, Platform
from dialens.web._guard import BODY_SECONDS, MOST_BYTES, Guard, security_headers
from dialens.web._health import add_health, log_unavailable
from dialens.web._housekeeping import Housekeeper, keep_house
from dialens.web._kiosk import kiosk_routes
from dialens.web._login import HOME, SentToLogin, login_routes, to_login
from dialens.web._pages import ASSETS, LOST, asset
from dialens.web._participant_routes import participant_routes
from dialens.web._refusal import Refusal
from dialens.web._researcher import researcher_preview, researcher_routes
from dialens.web._root_path import RootPath, address_below, check_root
from dialens.web._site import Site, is_kiosk
from dialens.web._turns import ResearcherTurns, set_threads

_KEPT = {"cache-control": "public, max-age=31536000, immutable"}
_TITLES = {
    403: "refused_title",
    404: "missing_title",
    405: "refused_title",
    408: "slow_title",
    413: "large_title",
    429: "wait_title",
    503: "moment_title",
}
"""Keys of the texts above refusals, by status."""


def study_app(
    site: Site,
    *,
    most_bytes: int = MOST_BYTES,
    body_seconds: float = BODY_SECONDS,
    platform: Platform | None = None,
) -> FastAPI:
    """The web application of a study.

    Args:
        site: What is served.
        most_bytes: Of a request's body.
        body_seconds: In which a body has to arrive.
        platform: How the recruiter is reached; with the server's own environment if not given.

    Examples:
        >>> import tempfile
        >>> from dialens.studies import study_of
        >>> from dialens.studies import TEA
        >>> from dialens.studies.store import Store
        >>> with Store.open(f"sqlite:///{tempfile.mkdtemp()}/study.db") as store:
        ...     app = study_app(Site.of(study_of(TEA), store, password="green or black"))
        >>> sorted(app.openapi()["paths"])[:3]
        ['/api/agents', '/api/cells', '/api/cells/{cell}']
    """
    # The usual pages about the API would load scripts from elsewhere.
    app = FastAPI(
        title="A study with dialens",  # its name may tell what is expected; anybody reads this
        redirect_slashes=False,  # to where the request says that we are
        docs_url=None,
        redoc_url=None,
        openapi_url="/api/openapi.json",
        lifespan=lifespan(site),
        dependencies=[Depends(not_refused)],
    )
    app.include_router(participant_routes(site))
    if is_kiosk(site.study):
        app.include_router(kiosk_routes(site))
    desk = Desk(site, platform or Platform())
    app.include_router(login_routes(site))
    app.include_router(researcher_routes(desk))
    app.include_router(researcher_preview(desk))
    app.include_router(api_routes(site))
    add_health(app, [site.store], {"study": study_mark(site.study.name)})
    add_assets(app)
    add_media(app, lambda: site)
    _add_handlers(app, site)
    check_root(site.root, app.routes)
    app.add_middleware(ResearcherTurns)
    app.add_middleware(
        Guard,
        headers=security_headers(framed_by=site.framed_by),
        most_bytes=most_bytes,
        body_seconds=body_seconds,
    )
    app.add_middleware(RootPath, root=site.root)
    return app


def lifespan(*sites: Site) -> Callable[[Starlette], AbstractAsyncContextManager[None]]:
    """Keep house while the server runs, and close the sites when it stops."""

    @asynccontextmanager
    async def served(_: Starlette) -> AsyncIterator[None]:
        set_threads()
        async with create_task_group() as tasks:
            tasks.start_soon(keep_house, [Housekeeper(site) for site in sites])
            yield
            tasks.cancel_scope.cancel()
        for site in sites:
            await to_thread.run_sync(site.close)

    return served


async def not_refused(request: Request) -> None:
    """Say why the guard refuses a request."""
    # Not a plain function: that would wait for a thread behind everybody who stores something.
    refusal = request.scope.get("dialens.refusal")
    if refusal is not None:
        raise refusal


def add_assets(app: FastAPI) -> None:
    """Serve style sheets, scripts and the mark."""

    @app.get("/assets/{name}", include_in_schema=False)
    def assets(name: str) -> Response:
        # A name out of a list, never a path.
        if name not in ASSETS:
            raise HTTPException(404)
        return Response(asset(name), media_type=ASSETS[name], headers=_KEPT)


def add_media(app: FastAPI, site: Callable[[], Site]) -> None:
    """Serve the pictures, sounds and films of what is served."""

    @app.get("/media/{name}", include_in_schema=False)
    def media(name: str) -> Response:
        # As above; what is not there is of another study, or gone.
        path = site().media_file(name)
        if path is None or not path.is_file():
            raise HTTPException(404)
        return FileResponse(path, media_type=MEDIA_TYPES[path.suffix.lower()], headers=_KEPT)


def _add_handlers(app: FastAPI, site: Site) -> None:
    def refused(request: Request, error: HTTPException) -> Response:
        headers = dict(error.headers or {})
        if address_below(request).startswith("/api") or "json" in request.headers.get("accept", ""):
            return JSONResponse({"detail": str(error.detail)}, error.status_code, headers)
        researcher = address_below(request).startswith(HOME)
        pages = site.researcher_pages if researcher else site.pages_for(request)
        texts = pages.texts
        title = texts.say(_TITLES.get(error.status_code, "wrong_title"))
        message = error.said(texts) if isinstance(error, Refusal) else str(error.detail)
        lost = error.status_code in (404, 405)
        if lost:
            message = texts.say("missing")
        page = pages.sorry(title, message, error.status_code, advice=LOST if lost else "")
        page.headers.update(headers)
        return page

    def unavailable(request: Request, error: DialensError) -> Response:
        log_unavailable(address_below(request), error)
        return refused(request, Refusal(503, "unavailable", {"retry-after": "5"}))

    def unreadable(request: Request, error: Exception) -> Response:
        if isinstance(error, RequestValidationError) and address_below(request).startswith("/api"):
            # Not the values: what a stranger sent is not repeated to them.
            problems = [{name: e[name] for name in ("loc", "msg", "type")} for e in error.errors()]
            return JSONResponse({"detail": problems}, 422)
        return refused(request, Refusal(400, "unreadable"))

    def unknown(request: Request, error: Exception) -> Response:
        return to_login(site)

    def broken(request: Request, error: Exception) -> Response:
        page = refused(request, Refusal(500, "our_fault"))
        # It is made beyond the guard.
        page.headers.update(security_headers(framed_by=site.framed_by))
        page.headers["cache-control"] = "no-store"
        return page

    def gone(request: Request, error: Exception) -> Response:
        # Nobody reads this. An upload that broke off is everyday.
        return Response(status_code=400)

    app.add_exception_handler(ClientDisconnect, gone)
    app.exception_handler(HTTPException)(refused)
    app.exception_handler(StoreUnavailable)(unavailable)
    app.add_exception_handler(EventError, unreadable)
    app.add_exception_handler(RequestValidationError, unreadable)
    app.add_exception_handler(SentToLogin, unknown)
    app.add_exception_handler(Exception, broken)
