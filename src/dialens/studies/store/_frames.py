"""What was collected, as tables by pseudonym: answers, events, conversations with agents."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import polars as pl
from sqlalchemy import ColumnElement, Connection, Select, and_, func, select

from dialens.studies._exchange import ANSWERED, GIVEN_UP, WAITING
from dialens.studies._paradata import PARADATA, with_grades
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
_Columns = dict[str, pl.DataType | type[pl.DataType]]

STATE = func.coalesce(sessions.c.outcome, sessions.c.state)
"""How a session stands: its state, or how else it ended than by a time limit."""

_ANSWERS: _Columns = {
    "study": pl.String,
    "version": pl.String,
    "rater": pl.String,
    "rater_kind": pl.String,
    "recruiter": pl.String,
    "attempt": pl.Int64,
    "wave": pl.Int64,
    "session_state": pl.String,
    "cell": pl.String,
    "language": pl.String,
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
    "excluded": pl.Boolean,
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
    "wave": pl.Int64,
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

_SCREENS: _Columns = {
    "study": pl.String,
    "version": pl.String,
    "rater": pl.String,
    "rater_kind": pl.String,
    "attempt": pl.Int64,
    "wave": pl.Int64,
    "session_state": pl.String,
    "cell": pl.String,
    "language": pl.String,
    "screen": pl.String,
    "kind": pl.String,
    "index": pl.Int64,
    "shown_at": _TIME,
    "answered_at": _TIME,
    "active_ms": pl.Int64,
}


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
            sessions.c.wave,
            STATE,
            cells.c.name,
            sessions.c.language,
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
            participants.c.excluded_at.is_not(None),
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
    return _frame(connection, _of_study(query, study_id), ANSWERS)


def events_frame(connection: Connection, study_id: int) -> pl.DataFrame:
    """Every event of a study, in the columns of `EVENTS`, page by page."""
    query = (
        select(
            studies.c.name,
            studies.c.version,
            participants.c.pseudonym,
            participants.c.rater_kind,
            sessions.c.attempt,
            sessions.c.wave,
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
    return _frame(connection, _of_study(query, study_id), EVENTS)


def screens_frame(connection: Connection, study_id: int) -> pl.DataFrame:
    """Every submitted screen of a study, with its paradata and what these suggest."""
    query = (
        select(
            studies.c.name,
            studies.c.version,
            participants.c.pseudonym,
            participants.c.rater_kind,
            sessions.c.attempt,
            sessions.c.wave,
            STATE,
            cells.c.name,
            sessions.c.language,
            submissions.c.screen,
            submissions.c.kind,
            submissions.c.position,
            submissions.c.displayed_at,
            submissions.c.received_at,
            submissions.c.active_ms,
            submissions.c.paradata,
        )
        .select_from(submissions)
        .join(sessions, sessions.c.id == submissions.c.session_id)
        .join(cells, cells.c.id == sessions.c.cell_id)
        .order_by(sessions.c.id, submissions.c.position)
    )
    schema = pl.Schema(_SCREENS | {"paradata": pl.String})
    stored = _frame(connection, _of_study(query, study_id), schema)
    measured = stored["paradata"].str.json_decode(pl.Struct(PARADATA)).struct.unnest()
    return with_grades(stored.drop("paradata").hstack(measured))


def _of_study(query: Select[Any], study_id: int) -> Select[Any]:
    return (
        query.join(participants, participants.c.id == sessions.c.participant_id)
        .join(studies, studies.c.id == participants.c.study_id)
        .where(studies.c.id == study_id)
    )


def _frame(connection: Connection, query: Select[Any], schema: pl.Schema) -> pl.DataFrame:
    """The rows of a query as a table."""
    rows: list[tuple[str | int | datetime | None, ...]] = [
        tuple(row) for row in connection.execute(query)
    ]
    return pl.DataFrame(rows, schema=schema, orient="row")


_WHOSE: dict[str, Any] = {
    "study": pl.String,
    "version": pl.String,
    "rater": pl.String,
    "rater_kind": pl.String,
    "attempt": pl.Int64,
    "wave": pl.Int64,
    "session_state": pl.String,
    "cell": pl.String,
    "language": pl.String,
    "talk": pl.String,
    "number": pl.Int64,
    "system": pl.String,
    "agent": pl.String,
}
EXCHANGES = pl.Schema(
    _WHOSE
    | {
        "said": pl.String,
        "said_at": _TIME,
        "state": pl.String,
        "tries": pl.Int64,
        "reply": pl.String,
        "replied_at": _TIME,
        "reason": pl.String,
        "seconds": pl.Float64,
        "requests": pl.Int64,
        "tokens_in": pl.Int64,
        "tokens_out": pl.Int64,
        "cost": pl.Float64,
    }
)
"""One row a message of a participant, with the reply to it."""

FAILURES = pl.Schema(
    _WHOSE
    | {
        "asked": pl.Int64,
        "reason": pl.String,
        "told": pl.String,
        "seconds": pl.Float64,
        "failed_at": _TIME,
    }
)
"""One row each time an agent failed, those included that answered when asked again."""

_PLACE = ("session_id", "talk", "number")
_WHOSE_COLUMNS = (
    studies.c.name,
    studies.c.version,
    participants.c.pseudonym,
    participants.c.rater_kind,
    sessions.c.attempt,
    sessions.c.wave,
    STATE,
    cells.c.name,
    sessions.c.language,
    exchanges.c.talk,
    exchanges.c.number,
    exchanges.c.system,
    exchanges.c.agent,
)


def exchanges_frame(connection: Connection, study: str) -> pl.DataFrame:
    """Every message and reply of a study, by its hash (`EXCHANGES`)."""
    columns = [exchanges.c[name] for name in EXCHANGES.names() if name not in _WHOSE]
    query = _talks_of_study(select(*_WHOSE_COLUMNS, *columns), study)
    return _frame(connection, query, EXCHANGES)


def failures_frame(connection: Connection, study: str) -> pl.DataFrame:
    """Every failure of an agent in a study, by its hash (`FAILURES`)."""
    same = and_(*(failures.c[name] == exchanges.c[name] for name in _PLACE))
    query = select(
        *_WHOSE_COLUMNS,
        failures.c.attempt,
        failures.c.reason,
        failures.c.told,
        failures.c.seconds,
        failures.c.failed_at,
    ).join(failures, same)
    return _frame(connection, _talks_of_study(query, study, failures.c.attempt), FAILURES)


def _talks_of_study(query: Select[Any], study: str, *last: ColumnElement[Any]) -> Select[Any]:
    return (
        query.join(sessions, sessions.c.id == exchanges.c.session_id)
        .join(cells, cells.c.id == sessions.c.cell_id)
        .join(participants, participants.c.id == sessions.c.participant_id)
        .join(studies, studies.c.id == participants.c.study_id)
        .where(studies.c.hash == study)
        .order_by(exchanges.c.session_id, exchanges.c.talk, exchanges.c.number, *last)
    )


def replies_by_agent(said: pl.DataFrame, failed: pl.DataFrame) -> list[dict[str, Any]]:
    """For each agent: conversations, replies, median seconds, and failures by reason.

    Args:
        said: In the columns of `EXCHANGES`.
        failed: In the columns of `FAILURES`.
    """
    answered = pl.col("state") == ANSWERED
    whole = (
        said.group_by("agent", maintain_order=True)
        .agg(
            talks=pl.struct("rater", "attempt", "talk").n_unique(),
            replies=answered.sum(),
            waiting=(pl.col("state") == WAITING).sum(),
            given_up=(pl.col("state") == GIVEN_UP).sum(),
            median_seconds=pl.col("seconds").filter(answered).median(),
            cost=pl.col("cost").sum(),
        )
        .sort("agent")
    )
    counts = failed.group_by("agent", "reason").len().sort("agent", "len", descending=[False, True])
    reasons: dict[str, dict[str, int]] = {}
    for agent, reason, n in counts.iter_rows():
        reasons.setdefault(agent, {})[reason] = n
    return [row | {"failures": reasons.get(row["agent"], {})} for row in whole.to_dicts()]


def last_failures(failed: pl.DataFrame, most: int = 5) -> Sequence[dict[str, Any]]:
    """The newest failures, for the researcher to read."""
    return failed.sort("failed_at", descending=True).head(most).to_dicts()
