"""The first page: what the folder holds, and how it hangs together."""

from fastapi import APIRouter
from fastapi.responses import Response

from dialens.web.workbench._desk import Desk


def routes(desk: Desk) -> APIRouter:
    """The overview."""
    router = APIRouter()

    @router.get("/")
    def overview() -> Response:
        return desk.render("overview", here="/", catalogue=desk.workbench.catalogue)

    return router
