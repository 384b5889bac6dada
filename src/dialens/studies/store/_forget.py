"""Removing a person: every row, and the bytes they leave behind."""

from dataclasses import dataclass

from sqlalchemy import Connection, insert, select, update

from dialens.studies.store._deleting import forget_people
from dialens.studies.store._people import unknown_participant
from dialens.studies.store._session import find, lock_study
from dialens.studies.store._tables import departures, participants, studies


@dataclass(frozen=True)
class Forgotten:
    """How many rows of a person were deleted.

    Attributes:
        participant: The pseudonym.
        sessions: Of theirs.
        screens: That they sent.
        answers: On them.
        events: Of their pages.
        messages: To agents.
        erased: Whether nothing is left in the files of the database; otherwise the rows are gone,
            and their bytes are overwritten later.
    """

    participant: str
    sessions: int
    screens: int
    answers: int
    events: int
    messages: int = 0
    erased: bool = True


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
    lock_study(connection, row.hash)  # they may be at the door again this very moment
    gone = forget_people(connection, [row.id])
    return Forgotten(
        participant,
        gone["sessions"],
        gone["submissions"],
        gone["answers"],
        gone["events"],
        gone["exchanges"],
    )


def depart(connection: Connection, token: str, outcome: str) -> None:
    """Delete whoever has a token, and count them without keeping who they were."""
    row = find(connection, token)
    forget(connection, row.pseudonym)
    mine = (departures.c.study_id == row.study_id) & (departures.c.outcome == outcome)
    counted = update(departures).where(mine).values(n=departures.c.n + 1)
    if not connection.execute(counted).rowcount:
        first = {"study_id": row.study_id, "outcome": outcome, "n": 1}
        connection.execute(insert(departures).values(first))
