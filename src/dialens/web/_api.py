"""What the researcher's pages say, as JSON, for programs: `/api`, described by OpenAPI."""

from datetime import datetime
from functools import partial
from typing import Annotated, Any, Literal

from anyio import to_thread
from fastapi import APIRouter, Depends, HTTPException, Path, Query, Request
from fastapi.responses import FileResponse, Response
from pydantic import BaseModel, ConfigDict

from dialens.studies import SCREEN_KINDS
from dialens.studies.store import OperationStore
from dialens.web._access import Bearer, looks_only, role_of
from dialens.web._exporting import export_zip
from dialens.web._operation_api import operation_routes
from dialens.web._overview import set_state
from dialens.web._pages import arrange
from dialens.web._password import VIEWER
from dialens.web._preview_screens import with_example
from dialens.web._site import Site

State = Literal["open", "paused", "closed"]
CellName = Annotated[str, Path(max_length=500, description="As in `GET /api/cells`.")]
Versions = Annotated[
    tuple[Annotated[int, Query(ge=1)], ...],
    Query(max_length=1_000, description="Of the study; may be repeated. All if not given."),
]


class Problem(BaseModel):
    """Why a request was refused."""

    detail: str


class StudyInfo(BaseModel):
    """What is being served."""

    name: str
    version: int
    title: str
    hash: str
    cells: list[str]
    minutes: int


class CellInfo(BaseModel):
    """How far a cell is."""

    cell: str
    state: State
    target: int
    completed: int
    live: int
    expired: int
    restarted: int
    ended: int
    excluded: int


class EarlyEndInfo(BaseModel):
    """How many participations ended early in the same way."""

    outcome: str
    reason: str | None
    deleted: bool
    n: int


class NewState(BaseModel):
    """What a cell is to be."""

    model_config = ConfigDict(extra="forbid")

    state: State


class TimesInfo(BaseModel):
    """Median times."""

    completed_minutes: float | None
    active_minutes: float | None
    seconds_by_kind: dict[str, float]


class ScreenInfo(BaseModel):
    """How many reached a screen, submitted it, are at it, and left at it."""

    cell: str
    wave: int
    index: int
    screen: str | None
    kind: str | None
    reached: int
    submitted: int
    here_now: int
    left: int
    median_active_s: float | None


class RaterInfo(BaseModel):
    """How one participant answers."""

    participant: str
    n_ratings: int
    median_seconds: float | None
    same_share: float | None
    n_failed_checks: int | None
    flags: list[str]


class QualityInfo(BaseModel):
    """Quality of the data as of a time; nothing is known while it is first worked out."""

    at: datetime | None
    n_checks: int | None
    n_failed: int | None
    under_way: str | None
    raters: list[RaterInfo]


class AgentInfo(BaseModel):
    """How an agent does that participants talk with."""

    agent: str
    talks: int
    replies: int
    waiting: int
    given_up: int
    median_seconds: float | None
    failures: dict[str, int]


class PreviewInfo(BaseModel):
    """A screen as participants of a cell see it."""

    index: int
    total: int
    id: str
    kind: Literal[SCREEN_KINDS]  # type: ignore[valid-type]
    title: str
    body: list[dict[str, Any]]
    forms: list[dict[str, Any]]
    deadline_s: float | None


_REFUSED: dict[int | str, dict[str, Any]] = {
    401: {"model": Problem, "description": "The password is missing or wrong."},
    403: {"model": Problem, "description": "The password lets you look, and do no more."},
    429: {"model": Problem, "description": "Too many wrong passwords."},
}
_NO_CELL: dict[int | str, dict[str, Any]] = {
    404: {"model": Problem, "description": "There is no such cell."}
}


def api_routes(site: Site) -> APIRouter:
    """The addresses under `/api`."""
    watch = site.watch

    def researcher(request: Request, given: Bearer) -> None:
        role = None if given is None else role_of(site, request, given.credentials)
        takes = request.method not in ("GET", "HEAD") or request.url.path.endswith("/export.zip")
        if role == VIEWER and takes:
            raise looks_only("")
        if role is None:
            raise HTTPException(
                401, "Send the password as a bearer token.", {"www-authenticate": "Bearer"}
            )

    router = APIRouter(
        prefix="/api", tags=["study"], dependencies=[Depends(researcher)], responses=_REFUSED
    )

    @router.get("/study")
    def study() -> StudyInfo:
        """What is being served."""
        design = site.study.design
        cells = [cell.name for cell in site.study.cells]
        return StudyInfo(
            name=site.study.name,
            version=design.version,
            title=design.title,
            hash=site.study.hash,
            cells=cells,
            minutes=site.minutes,
        )

    def cell_infos(cell: str | None = None) -> list[CellInfo]:
        return [
            CellInfo.model_validate(progress, from_attributes=True)
            for progress in watch.cells()
            if cell in (None, progress.cell)
        ]

    @router.get("/cells")
    def cells() -> list[CellInfo]:
        """How far each cell is."""
        return cell_infos()

    @router.put("/cells/{cell}", responses=_NO_CELL)
    def steer(cell: CellName, new: NewState) -> CellInfo:
        """Open, pause or close a cell; who is in it goes on."""
        set_state(site, cell, new.state, OperationStore(site.store, "api"))
        return cell_infos(cell)[0]

    @router.get("/early_ends")
    def early_ends() -> list[EarlyEndInfo]:
        """How many did not agree, were screened out, failed comprehension, or withdrew."""
        return [EarlyEndInfo.model_validate(end, from_attributes=True) for end in watch.ends()]

    @router.get("/times")
    def times() -> TimesInfo:
        """Median times."""
        seen = watch.times()
        return TimesInfo(
            completed_minutes=seen.completed_minutes,
            active_minutes=seen.active_minutes,
            seconds_by_kind=seen.by_kind,
        )

    @router.get("/dropout")
    def dropout() -> list[ScreenInfo]:
        """Where people are and where they left, screen by screen."""
        return [ScreenInfo(**row) for row in watch.dropout()]

    @router.get("/quality")
    def quality(
        limit: Annotated[int, Query(ge=1, le=10_000, description="Participants at most.")] = 1_000,
    ) -> QualityInfo:
        """Checks, speed and straight-lining of participants, those with most flags first."""
        seen = watch.quality()
        return QualityInfo(
            at=seen.at,
            n_checks=seen.n_checks,
            n_failed=seen.n_failed,
            under_way=seen.under_way or None,
            raters=[
                RaterInfo(
                    participant=rater.participant,
                    n_ratings=rater.n_ratings,
                    median_seconds=rater.median_seconds,
                    same_share=rater.same_share,
                    n_failed_checks=rater.n_failed_checks,
                    flags=list(rater.flags),
                )
                for rater in seen.raters[:limit]
            ],
        )

    @router.get("/agents")
    def agents() -> list[AgentInfo]:
        """How the agents do that participants talk with: replies, seconds, failures by reason."""
        return [AgentInfo(**row) for row in watch.talks().agents]

    @router.get("/preview/{cell}", responses=_NO_CELL)
    def preview(
        cell: CellName,
        index: Annotated[int, Query(ge=0, le=100_000)] = 0,
        seed: Annotated[int, Query(ge=0, lt=2**31)] = 0,
    ) -> PreviewInfo:
        """A screen as participants of a cell see it; nothing is recorded."""
        if cell not in site.study.targets:
            raise HTTPException(404, "There is no such cell.")
        screens = site.planner.screens(cell, seed)
        place = min(index, len(screens) - 1)
        screen = with_example(site.study, screens[place])
        shown = arrange(screen, texts=site.study.texts)
        return PreviewInfo(
            index=place,
            total=len(screens) - 1,
            id=screen.id,
            kind=screen.kind,
            title=screen.title,
            body=[dict(block) for block in screen.body],
            forms=[{"field": q.name, **q.form.as_json()} for q in shown.asked],
            deadline_s=screen.deadline_s,
        )

    @router.get(
        "/export.zip",
        response_class=FileResponse,
        responses={
            200: {"content": {"application/zip": {}}, "description": "Tables, codebook."},
            404: {"model": Problem, "description": "There is no such version."},
            409: {"model": Problem, "description": "A version cannot be read any more."},
        },
    )
    async def download(request: Request, version: Versions = ()) -> Response:
        """Everything that was collected, by pseudonym: tables, codebook, card."""
        note = partial(OperationStore(site.store, "api").note, now=site.clock())
        await to_thread.run_sync(note, site.study.hash, "data exported")
        return await export_zip(request, site, version, by="api")

    router.include_router(operation_routes(site))
    return router
