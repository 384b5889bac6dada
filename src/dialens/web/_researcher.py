"""The researcher's pages, behind a password: watch, look at conditions, steer, download."""

import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, HTTPException, Query, Request
from fastapi.responses import FileResponse, RedirectResponse, Response
from starlette.background import BackgroundTask

from dialens.analysis.bias import rater_flags
from dialens.report import write_export_handover
from dialens.studies import Exchange, Screen, filled, talk_of
from dialens.studies.export import export
from dialens.studies.simulation import example
from dialens.web._access import password_fits
from dialens.web._chat import ChatState
from dialens.web._desk import HOME, Desk
from dialens.web._forms import SentForm
from dialens.web._overview import overview_routes
from dialens.web._pages import arrange
from dialens.web._payment import payment_routes
from dialens.web._person_pages import people_routes
from dialens.web._settings_page import settings_routes
from dialens.web._site import Site

LOGIN = "login"


def researcher_routes(desk: Desk) -> APIRouter:
    """The addresses that researchers use."""
    site = desk.site
    router = APIRouter(prefix=HOME, include_in_schema=False)
    LoggedIn = Annotated[str, Depends(desk.logged_in)]

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
        response = RedirectResponse(HOME, 303)
        site.cookies.set_login(request, response, secrets.token_urlsafe(24))
        return response

    @router.post("/logout")
    def logout(request: Request, name: LoggedIn, form: SentForm) -> Response:
        desk.check(form, name)
        response = RedirectResponse(f"{HOME}/login", 303)
        site.cookies.end_login(request, response)
        return response

    @router.get("/preview")
    def preview(
        name: LoggedIn,
        cell: Annotated[str, Query(max_length=500)],
        index: Annotated[int, Query(ge=0, le=100_000)] = 0,
        seed: Annotated[int, Query(ge=0, lt=2**31)] = 0,
    ) -> Response:
        return preview_page(site, cell, index, seed)

    @router.get("/export.zip")
    def download(name: LoggedIn) -> Response:
        return export_zip(site)

    whole = APIRouter()
    for part in (overview_routes, people_routes, settings_routes, payment_routes):
        whole.include_router(part(desk))
    whole.include_router(router)
    return whole


def _before(site: Site) -> str:
    return f"{site.cookies.name}-login"


def _login_page(site: Site, request: Request, status: int = 200, message: str = "") -> Response:
    fresh = secrets.token_urlsafe(24)
    page = site.pages.page(
        "login", status, ticket=site.cookies.ticket(LOGIN, fresh), message=message
    )
    secure = request.url.scheme == "https"
    page.set_cookie(_before(site), fresh, 3600, httponly=True, samesite="strict", secure=secure)
    return page


def preview_page(site: Site, cell: str, index: int, seed: int) -> Response:
    """A screen as participants of a cell see it; nothing is recorded."""
    if cell not in site.study.targets:
        raise HTTPException(404, "There is no such cell.")
    screens = site.planner.screens(cell, seed)
    index = min(index, len(screens) - 1)
    last = index == len(screens) - 1

    def at(place: int) -> str:
        return f"{HOME}/preview?{urlencode({'cell': cell, 'index': place, 'seed': seed})}"

    exchanges = _example(site, screens[index])
    screen = filled(screens[index], exchanges)
    talks = site.study.design.conversations
    return site.pages.page(
        "chat" if screen.kind == "chat" else "screen",
        screen=screen,
        chat=ChatState(exchanges, talks.exchanges) if talks else None,
        settings=talks,
        shown=arrange(screen),
        index=index,
        total=len(screens) - 1,
        left=screen.deadline_s,
        preview={
            "cell": cell,
            "previous": at(index - 1),
            "next": None if last else at(index + 1),
            "action": f"{HOME}/preview",
            "fields": {"cell": cell, "index": min(index + 1, len(screens) - 1), "seed": seed},
        },
    )


def _example(site: Site, screen: Screen) -> tuple[Exchange, ...]:
    """A conversation that nobody has had, for screens about one."""
    talks, talk = site.study.design.conversations, talk_of(screen)
    return () if talks is None or talk is None else example(talks, talk)


def with_example(site: Site, screen: Screen) -> Screen:
    """A screen as participants may see it, with an example of what they cannot have said yet."""
    return filled(screen, _example(site, screen))


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
