"""Conversations as tables, and how agents did in them."""

from collections.abc import Sequence
from typing import Any

import polars as pl
from sqlalchemy import ColumnElement, Connection, Select, and_, select

from dialens.studies._exchange import ANSWERED, GIVEN_UP, WAITING
from dialens.studies.store._frames import frame_of
from dialens.studies.store._tables import cells, participants, sessions, studies
from dialens.studies.store._talk_tables import exchanges, failures

_TIME = pl.Datetime("us", "UTC")
_WHOSE: dict[str, Any] = {
    "study": pl.String,
    "rater": pl.String,
    "rater_kind": pl.String,
    "attempt": pl.Int64,
    "session_state": pl.String,
    "cell": pl.String,
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
    participants.c.pseudonym,
    participants.c.rater_kind,
    sessions.c.attempt,
    sessions.c.state,
    cells.c.name,
    exchanges.c.talk,
    exchanges.c.number,
    exchanges.c.system,
    exchanges.c.agent,
)


def exchanges_frame(connection: Connection, study: str) -> pl.DataFrame:
    """Every message and reply of a study, by its hash (`EXCHANGES`)."""
    columns = [exchanges.c[name] for name in EXCHANGES.names() if name not in _WHOSE]
    query = _of_study(select(*_WHOSE_COLUMNS, *columns), study)
    return frame_of(connection, query, EXCHANGES)


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
    return frame_of(connection, _of_study(query, study, failures.c.attempt), FAILURES)


def _of_study(query: Select[Any], study: str, *last: ColumnElement[Any]) -> Select[Any]:
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
