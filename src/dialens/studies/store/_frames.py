"""What was collected, as tables by pseudonym: answers, events, conversations with agents."""

from typing import Any

import polars as pl
from sqlalchemy import ColumnElement, Connection, Select, and_, func, select

from dialens.studies._paradata import PARADATA, with_grades
from dialens.studies.store._partial import with_partial
from dialens.studies.store._tables import (
    answers,
    cells,
    events,
    exchanges,
    failures,
    participants,
    sessions,
    studies,
    submissions,
)

_TIME = pl.Datetime("us", "UTC")
_Column = tuple[ColumnElement[Any], pl.DataType | type[pl.DataType]]
_Columns = dict[str, _Column]

STATE = func.coalesce(sessions.c.outcome, sessions.c.state)
"""How a session stands: its state, or how else it ended than by a time limit."""

_PERSON: _Columns = {
    "study": (studies.c.name, pl.String),
    "version": (studies.c.version, pl.String),
    "rater": (participants.c.pseudonym, pl.String),
    "rater_kind": (participants.c.rater_kind, pl.String),
}
_ATTEMPT: _Columns = {
    "attempt": (sessions.c.attempt, pl.Int64),
    "wave": (sessions.c.wave, pl.Int64),
}
_SESSION: _Columns = _ATTEMPT | {
    "session_state": (STATE, pl.String),
    "cell": (cells.c.name, pl.String),
    "language": (sessions.c.language, pl.String),
}
_SUBMISSION: _Columns = {
    "screen": (submissions.c.screen, pl.String),
    "kind": (submissions.c.kind, pl.String),
    "index": (submissions.c.position, pl.Int64),
}
_TIMES: _Columns = {
    "shown_at": (submissions.c.displayed_at, _TIME),
    "answered_at": (submissions.c.received_at, _TIME),
    "active_ms": (submissions.c.active_ms, pl.Int64),
    "late": (submissions.c.late, pl.Float64),
}
_ANSWERS: _Columns = (
    _PERSON
    | {"recruiter": (participants.c.recruiter, pl.String)}
    | _SESSION
    | _SUBMISSION
    | {
        "field": (answers.c.field, pl.String),
        "instrument": (answers.c.instrument, pl.String),
        "quality": (answers.c.quality, pl.String),
        "item": (answers.c.item, pl.String),
        "response": (answers.c.response, pl.String),
        "value": (answers.c.value, pl.String),
        "asked": (answers.c.asked, pl.String),
        "presented": (submissions.c.presented, pl.String),
    }
    | _TIMES
    | {"excluded": (participants.c.excluded_at.is_not(None), pl.Boolean)}
)
_EVENTS: _Columns = (
    _PERSON
    | _ATTEMPT
    | {
        "screen": (events.c.screen, pl.String),
        "page": (events.c.page, pl.String),
        "serial": (events.c.serial, pl.Int64),
        "kind": (events.c.kind, pl.String),
        "field": (events.c.field, pl.String),
        "client_at": (events.c.client_at, _TIME),
        "server_at": (events.c.server_at, _TIME),
        "detail": (events.c.detail, pl.String),
    }
)
_SCREENS: _Columns = (
    _PERSON | _SESSION | _SUBMISSION | _TIMES | {"paradata": (submissions.c.paradata, pl.String)}
)
_TALK: _Columns = (
    _PERSON
    | _SESSION
    | {
        "talk": (exchanges.c.talk, pl.String),
        "number": (exchanges.c.number, pl.Int64),
        "system": (exchanges.c.system, pl.String),
        "agent": (exchanges.c.agent, pl.String),
    }
)
_EXCHANGES: _Columns = _TALK | {
    "said": (exchanges.c.said, pl.String),
    "said_at": (exchanges.c.said_at, _TIME),
    "state": (exchanges.c.state, pl.String),
    "tries": (exchanges.c.tries, pl.Int64),
    "reply": (exchanges.c.reply, pl.String),
    "replied_at": (exchanges.c.replied_at, _TIME),
    "reason": (exchanges.c.reason, pl.String),
    "seconds": (exchanges.c.seconds, pl.Float64),
    "requests": (exchanges.c.requests, pl.Int64),
    "tokens_in": (exchanges.c.tokens_in, pl.Int64),
    "tokens_out": (exchanges.c.tokens_out, pl.Int64),
    "cost": (exchanges.c.cost, pl.Float64),
    "shown_at": (exchanges.c.shown_at, _TIME),
    "ended": (exchanges.c.ended, pl.String),
    "finish": (exchanges.c.finish, pl.String),
    "due_at": (exchanges.c.due_at, _TIME),
}
_FAILURES: _Columns = _TALK | {
    "asked": (failures.c.attempt, pl.Int64),
    "reason": (failures.c.reason, pl.String),
    "told": (failures.c.told, pl.String),
    "seconds": (failures.c.seconds, pl.Float64),
    "failed_at": (failures.c.failed_at, _TIME),
}


def _schema(columns: _Columns) -> pl.Schema:
    return pl.Schema({name: kind for name, (_, kind) in columns.items()})


ANSWERS = _schema(_ANSWERS)
"""One row an answer; `value`, `asked` (the field) and `presented` (the screen's state) are JSON.

Times are the server's: `shown_at` is when the screen first came up, `answered_at` when its
submission arrived, and `late` the seconds after its deadline, 0 if in time.
"""
EVENTS = _schema(_EVENTS)
"""One row an event; `client_at` is what the participant's clock said, `detail` is JSON."""
_MEASURED: dict[str, pl.DataType | type[pl.DataType]] = {
    "waited": pl.Float64,
    "held_ms": pl.Int64,
    "over_pace": pl.Float64,
    "partial": pl.Boolean,
    "partial_reason": pl.String,
}
EXCHANGES = pl.Schema(
    {name: kind for name, (_, kind) in _EXCHANGES.items() if name != "due_at"} | _MEASURED
)
"""One row a message of a participant, with the reply to it.

`waited` are the seconds from the message until the whole reply was shown, `held_ms` the
milliseconds for which it was held back, and `over_pace` the seconds by which the agent was slower
than the pace of the study; both none where there is none. `ended`, `partial` and `partial_reason`
(one of `PARTIAL`) are the same in all rows of a conversation.
"""
FAILURES = _schema(_FAILURES)
"""One row each time an agent failed, those included that answered when asked again."""

_PLACE = ("session_id", "talk", "number")
_TEXTS = ("said", "reply")
_PART = 20_000


def answers_frame(connection: Connection, study_id: int) -> pl.DataFrame:
    """Every answer of a study, in the columns of `ANSWERS`, in the order in which it was given."""
    return _frame(connection, _of_study(_all_answers(), study_id), ANSWERS)


def session_answers(connection: Connection, session: int, since: int) -> pl.DataFrame:
    """The answers of a session from a screen on, by its place, in the columns of `ANSWERS`."""
    own = (sessions.c.id == session) & (submissions.c.position >= since)
    return _frame(connection, _with_person(_all_answers()).where(own), ANSWERS)


def _all_answers() -> Select[Any]:
    return (
        _selected(_ANSWERS)
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


def events_frame(connection: Connection, study_id: int) -> pl.DataFrame:
    """Every event of a study, in the columns of `EVENTS`, page by page."""
    query = (
        _selected(_EVENTS)
        .select_from(events)
        .join(sessions, sessions.c.id == events.c.session_id)
        .order_by(sessions.c.id, events.c.server_at, events.c.page, events.c.serial)
    )
    return _frame(connection, _of_study(query, study_id), EVENTS)


def screens_frame(connection: Connection, study_id: int) -> pl.DataFrame:
    """Every submitted screen of a study, with its paradata and what these suggest."""
    query = (
        _selected(_SCREENS)
        .select_from(submissions)
        .join(sessions, sessions.c.id == submissions.c.session_id)
        .join(cells, cells.c.id == sessions.c.cell_id)
        .order_by(sessions.c.id, submissions.c.position)
    )
    stored = _frame(connection, _of_study(query, study_id), _schema(_SCREENS))
    measured = stored["paradata"].str.json_decode(pl.Struct(PARADATA)).struct.unnest()
    return with_grades(stored.drop("paradata").hstack(measured))


def exchanges_frame(connection: Connection, study: str) -> pl.DataFrame:
    """Every message and reply of a study, by its hash (`EXCHANGES`)."""
    return _exchanges(connection, study, _EXCHANGES).select(EXCHANGES.names())


def _exchanges(connection: Connection, study: str, columns: _Columns) -> pl.DataFrame:
    """Exchanges of a study with some columns, and what follows from them."""
    query = _talks_of_study(_selected(columns).select_from(exchanges), study)
    paced = pl.col("due_at").is_not_null()
    replied = pl.col("replied_at")
    said = _frame(connection, query, _schema(columns)).with_columns(
        waited=_seconds(pl.col("shown_at") - pl.col("said_at")),
        held_ms=pl.when(paced).then((pl.col("shown_at") - replied).dt.total_milliseconds()),
        over_pace=pl.when(paced).then(_seconds(replied - pl.col("due_at")).clip(0)),
        ended=pl.col("ended").drop_nulls().first().over("rater", "attempt", "talk"),
    )
    return with_partial(said)


def _seconds(length: pl.Expr) -> pl.Expr:
    return length.dt.total_microseconds() / 1e6


def exchange_states(connection: Connection, study: str) -> pl.DataFrame:
    """Every exchange of a study as `exchanges_frame` has it, but for what was said."""
    columns = {name: column for name, column in _EXCHANGES.items() if name not in _TEXTS}
    return _exchanges(connection, study, columns)


def failures_frame(connection: Connection, study: str) -> pl.DataFrame:
    """Every failure of an agent in a study, by its hash (`FAILURES`)."""
    same = and_(*(failures.c[name] == exchanges.c[name] for name in _PLACE))
    query = _selected(_FAILURES).select_from(exchanges).join(failures, same)
    return _frame(connection, _talks_of_study(query, study, failures.c.attempt), FAILURES)


def _selected(columns: _Columns) -> Select[Any]:
    return select(*(column for column, _ in columns.values()))


def _with_person(query: Select[Any]) -> Select[Any]:
    return query.join(participants, participants.c.id == sessions.c.participant_id).join(
        studies, studies.c.id == participants.c.study_id
    )


def _of_study(query: Select[Any], study_id: int) -> Select[Any]:
    return _with_person(query).where(studies.c.id == study_id)


def _frame(connection: Connection, query: Select[Any], schema: pl.Schema) -> pl.DataFrame:
    """The rows of a query as a table, put together in parts: rows of Python need far more room."""
    parts = [
        pl.DataFrame([tuple(row) for row in rows], schema=schema, orient="row")
        for rows in connection.execute(query).partitions(_PART)
    ]
    return pl.concat(parts) if parts else pl.DataFrame(schema=schema)


def _talks_of_study(query: Select[Any], study: str, *last: ColumnElement[Any]) -> Select[Any]:
    return (
        query.join(sessions, sessions.c.id == exchanges.c.session_id)
        .join(cells, cells.c.id == sessions.c.cell_id)
        .join(participants, participants.c.id == sessions.c.participant_id)
        .join(studies, studies.c.id == participants.c.study_id)
        .where(studies.c.hash == study)
        .order_by(exchanges.c.session_id, exchanges.c.talk, exchanges.c.number, *last)
    )
