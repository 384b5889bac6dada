"""The researcher's pages, behind a password: watch, look at conditions, steer, download."""

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, Depends, HTTPException, Request
from fastapi.responses import FileResponse, Response
from starlette.background import BackgroundTask

from dialens.analysis.bias import rater_flags
from dialens.report import write_export_handover
from dialens.studies.export import UnreadableVersion, export
from dialens.studies.judges import LEDGER
from dialens.web._cookies import Login
from dialens.web._desk import Desk
from dialens.web._login import HOME, check_owner
from dialens.web._overview import overview_routes
from dialens.web._payment import payment_routes
from dialens.web._person_pages import people_routes
from dialens.web._preview_screens import preview_routes
from dialens.web._settings_page import settings_routes
from dialens.web._site import Site


def researcher_routes(desk: Desk) -> APIRouter:
    """The addresses that researchers use."""
    router = APIRouter(prefix=HOME, include_in_schema=False)
    LoggedIn = Annotated[Login, Depends(desk.logged_in)]

    @router.get("/export.zip")
    def download(login: LoggedIn) -> Response:
        check_owner(login)
        desk.site.note("data exported", login.who)
        return export_zip(desk.site)

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


def export_zip(site: Site, versions: Sequence[int] = ()) -> Response:
    """Everything that was collected, by pseudonym, as one file; it is gone once it is sent.

    Args:
        site: Of the study.
        versions: Which; all of them if none is named.
    """
    stored = [one for one in site.store.studies() if one.name == site.study.name]
    there = {int(one.version): one.hash for one in stored}
    unknown = sorted(set(versions) - set(there))
    if unknown:
        known = ", ".join(map(str, sorted(there)))
        raise HTTPException(404, f"There is no version {unknown[0]}. Versions: {known}.")
    with _scratch() as folder:
        try:
            export(
                site.store,
                [there[version] for version in sorted(versions or there)],
                folder / site.study.name,
                flags=rater_flags,
                hand_over=write_export_handover,
                judges=None if site.folder is None else site.folder / LEDGER,
            )
        except UnreadableVersion as error:
            raise HTTPException(409, str(error)) from error
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
