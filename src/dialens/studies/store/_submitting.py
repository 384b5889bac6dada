"""Answers come in: each screen once, whatever the network and the participant do.

The first answer to a screen counts. A double click, a reload, a retry after a lost response or a
second tab finds the screen submitted and is told where the participant is.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, select, update

from dialens.studies.store._activity import Event
from dialens.studies.store._arrivals import over
from dialens.studies.store._database import Database
from dialens.studies.store._recording import Accepted, add_events, record
from dialens.studies.store._session import find, lock_study, revived
from dialens.studies.store._submission import (
    ANSWERED_BEFORE,
    ELSEWHERE,
    REPEATED,
    STORED,
    Receipt,
    Submission,
    check_events,
    check_submission,
)
from dialens.studies.store._tables import COMPLETED, EXPIRED, LIVE, sessions, submissions


class _SessionExpired(Exception):
    """The session has expired; the transaction has to be done anew, with the study locked."""


def submit(database: Database, token: str, given: Submission, now: datetime) -> Receipt:
    """Store a screen's answers and go on to the next; what returns is on disk."""
    check_submission(given)
    try:
        with database.writing() as connection:
            return _submit(connection, token, given, now, expired=False)
    except _SessionExpired:
        with database.writing() as connection:
            return _submit(connection, token, given, now, expired=True)


def log(
    connection: Connection, token: str, screen: str, seen: Sequence[Event], now: datetime
) -> None:
    """Append events that a page sends between submissions; shows that somebody is there."""
    check_events(screen, seen)
    # Locked before anything is written, as a submission does it, which may bring the same events:
    # in another order each could wait for the other.
    row = find(connection, token, lock=True)
    add_events(connection, row.id, screen, seen, now)
    if row.state == LIVE:
        connection.execute(update(sessions).where(sessions.c.id == row.id).values(seen_at=now))


def _submit(
    connection: Connection, token: str, given: Submission, now: datetime, *, expired: bool
) -> Receipt:
    """The transaction; `expired` if the session is known to have expired and may come back."""
    row = _writable(connection, token, now, expired=expired)
    if row.state == COMPLETED or given.index != row.position:
        return _not_now(connection, row, given, now)
    record(connection, [Accepted(row, given, now)])
    return Receipt(given.index + 1, STORED)


def _writable(connection: Connection, token: str, now: datetime, *, expired: bool) -> Row[Any]:
    """The session, locked; one that has expired is brought back if the policy and space allow."""
    if expired:
        # Places are given out under the study's lock, which comes before a session's: with one
        # order of locks nobody waits for somebody who waits for them.
        lock_study(connection, find(connection, token).study)
    row = find(connection, token, lock=True)
    if row.state == EXPIRED:
        if row.resume != "resume":
            raise over(row)
        if not expired:
            raise _SessionExpired
        if not revived(connection, row, now):
            raise over(row)
    elif row.state not in (LIVE, COMPLETED):
        raise over(row)
    return row


def _not_now(connection: Connection, row: Row[Any], given: Submission, now: datetime) -> Receipt:
    query = select(submissions.c.key).where(
        submissions.c.session_id == row.id, submissions.c.screen == given.screen.id
    )
    key = connection.execute(query).scalar_one_or_none()
    if key is None:
        return Receipt(row.position, ELSEWHERE)
    add_events(connection, row.id, given.screen.id, given.events, now)
    return Receipt(row.position, REPEATED if key == given.key else ANSWERED_BEFORE)
