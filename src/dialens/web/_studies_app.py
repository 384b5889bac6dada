"""Several studies in one server: each below its name, and an index for the researcher alone."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

from fastapi import Depends, FastAPI, Request
from fastapi.responses import RedirectResponse, Response
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.routing import BaseRoute, Mount, Route

from dialens.base import DialensError
from dialens.studies import Study
from dialens.studies.store import EndedLogins, LoginTries, Store, StoreUnavailable
from dialens.studies.texts import Texts
from dialens.web._cookies import CookieJar, Login, LoginScope
from dialens.web._guard import Guard, security_headers
from dialens.web._health import add_health, log_unavailable
from dialens.web._login import HOME, STEER, SentToLogin, login_of, login_routes, to_login
from dialens.web._pages import Templates
from dialens.web._password import Password
from dialens.web._root_path import RootPath, root_path
from dialens.web._site import Site
from dialens.web._study_app import add_assets, lifespan, not_refused, study_app
from dialens.web._turns import ResearcherTurns

_TITLE = "Studies"
_RESERVED = ("assets", "healthz", HOME.strip("/"))


@dataclass(frozen=True)
class ServedStudy:
    """A study to be served.

    Attributes:
        study: What is asked.
        store: Where answers go.
        folder: Where the study file lies.
    """

    study: Study
    store: Store
    folder: Path | None = None


@dataclass(frozen=True)
class Index:
    """The researcher's list of all studies of a server.

    Attributes:
        sites: The studies.
        cookies: What the researcher's browser keeps.
        password: The researcher's.
        researcher_pages: Makes HTML.
    """

    sites: tuple[Site, ...]
    cookies: CookieJar
    password: Password
    researcher_pages: Templates

    @classmethod
    def of(
        cls,
        studies: Sequence[ServedStudy],
        *,
        password: str,
        viewer_password: str = "",
        root: str = "",
    ) -> "Index":
        """Register studies in their stores and make them ready to be served.

        Args:
            studies: What is served.
            password: For the researcher's pages of all of them.
            viewer_password: For who may look at them and change nothing; none if empty.
            root: The path that all addresses begin with.
        """
        root, names = root_path(root), [one.study.name for one in studies]
        check_names(names)
        keys = b"".join(one.store.secrets.signing_key() for one in studies)
        key = hashlib.sha256(b"login to several studies" + keys).digest()
        # One of them remembers for all which logins have ended, and how many failed.
        first = studies[0].store
        tries = LoginTries(first.database, first.secrets, lambda: datetime.now(UTC))
        shared = Password(password, tries, viewer=viewer_password)
        ended = EndedLogins(first.database)
        login = LoginScope("dialens-researcher", shared.bound(key), root, ended)
        sites = tuple(
            Site.of(
                one.study,
                one.store,
                password=shared,
                folder=one.folder,
                root=f"{root}/{one.study.name}",
                login=login,
            )
            for one in studies
        )
        cookies = CookieJar(key, "index", framed=False, root=root, login=login)
        return cls(sites, cookies, shared, Templates(Texts.of("en"), root=root, title=_TITLE))

    def note(self, what: str, who: str) -> None:
        """Write down what a researcher did, in the log of changes of every study."""
        for site in self.sites:
            site.note(what, who)


def check_names(names: Sequence[str]) -> None:
    """Refuse studies that cannot have an address each.

    Examples:
        >>> check_names(["tea", "coffee"])
    """
    for name in names:
        if names.count(name) > 1:
            raise DialensError(
                f"Two of the studies are called {name}, and each is served below its name. Change "
                "`study` in one of the files, or serve them from two servers."
            )
        if name in _RESERVED:
            raise DialensError(
                f"A study called {name} cannot be served together with others: /{name} is an "
                "address of the server. Change `study` in its file."
            )


def studies_app(index: Index) -> Starlette:
    """The web application of several studies.

    Participants start at `/NAME/`; nothing leads from one study to another, and only the researcher
    gets the list. Each study has a guard of its own, since some are shown in a recruiter's frame.
    """
    below = [route for site in index.sites for route in _routes(site)]
    return Starlette(
        routes=[*below, Mount("", _index_app(index))],
        middleware=[Middleware(RootPath, root=index.cookies.root)],
        lifespan=lifespan(*index.sites),
    )


def _routes(site: Site) -> tuple[BaseRoute, ...]:
    async def with_slash(request: Request) -> Response:
        query = f"?{request.url.query}" if request.url.query else ""
        return RedirectResponse(f"{site.root}/{query}", 307)

    path = f"/{site.study.name}"
    return Route(path, with_slash), Mount(path, study_app(site))


def _index_app(index: Index) -> FastAPI:
    app = FastAPI(
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        redirect_slashes=False,
        dependencies=[Depends(not_refused)],
    )
    app.include_router(login_routes(index))
    _add_pages(app, index)
    add_health(app, [site.store for site in index.sites], {})
    add_assets(app)
    _add_handlers(app, index)
    app.add_middleware(ResearcherTurns)
    app.add_middleware(Guard, headers=security_headers())
    return app


def _add_pages(app: FastAPI, index: Index) -> None:
    LoggedIn = Annotated[Login, Depends(login_of(index))]

    @app.get(HOME, include_in_schema=False)
    def home(login: LoggedIn) -> Response:
        listed = [(site, site.store.progress(site.study.hash)) for site in index.sites]
        return index.researcher_pages.page(
            "studies", listed=listed, ticket=index.cookies.ticket(STEER, login.session)
        )


def _add_handlers(app: FastAPI, index: Index) -> None:
    def refused(request: Request, error: HTTPException) -> Response:
        missing = error.status_code == 404
        title = "There is nothing here" if missing else "This did not work"
        message = "Please open the address that you were sent." if missing else str(error.detail)
        return index.researcher_pages.sorry(title, message, error.status_code)

    def unavailable(request: Request, error: DialensError) -> Response:
        log_unavailable(request.url.path, error)
        message = "The database does not answer. Please try again in a moment."
        return index.researcher_pages.sorry("This did not work", message, 503)

    def unknown(request: Request, error: Exception) -> Response:
        return to_login(index)

    app.exception_handler(HTTPException)(refused)
    app.exception_handler(StoreUnavailable)(unavailable)
    app.add_exception_handler(SentToLogin, unknown)
