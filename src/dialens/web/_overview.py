"""The dashboard's first page: where the study stands, cell by cell; its screens."""

from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Depends, HTTPException
from fastapi.responses import RedirectResponse, Response

from dialens.agents import KINDS
from dialens.studies import Precision
from dialens.studies.store import CellProgress, OperationStore
from dialens.web._cookies import Login
from dialens.web._desk import Desk
from dialens.web._forms import SentForm
from dialens.web._login import HOME
from dialens.web._site import Site
from dialens.web._standing import Standing, standing

STATES = ("open", "paused", "closed")
_DOES = {"open": "Open", "paused": "Pause", "closed": "Close"}


def overview_routes(desk: Desk) -> APIRouter:
    """The addresses of the first page and of the screens."""
    router = APIRouter(prefix=HOME, include_in_schema=False)
    site, watch = desk.site, desk.watch
    LoggedIn = Annotated[Login, Depends(desk.logged_in)]

    @router.get("")
    def home(login: LoggedIn) -> Response:
        cells = watch.cells()
        known = watch.precision()
        return desk.page(
            "home",
            login,
            cells=cells,
            ends=watch.ends(),
            times=watch.times(),
            talks=watch.talks(),
            quality=watch.quality(),
            waves=watch.waves(),
            precision=() if known is None else known.sentences,
            state_of=str if known is None else known.state_of,
            stands=stands(desk, cells, known),
            does=_DOES,
            why=KINDS,
        )

    @router.get("/screens")
    def screens(login: LoggedIn) -> Response:
        cells: dict[str, list[dict[str, Any]]] = {cell.cell: [] for cell in watch.cells()}
        for row in watch.dropout():
            later = "" if row["wave"] == 1 else f", wave {row['wave']}"
            cells.setdefault(f"{row['cell']}{later}", []).append(row)
        return desk.page("screens", login, cells=cells)

    @router.post("/cells")
    def steer(login: LoggedIn, form: SentForm) -> Response:
        desk.check(form, login)
        cell, state = form.get("cell", ""), form.get("state", "")
        check_state(state)
        chosen = [one.name for one in site.study.cells] if not cell else [cell]
        check_cell(site, chosen[0])
        if state == "closed" or not cell:
            asked = desk.sure(
                login,
                form,
                title=f"{_DOES[state]} {cell or 'every cell'}?",
                lines=_consequences(state, len(chosen)),
                action=f"{desk.home}/cells",
                word=f"{_DOES[state]} {'it' if cell else 'all of them'}",
                back=desk.home,
            )
            if asked is not None:
                return asked
        for one in chosen:
            set_state(site, one, state, desk.operating(login))
        return RedirectResponse(desk.home, 303)

    return router


def stands(desk: Desk, cells: Sequence[CellProgress], known: Precision | None) -> Standing:
    """Where the study stands now; `known` is what says when it is enough."""
    site = desk.site
    there = desk.records.attendance(site.study.hash)
    running = site.running.now()
    wanted = sum(cell.target for cell in cells)
    return standing(
        cells,
        there.began_at,
        desk.now(),
        finished=there.finished,
        cost=desk.platform.recruiter(running).estimate(running, max(wanted, 1)),
        precision=known,
    )


def check_state(state: str) -> None:
    """Refuse what no cell can be."""
    if state not in STATES:
        raise HTTPException(422, f"A cell is {', '.join(STATES)}.")


def check_cell(site: Site, cell: str) -> None:
    """Refuse a cell that is not there."""
    if cell not in site.study.targets:
        raise HTTPException(404, "There is no such cell.")


def set_state(site: Site, cell: str, state: str, operating: OperationStore) -> None:
    """Open, pause or close a cell, in the name of whoever operates."""
    check_cell(site, cell)
    check_state(state)
    operating.set_cell(site.study.hash, cell, state, now=site.clock())


def _consequences(state: str, cells: int) -> tuple[str, ...]:
    what = "These cells" if cells > 1 else "The cell"
    if state == "open":
        return (f"{what} will take new people, up to the number that is wanted.",)
    told = (
        "read that there is a short break" if state == "paused" else "read that the study is closed"
    )
    return (
        f"{what} will take nobody new; people who arrive and find no open cell {told}.",
        "Whoever has begun goes on, and nothing is lost. It can be opened again at any time.",
    )
