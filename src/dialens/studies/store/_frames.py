"""What was collected, as tables: every answer and every event, by pseudonym."""

from datetime import datetime
from typing import Any

import polars as pl
from sqlalchemy import Connection, Select, select

from dialens.studies.store._tables import (
    answers,
    cells,
    events,
    participants,
    sessions,
    studies,
    submissions,
)

_TIME = pl.Datetime("us", "UTC")
_Columns = dict[str, pl.DataType | type[pl.DataType]]

_ANSWERS: _Columns = {
    "study": pl.String,
    "version": pl.String,
    "rater": pl.String,
    "rater_kind": pl.String,
    "recruiter": pl.String,
    "attempt": pl.Int64,
    "session_state": pl.String,
    "cell": pl.String,
    "screen": pl.String,
    "kind": pl.String,
    "index": pl.Int64,
    "field": pl.String,
    "instrument": pl.String,
    "quality": pl.String,
    "item": pl.String,
    "response": pl.String,
    "value": pl.String,
    "asked": pl.String,
    "presented": pl.String,
    "shown_at": _TIME,
    "answered_at": _TIME,
    "active_ms": pl.Int64,
}
ANSWERS = pl.Schema(_ANSWERS)
"""One row an answer; `value`, `asked` (the field) and `presented` (the screen's state) are JSON.

Times are the server's: `shown_at` is when the screen first came up, `answered_at` when its
submission arrived.
"""

_EVENTS: _Columns = {
    "study": pl.String,
    "version": pl.String,
    "rater": pl.String,
    "rater_kind": pl.String,
    "attempt": pl.Int64,
    "screen": pl.String,
    "page": pl.String,
    "serial": pl.Int64,
    "kind": pl.String,
    "field": pl.String,
    "client_at": _TIME,
    "server_at": _TIME,
    "detail": pl.String,
}
EVENTS = pl.Schema(_EVENTS)
"""One row an event; `client_at` is what the participant's clock said, `detail` is JSON."""


def answers_frame(connection: Connection, study_id: int) -> pl.DataFrame:
    """Every answer of a study, in the columns of `ANSWERS`, in the order in which it was given."""
    query = (
        select(
            studies.c.name,
            studies.c.version,
            participants.c.pseudonym,
            participants.c.rater_kind,
            participants.c.recruiter,
            sessions.c.attempt,
            sessions.c.state,
            cells.c.name,
            answers.c.screen,
            submissions.c.kind,
            submissions.c.position,
            answers.c.field,
            answers.c.instrument,
            answers.c.quality,
            answers.c.item,
            answers.c.response,
            answers.c.value,
            answers.c.asked,
            submissions.c.presented,
            submissions.c.displayed_at,
            submissions.c.received_at,
            submissions.c.active_ms,
        )
        .select_from(answers)
        .join(
            submissions,
            (submissions.c.session_id == answers.c.session_id)
            & (submissions.c.screen == answers.c.screen),
        )
        .join(sessions, sessions.c.id == answers.c.session_id)
        .join(cells, cells.c.id == sessions.c.cell_id)
        .order_by(sessions.c.id, submissions.c.position, answers.c.place)
    )
    return frame_of(connection, _of_study(query, study_id), ANSWERS)


def events_frame(connection: Connection, study_id: int) -> pl.DataFrame:
    """Every event of a study, in the columns of `EVENTS`, page by page."""
    query = (
        select(
            studies.c.name,
            studies.c.version,
            participants.c.pseudonym,
            participants.c.rater_kind,
            sessions.c.attempt,
            events.c.screen,
            events.c.page,
            events.c.serial,
            events.c.kind,
            events.c.field,
            events.c.client_at,
            events.c.server_at,
            events.c.detail,
        )
        .select_from(events)
        .join(sessions, sessions.c.id == events.c.session_id)
        .order_by(sessions.c.id, events.c.server_at, events.c.page, events.c.serial)
    )
    return frame_of(connection, _of_study(query, study_id), EVENTS)


def _of_study(query: Select[Any], study_id: int) -> Select[Any]:
    return (
        query.join(participants, participants.c.id == sessions.c.participant_id)
        .join(studies, studies.c.id == participants.c.study_id)
        .where(studies.c.id == study_id)
    )


def frame_of(connection: Connection, query: Select[Any], schema: pl.Schema) -> pl.DataFrame:
    """The rows of a query as a table."""
    rows: list[tuple[str | int | datetime | None, ...]] = [
        tuple(row) for row in connection.execute(query)
    ]
    return pl.DataFrame(rows, schema=schema, orient="row")
