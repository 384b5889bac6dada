"""Who took part, as tables and by completion code."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, cast

import polars as pl
from sqlalchemy import Connection, Select, and_, func, select

from dialens.base import did_you_mean
from dialens.studies._raters import SIMULATED
from dialens.studies._waves import FIRST
from dialens.studies.store._frames import STATE
from dialens.studies.store._problems import UnknownParticipant
from dialens.studies.store._secrets import Secrets
from dialens.studies.store._tables import (
    COMPLETED,
    cells,
    participants,
    sessions,
    studies,
    submissions,
)

_TIME = pl.Datetime("us", "UTC")

_PARTICIPANTS: dict[str, pl.DataType | type[pl.DataType]] = {
    "study": pl.String,
    "version": pl.String,
    "rater": pl.String,
    "rater_kind": pl.String,
    "recruiter": pl.String,
    "wave": pl.Int64,
    "cell": pl.String,
    "language": pl.String,
    "attempts": pl.Int64,
    "state": pl.String,
    "screens": pl.Int64,
    "begun_at": _TIME,
    "consented_at": _TIME,
    "last_seen_at": _TIME,
    "ended_at": _TIME,
    "minutes": pl.Float64,
    "active_minutes": pl.Float64,
    "paid_at": _TIME,
    "excluded": pl.Boolean,
    "excluded_at": _TIME,
    "excluded_why": pl.String,
    "code": pl.String,
}
PARTICIPANTS = pl.Schema(_PARTICIPANTS)
"""One row a person and wave; state, cell, times and code are those of the last attempt there."""

IDENTITIES = pl.Schema(
    {
        "study": pl.String,
        "version": pl.String,
        "rater": pl.String,
        "recruiter": pl.String,
        "worker": pl.String,
        "wave": pl.Int64,
        "completion_code": pl.String,
    }
)
"""One row a person and wave: the pseudonym beside what names them elsewhere."""


@dataclass(frozen=True)
class CodeHolder:
    """Somebody who got a completion code.

    Attributes:
        code: The code.
        participant: The pseudonym.
        study: The study's name.
        version: Of the study.
        recruiter: Where the person came from.
        cell: The condition.
        wave: The part of the study that was completed, from 1.
        state: Of the session.
        ended_at: When it was completed.
        paid_at: When the person was paid, as far as the database was told.
        excluded_why: Why the person is left out of the analysis; none if they are not.
    """

    code: str
    participant: str
    study: str
    version: str
    recruiter: str
    cell: str
    wave: int
    state: str
    ended_at: datetime
    paid_at: datetime | None
    excluded_why: str | None


@dataclass(frozen=True)
class Attendance:
    """How many took part.

    Attributes:
        people: Everybody who began.
        simulated: How many of them were simulated.
        began_at: When the first began the first wave; none if nobody has.
        finished: How many completed it, those included that were excluded later.
    """

    people: int
    simulated: int
    began_at: datetime | None
    finished: int


def attendance(connection: Connection, study_id: int) -> Attendance:
    """How many took part in a study, counted in the database."""
    own = participants.c.study_id == study_id
    kinds = (
        select(participants.c.rater_kind, func.count(participants.c.id.distinct()).label("people"))
        .join(sessions, sessions.c.participant_id == participants.c.id)
        .where(own)
        .group_by(participants.c.rater_kind)
    )
    counts = {row.rater_kind: row.people for row in connection.execute(kinds)}
    done = func.count().filter(STATE == COMPLETED)
    counted = cast("Select[Any]", select(func.min(sessions.c.started_at), done))
    first = _last_attempts(counted)
    began_at, finished = connection.execute(first.where(own, sessions.c.wave == FIRST)).one()
    return Attendance(sum(counts.values()), counts.get(SIMULATED, 0), began_at, finished)


def participants_frame(connection: Connection, study_id: int) -> pl.DataFrame:
    """Everybody who began a study, in the columns of `PARTICIPANTS`, in the order of arrival."""
    spent = (
        select(
            submissions.c.session_id,
            func.sum(submissions.c.active_ms).label("active_ms"),
            func.max(submissions.c.received_at)
            .filter(submissions.c.kind == "consent")
            .label("consented_at"),
        )
        .join(sessions, sessions.c.id == submissions.c.session_id)
        .join(cells, cells.c.id == sessions.c.cell_id)
        .where(cells.c.study_id == study_id)
        .group_by(submissions.c.session_id)
        .subquery()
    )
    query = _of_study(
        _last_attempts(
            select(
                studies.c.name,
                studies.c.version,
                participants.c.pseudonym,
                participants.c.rater_kind,
                participants.c.recruiter,
                sessions.c.wave,
                cells.c.name.label("cell"),
                sessions.c.language,
                sessions.c.attempt,
                STATE,
                sessions.c.position,
                sessions.c.started_at,
                spent.c.consented_at,
                sessions.c.seen_at,
                sessions.c.ended_at,
                spent.c.active_ms,
                participants.c.paid_at,
                participants.c.excluded_at,
                participants.c.excluded_why,
                sessions.c.code,
            )
        ).outerjoin(spent, spent.c.session_id == sessions.c.id),
        study_id,
    )
    rows = [_row(row) for row in connection.execute(query)]
    return pl.DataFrame(rows, schema=PARTICIPANTS, orient="row")


def _row(row: Any) -> tuple[Any, ...]:
    whole = None if row.ended_at is None else (row.ended_at - row.started_at).total_seconds() / 60
    active = None if row.active_ms is None else float(row.active_ms) / 60_000
    return (
        *tuple(row)[:15],
        whole,
        active,
        row.paid_at,
        row.excluded_at is not None,
        row.excluded_at,
        row.excluded_why,
        row.code,
    )


def identities_frame(connection: Connection, study_id: int, secrets: Secrets) -> pl.DataFrame:
    """Everybody's id at the recruiter, decrypted, in the columns of `IDENTITIES`."""
    query = _of_study(
        _last_attempts(
            select(
                studies.c.name,
                studies.c.version,
                participants.c.pseudonym,
                participants.c.recruiter,
                participants.c.worker_sealed,
                sessions.c.wave,
                sessions.c.code,
            )
        ),
        study_id,
    )
    rows = []
    for name, version, pseudonym, recruiter, sealed, wave, code in connection.execute(query):
        worker = None if sealed is None else secrets.unseal(sealed, owner=pseudonym)
        rows.append((name, version, pseudonym, recruiter, worker, wave, code))
    return pl.DataFrame(rows, schema=IDENTITIES, orient="row")


_NO_DASHES = dict.fromkeys(map(ord, "-\u2010\u2011\u2012\u2013\u2014\u2212"))
"""Whatever stands for a dash where a code was copied from."""


def code_holders(connection: Connection, code: str) -> tuple[CodeHolder, ...]:
    """Whose completion code it is, in whatever case, spaces and dashes it is written."""
    bare = func.replace(func.replace(func.upper(sessions.c.code), "-", ""), " ", "")
    wanted = "".join(code.upper().split()).translate(_NO_DASHES)
    query = (
        _last_attempts(
            select(
                sessions.c.code,
                participants.c.pseudonym,
                studies.c.name,
                studies.c.version,
                participants.c.recruiter,
                cells.c.name,
                sessions.c.wave,
                STATE,
                sessions.c.ended_at,
                participants.c.paid_at,
                participants.c.excluded_why,
            )
        )
        .where(bare == wanted)
        .order_by(sessions.c.ended_at)
    )
    return tuple(CodeHolder(*row) for row in connection.execute(query))


def unknown_participant(connection: Connection, participant: str) -> UnknownParticipant:
    """The error for somebody whom the database does not hold."""
    known = connection.execute(select(participants.c.pseudonym)).scalars().all()
    return UnknownParticipant(
        f"The database holds no participant {participant!r}. "
        f"{did_you_mean(participant, known)}Participants are named as in the column `rater` "
        "of the export, or by their completion code."
    )


def _last_attempts(query: Select[Any]) -> Select[Any]:
    """A query over the last session of everybody in each wave."""
    last = (
        select(sessions.c.participant_id, func.max(sessions.c.attempt).label("attempt"))
        .group_by(sessions.c.participant_id, sessions.c.wave)
        .subquery()
    )
    return (
        query.select_from(sessions)
        .join(
            last,
            and_(
                last.c.participant_id == sessions.c.participant_id,
                last.c.attempt == sessions.c.attempt,
            ),
        )
        .join(participants, participants.c.id == sessions.c.participant_id)
        .join(studies, studies.c.id == participants.c.study_id)
        .join(cells, cells.c.id == sessions.c.cell_id)
    )


def _of_study(query: Select[Any], study_id: int) -> Select[Any]:
    own = query.where(participants.c.study_id == study_id)
    return own.order_by(participants.c.id, sessions.c.wave)
