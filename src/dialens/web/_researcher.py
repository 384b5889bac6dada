"""The researcher's pages, behind a password: watch, look at conditions, steer, download."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, HTTPException, Query
from fastapi.responses import FileResponse, RedirectResponse, Response
from starlette.background import BackgroundTask

from dialens.agents import KINDS
from dialens.analysis.bias import FLAGS, rater_flags
from dialens.report import write_export_handover
from dialens.studies import Exchange, Screen, filled, talk_of
from dialens.studies.export import export
from dialens.studies.simulation import example
from dialens.studies.store import OperationStore
from dialens.web._chat import ChatState
from dialens.web._forms import SentForm
from dialens.web._login import HOME, STEER, check_ticket, login_name
from dialens.web._pages import arrange
from dialens.web._site import Site
from dialens.web._watching import Watch

STATES = ("open", "paused", "closed")


def researcher_routes(site: Site, watch: Watch) -> APIRouter:
    """The addresses that researchers use."""
    router = APIRouter(prefix=HOME, include_in_schema=False)
    home_address = site.root + HOME
    LoggedIn = Annotated[str, Depends(login_name(site))]

    @router.get("")
    def home(name: LoggedIn) -> Response:
        seen = watch.overview(site.clock())
        return site.pages.page(
            "researcher",
            study=site.study,
            all_studies=site.all_studies,
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
        check_ticket(site, form, name)
        set_state(site, form.get("cell", ""), form.get("state", ""), by="dashboard")
        return RedirectResponse(home_address, 303)

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

    return router


def set_state(site: Site, cell: str, state: str, *, by: str) -> None:
    """Open, pause or close a cell; `by` is logged."""
    if cell not in site.study.targets:
        raise HTTPException(404, "There is no such cell.")
    if state not in STATES:
        raise HTTPException(422, f"A cell is {', '.join(STATES)}.")
    OperationStore(site.store, by).set_cell(site.study.hash, cell, state, now=site.clock())


def preview_page(site: Site, cell: str, index: int, seed: int) -> Response:
    """A screen as participants of a cell see it; nothing is recorded."""
    if cell not in site.study.targets:
        raise HTTPException(404, "There is no such cell.")
    screens = site.planner.screens(cell, seed)
    index = min(index, len(screens) - 1)
    last = index == len(screens) - 1

    def at(place: int) -> str:
        return (
            f"{site.root}{HOME}/preview?{urlencode({'cell': cell, 'index': place, 'seed': seed})}"
        )

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
            "action": f"{site.root}{HOME}/preview",
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
