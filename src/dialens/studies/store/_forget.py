"""Removing a person: every row, and the bytes they leave behind."""

from dataclasses import dataclass

from sqlalchemy import ColumnElement, Connection, Table, delete, select

from dialens.studies.store._people import unknown_participant
from dialens.studies.store._session import lock_study
from dialens.studies.store._tables import (
    answers,
    changes,
    events,
    exchanges,
    failures,
    participants,
    sessions,
    studies,
    submissions,
    tokens,
)


@dataclass(frozen=True)
class Forgotten:
    """How many rows of a person were deleted."""

    participant: str
    sessions: int
    screens: int
    answers: int
    events: int
    messages: int = 0


def forget(connection: Connection, participant: str) -> Forgotten:
    """Delete everything that belongs to a pseudonym."""
    query = (
        select(participants.c.id, studies.c.hash)
        .join(studies, studies.c.id == participants.c.study_id)
        .where(participants.c.pseudonym == participant)
    )
    row = connection.execute(query).one_or_none()
    if row is None:
        raise unknown_participant(connection, participant)
    person = row.id
    lock_study(connection, row.hash)  # they may be at the door again this very moment
    own = select(sessions.c.id).where(sessions.c.participant_id == person)
    # The sessions first, for a submission that is under way holds its session's lock.
    connection.execute(own.with_for_update())
    counts = {
        table.name: _deleted(connection, table, table.c.session_id.in_(own))
        for table in (failures, exchanges, events, answers, submissions, tokens)
    }
    _deleted(connection, changes, changes.c.participant == participant)
    gone = _deleted(connection, sessions, sessions.c.participant_id == person)
    _deleted(connection, participants, participants.c.id == person)
    return Forgotten(
        participant,
        gone,
        counts["submissions"],
        counts["answers"],
        counts["events"],
        counts["exchanges"],
    )


def _deleted(connection: Connection, table: Table, which: ColumnElement[bool]) -> int:
    return connection.execute(delete(table).where(which)).rowcount
