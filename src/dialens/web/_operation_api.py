"""The part of `/api` that changes how a study is run, and says who took part."""

from datetime import datetime
from json import loads
from typing import Annotated, Any

from fastapi import APIRouter, HTTPException, Path, Request
from pydantic import BaseModel, ConfigDict
from pydantic import Field as Setting

from dialens.base import DialensError
from dialens.studies import NOTES, OPERATION, named, operation_values
from dialens.studies.recruiters import LONGEST_ID, personal_links
from dialens.studies.store import OperationStore, UnknownParticipant
from dialens.web._site import Site

Settings = Annotated[
    dict[str, Any],
    Setting(
        description=f"As in a study file; one or more of {', '.join(OPERATION)}.",
        examples=[{"targets": 30, "recruiter": {"reward": 2.5}}],
    ),
]
Pseudonym = Annotated[str, Path(max_length=100, description="As in `GET /api/participants`.")]
Code = Annotated[str, Path(max_length=100, description="A completion code.")]


class Refused(BaseModel):
    """Why a change was refused."""

    detail: str


class OperationInfo(BaseModel):
    """How a study is run: every setting that may change, by its name."""

    settings: dict[str, Any]


class ChangeInfo(BaseModel):
    """Something that was changed while the study ran."""

    at: datetime
    by: str
    who: str | None
    what: str
    participant: str | None
    before: Any
    after: Any
    why: str | None


class ParticipantInfo(BaseModel):
    """Somebody who began the study."""

    participant: str
    rater_kind: str
    recruiter: str
    wave: int
    cell: str
    attempts: int
    state: str
    screens: int
    begun_at: datetime
    consented_at: datetime | None
    last_seen_at: datetime
    ended_at: datetime | None
    minutes: float | None
    active_minutes: float | None
    paid_at: datetime | None
    excluded: bool
    excluded_why: str | None


class Exclusion(BaseModel):
    """Whether somebody is left out of the analysis."""

    model_config = ConfigDict(extra="forbid")

    excluded: bool
    why: str = Setting(default="", max_length=2_000)


class CodeInfo(BaseModel):
    """Somebody who got a completion code."""

    participant: str
    version: str
    recruiter: str
    cell: str
    wave: int
    state: str
    ended_at: datetime
    paid_at: datetime | None
    excluded_why: str | None


class Invited(BaseModel):
    """People on a list, by ids of your own."""

    model_config = ConfigDict(extra="forbid")

    ids: list[Annotated[str, Setting(min_length=1, max_length=LONGEST_ID)]] = Setting(
        min_length=1, max_length=10_000
    )


class LinkInfo(BaseModel):
    """A personal link, for its owner alone."""

    id: str
    link: str


class LinkInfos(BaseModel):
    """Personal links, in the order in which they were asked for."""

    links: list[LinkInfo]


_NOBODY: dict[int | str, dict[str, Any]] = {
    404: {"model": Refused, "description": "There is no such participant."},
    409: {"model": Refused, "description": "It cannot be changed in this way."},
}
_FIXED: dict[int | str, dict[str, Any]] = {
    409: {"model": Refused, "description": "It cannot be changed in this way."}
}


def operation_routes(site: Site) -> APIRouter:
    """The addresses; the caller asks for the password."""
    router = APIRouter()
    operating = OperationStore(site.store, "api")
    study = site.study.hash

    def settings() -> OperationInfo:
        values = operation_values(site.running.now().design)
        return OperationInfo(
            settings={named(at): value for at, value in values.items() if at[0] not in NOTES}
        )

    def person(pseudonym: str) -> ParticipantInfo:
        found = [one for one in people() if one.participant == pseudonym]
        if not found:
            raise HTTPException(404, "There is no such participant.")
        return found[-1]

    @router.get("/operation")
    def operation() -> OperationInfo:
        """How the study is run now: targets, limits, closing words, payment."""
        return settings()

    @router.put("/operation", responses=_FIXED)
    def operate(changed: Settings) -> OperationInfo:
        """Change how the study is run, at once, while people take part; each change is logged."""
        try:
            operating.operate(study, changed, now=site.clock())
        except DialensError as error:
            raise HTTPException(409, str(error)) from error
        return settings()

    @router.get("/changes")
    def changes() -> list[ChangeInfo]:
        """What was changed while the study ran, by whom and when, the oldest first."""
        return [
            ChangeInfo(
                at=row["at"],
                by=row["by"],
                who=row["who"],
                what=row["what"],
                participant=row["rater"],
                before=loads(row["before"]),
                after=loads(row["after"]),
                why=row["why"],
            )
            for row in operating.changes_frame(study).iter_rows(named=True)
        ]

    @router.get("/participants")
    def people() -> list[ParticipantInfo]:
        """Everybody who began the study, in the order of arrival."""
        table = operating.participants_frame(study).rename({"rater": "participant"})
        return [ParticipantInfo.model_validate(row) for row in table.to_dicts()]

    @router.put("/participants/{participant}", responses=_NOBODY)
    def exclude(participant: Pseudonym, change: Exclusion) -> ParticipantInfo:
        """Leave somebody out of the analysis and open their place again, or undo it."""
        person(participant)
        try:
            if change.excluded:
                operating.exclude(participant, change.why, now=site.clock())
            else:
                operating.include(participant, now=site.clock())
        except UnknownParticipant as error:
            raise HTTPException(404, "There is no such participant.") from error
        except DialensError as error:
            raise HTTPException(409, str(error)) from error
        return person(participant)

    @router.get("/codes/{code}")
    def holders(code: Code) -> list[CodeInfo]:
        """Whose completion code it is; nobody's if the list is empty."""
        return [
            CodeInfo.model_validate(holder, from_attributes=True)
            for holder in operating.code_holders(code)
            if holder.study == site.study.name
        ]

    @router.post("/links", responses=_FIXED)
    def links(request: Request, invited: Invited) -> LinkInfos:
        """A personal link for each id, the same whenever it is asked for."""
        people = [{"id": one} for one in invited.ids]
        try:
            running = site.running.now()
            made = personal_links(running, site.store.secrets, str(request.base_url), people)
        except DialensError as error:
            raise HTTPException(409, str(error)) from error
        return LinkInfos(links=[LinkInfo(**one) for one in made])

    return router
