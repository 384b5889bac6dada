"""Deleting every row of people, table by table."""

import json
from collections import Counter
from collections.abc import Collection, Mapping
from datetime import datetime

from sqlalchemy import Connection, delete, select, update

from dialens.studies.store._tables import (
    answers,
    changes,
    events,
    exchanges,
    exports,
    failures,
    participants,
    payments,
    sessions,
    studies,
    submissions,
    tokens,
)


def forget_people(connection: Connection, people: Collection[int]) -> Counter[str]:
    """Delete everything of participants, by their ids; how many rows there were, by table.

    Exports that were made since they came are marked: they have to be taken out of those, too.
    """
    gone: Counter[str] = Counter()
    if not people:
        return gone
    recall_exports(connection, people)
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


def recall_exports(
    connection: Connection, people: Collection[int], *, kind: str | None = None
) -> None:
    """Note in which exports people are, of one kind or any; those from before they came are not."""
    query = select(participants.c.study_id, participants.c.pseudonym, participants.c.arrived_at)
    came: dict[int, dict[str, datetime]] = {}
    for row in connection.execute(query.where(participants.c.id.in_(people))):
        came.setdefault(row.study_id, {})[row.pseudonym] = row.arrived_at
    for study, who in came.items():
        _recall_of(connection, study, who, kind)


def _recall_of(
    connection: Connection, study: int, came: Mapping[str, datetime], kind: str | None
) -> None:
    name = select(studies.c.name).where(studies.c.id == study).scalar_subquery()
    versions = select(studies.c.id).where(studies.c.name == name)
    query = select(exports.c.id, exports.c.at, exports.c.recalled)
    query = query.where(exports.c.study_id.in_(versions))
    if kind is not None:
        query = query.where(exports.c.kind == kind)
    made = connection.execute(query.with_for_update())
    for row in made.all():
        known = json.loads(row.recalled)
        more = [who for who, at in came.items() if at <= row.at and who not in known]
        if more:
            values = {"recalled": json.dumps([*known, *more])}
            connection.execute(update(exports).where(exports.c.id == row.id).values(values))
