"""Deleting every row of people, table by table."""

from collections import Counter
from collections.abc import Collection

from sqlalchemy import Connection, delete, select

from dialens.studies.store._tables import (
    answers,
    changes,
    events,
    exchanges,
    failures,
    participants,
    payments,
    sessions,
    submissions,
    tokens,
)


def forget_people(connection: Connection, people: Collection[int]) -> Counter[str]:
    """Delete everything of participants, by their ids; how many rows there were, by table."""
    gone: Counter[str] = Counter()
    if not people:
        return gone
    own = select(sessions.c.id).where(sessions.c.participant_id.in_(people))
    # The sessions first, for a submission that is under way holds its session's lock.
    connection.execute(own.with_for_update())
    for table in (failures, exchanges, events, answers, submissions, tokens):
        query = delete(table).where(table.c.session_id.in_(own))
        gone[table.name] = connection.execute(query).rowcount
    known = select(participants.c.pseudonym).where(participants.c.id.in_(people))
    for table in (changes, payments):
        connection.execute(delete(table).where(table.c.participant.in_(known)))
    whose = sessions.c.participant_id.in_(people)
    gone[sessions.name] = connection.execute(delete(sessions).where(whose)).rowcount
    connection.execute(delete(participants).where(participants.c.id.in_(people)))
    return gone
