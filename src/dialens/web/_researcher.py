"""The researcher's pages, behind a password: watch, look at conditions, steer, download."""

from typing import Annotated

from anyio import to_thread
from fastapi import APIRouter, Depends, Request
from fastapi.responses import Response

from dialens.web._cookies import Login
from dialens.web._desk import Desk
from dialens.web._exporting import export_zip
from dialens.web._login import HOME, check_owner
from dialens.web._overview import overview_routes
from dialens.web._payment import payment_routes
from dialens.web._person_pages import people_routes
from dialens.web._preview_screens import preview_routes
from dialens.web._settings_page import settings_routes


def researcher_routes(desk: Desk) -> APIRouter:
    """The addresses that researchers use."""
    router = APIRouter(prefix=HOME, include_in_schema=False)
    LoggedIn = Annotated[Login, Depends(desk.logged_in)]

    @router.get("/export.zip")
    async def download(request: Request, login: LoggedIn) -> Response:
        check_owner(login)
        await to_thread.run_sync(desk.site.note, "data exported", login.who)
        return await export_zip(request, desk.site, by="dashboard", who=login.who)

    whole = APIRouter()
    for part in (overview_routes, people_routes, settings_routes, payment_routes):
        whole.include_router(part(desk))
    whole.include_router(router)
    return whole


def researcher_preview(desk: Desk) -> APIRouter:
    """The addresses at which researchers look at the study's screens."""

    def allowed(request: Request) -> None:
        desk.logged_in(request)

    return preview_routes(
        f"{HOME}/preview", lambda: desk.site, allowed, editable=False, root=desk.site.root
    )
