"""The researcher's pages, behind a password: watch, look at conditions, steer, download."""

import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, Depends, HTTPException, Request
from fastapi.responses import FileResponse, RedirectResponse, Response
from starlette.background import BackgroundTask

from dialens.agents import KINDS
from dialens.analysis.bias import FLAGS, rater_flags
from dialens.report import write_export_handover
from dialens.studies.export import export
from dialens.studies.store import OperationStore
from dialens.web._access import password_fits
from dialens.web._forms import SentForm
from dialens.web._preview_screens import preview_routes
from dialens.web._site import Site
from dialens.web._watching import Watch

LOGIN, STEER = "login", "steer"
STATES = ("open", "paused", "closed")
_HOME = "/researcher"


class SentToLogin(Exception):
    """Nobody is logged in."""


def researcher_routes(site: Site, watch: Watch) -> APIRouter:
    """The addresses that researchers use."""
    router = APIRouter(prefix=_HOME, include_in_schema=False)

    def logged_in(request: Request) -> str:
        name = site.cookies.login(request)
        if name is None:
            raise SentToLogin
        return name

    LoggedIn = Annotated[str, Depends(logged_in)]

    @router.get("/login")
    def login_page(request: Request) -> Response:
        return _login_page(site, request)

    @router.post("/login")
    def login(request: Request, form: SentForm) -> Response:
        # The name before the login counts for the form only: a new one comes with the password.
        before = request.cookies.get(_before(site), "")
        if not before or not site.cookies.is_ticket(form.get("ticket", ""), LOGIN, before):
            return _login_page(site, request, 403, "The form was out of date. Please try again.")
        if not password_fits(site, request, form.get("password", "")):
            return _login_page(site, request, 401, "This is not the password.")
        response = RedirectResponse(_HOME, 303)
        site.cookies.set_login(request, response, secrets.token_urlsafe(24))
        return response

    @router.post("/logout")
    def logout(request: Request, name: LoggedIn, form: SentForm) -> Response:
        _check(site, form, name)
        response = RedirectResponse(f"{_HOME}/login", 303)
        site.cookies.end_login(request, response)
        return response

    @router.get("")
    def home(name: LoggedIn) -> Response:
        seen = watch.overview(site.clock())
        return site.researcher_pages.page(
            "researcher",
            study=site.study,
            seen=seen,
            wanted=sum(cell.target for cell in seen.cells),
            completed=sum(cell.completed for cell in seen.cells),
            live=sum(cell.live for cell in seen.cells),
            left=sum(cell.expired for cell in seen.cells),
            flags=FLAGS,
            why=KINDS,
            ticket=site.cookies.ticket(STEER, name),
        )

    @router.post("/cells")
    def steer(name: LoggedIn, form: SentForm) -> Response:
        _check(site, form, name)
        set_state(site, form.get("cell", ""), form.get("state", ""), by="dashboard")
        return RedirectResponse(_HOME, 303)

    @router.get("/export.zip")
    def download(name: LoggedIn) -> Response:
        return export_zip(site)

    return router


def researcher_preview(site: Site) -> APIRouter:
    """The addresses at which researchers look at the study's screens."""

    def allowed(request: Request) -> None:
        if site.cookies.login(request) is None:
            raise SentToLogin

    return preview_routes(f"{_HOME}/preview", lambda: site, allowed, editable=False)


def _check(site: Site, form: dict[str, str], name: str) -> None:
    if not site.cookies.is_ticket(form.get("ticket", ""), STEER, name):
        raise HTTPException(403, "This form is not yours or out of date.")


def _before(site: Site) -> str:
    return f"{site.cookies.name}-login"


def _login_page(site: Site, request: Request, status: int = 200, message: str = "") -> Response:
    fresh = secrets.token_urlsafe(24)
    page = site.researcher_pages.page(
        "login", status, ticket=site.cookies.ticket(LOGIN, fresh), message=message
    )
    secure = request.url.scheme == "https"
    page.set_cookie(_before(site), fresh, 3600, httponly=True, samesite="strict", secure=secure)
    return page


def set_state(site: Site, cell: str, state: str, *, by: str) -> None:
    """Open, pause or close a cell; `by` is logged."""
    if cell not in site.study.targets:
        raise HTTPException(404, "There is no such cell.")
    if state not in STATES:
        raise HTTPException(422, f"A cell is {', '.join(STATES)}.")
    OperationStore(site.store, by).set_cell(site.study.hash, cell, state, now=site.clock())


def export_zip(site: Site) -> Response:
    """Everything that was collected, by pseudonym, as one file; it is gone once it is sent."""
    with _scratch() as folder:
        export(
            site.store,
            site.study.hash,
            folder / site.study.name,
            flags=rater_flags,
            hand_over=write_export_handover,
        )
        archive = shutil.make_archive(
            str(folder / "export"), "zip", root_dir=folder, base_dir=site.study.name
        )
        return FileResponse(
            archive,
            media_type="application/zip",
            filename=f"{site.study.name}-export.zip",
            background=BackgroundTask(shutil.rmtree, folder),
        )


@contextmanager
def _scratch() -> Iterator[Path]:
    """A folder that stays if all goes well, for whoever sends what is in it."""
    folder = Path(tempfile.mkdtemp(prefix="dialens-export-"))
    try:
        yield folder
    except BaseException:
        shutil.rmtree(folder)
        raise
