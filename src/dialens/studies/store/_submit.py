"""Answers come in: each screen once, whatever the network and the participant do.

The first answer to a screen counts. A double click, a reload, a retry after a lost response or a
second tab finds the screen submitted and learns where the participant is.

Submissions that wait at the same time share a transaction, and so the wait for the disk (group
commit): sessions under way, each at the screen that is submitted, each once, locked by nobody
else. Everything else, and everything if one of them spoils the transaction, is done one by one, in
the order in which it came.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, select, update

from dialens.base import DialensError
from dialens.studies.store._activity import Event
from dialens.studies.store._arrivals import over
from dialens.studies.store._database import Database
from dialens.studies.store._problems import StoreUnavailable
from dialens.studies.store._session import (
    find,
    find_unlocked,
    lock_study,
    revived,
    token_hash,
    too_old,
)
from dialens.studies.store._submission import (
    ANSWERED_BEFORE,
    ELSEWHERE,
    REPEATED,
    STORED,
    Accepted,
    Receipt,
    Submission,
    add_events,
    check_events,
    check_submission,
    record,
)
from dialens.studies.store._tables import (
    COMPLETED,
    EXPIRED,
    LIVE,
    answers,
    sessions,
    submissions,
)


class _SessionExpired(Exception):
    """The session has expired; the transaction has to be done anew, with the study locked."""


def submit(database: Database, token: str, submission: Submission, now: datetime) -> Receipt:
    """Store a screen's answers and go on to the next; what returns is on disk."""
    check_submission(submission)
    try:
        with database.writing() as connection:
            return _submit(connection, token, submission, now, expired=False)
    except _SessionExpired:
        with database.writing() as connection:
            return _submit(connection, token, submission, now, expired=True)


def log(
    connection: Connection, token: str, screen: str, seen: Sequence[Event], now: datetime
) -> None:
    """Append events that a page sends between submissions; shows that somebody is there."""
    check_events(screen, seen)
    # Locked before anything is written, as a submission does it, which may bring the same events:
    # a fixed order of locks, so no deadlock.
    row = find(connection, token, lock=True)
    add_events(connection, row.id, screen, seen, now)
    if row.state == LIVE:
        connection.execute(update(sessions).where(sessions.c.id == row.id).values(seen_at=now))


def _submit(
    connection: Connection, token: str, submission: Submission, now: datetime, *, expired: bool
) -> Receipt:
    """The transaction; `expired` if the session is known to have expired and may come back."""
    row = _writable(connection, token, now, expired=expired)
    if row.state == COMPLETED or submission.index != row.position:
        return _not_now(connection, row, submission, now)
    record(connection, [Accepted(row, submission, now)])
    return Receipt(submission.following, STORED)


def _writable(connection: Connection, token: str, now: datetime, *, expired: bool) -> Row[Any]:
    """The session, locked; one that was left for too long is brought back if there is room.

    Whatever the policy: it is for those who come back, and an answer comes from a page that is
    open.
    """
    if expired:
        # Places are given out under the study's lock. Locks are taken in a fixed order, the
        # study's before a session's, so there is no deadlock.
        lock_study(connection, find(connection, token).study)
    row = find(connection, token, lock=True)
    if row.outcome is not None or (row.state != COMPLETED and too_old(row, now)):
        raise over(row, now)
    if row.state == EXPIRED:
        if not expired:
            raise _SessionExpired
        if not revived(connection, row, now):
            raise over(row, now)
    elif row.state not in (LIVE, COMPLETED):
        raise over(row, now)
    return row


def _not_now(
    connection: Connection, row: Row[Any], submission: Submission, now: datetime
) -> Receipt:
    query = select(submissions.c.key).where(
        submissions.c.session_id == row.id, submissions.c.screen == submission.screen.id
    )
    key = connection.execute(query).scalar_one_or_none()
    if key is None:
        return Receipt(row.position, ELSEWHERE)
    add_events(connection, row.id, submission.screen.id, submission.events, now)
    return Receipt(row.position, REPEATED if key == submission.key else ANSWERED_BEFORE)


def consent_given(
    connection: Connection, participant: int
) -> tuple[dict[str, Any], datetime | None]:
    """What somebody agreed to last, by field, and when; the consent of a first wave holds on."""
    own = sessions.c.participant_id == participant
    asked = select(sessions.c.id, sessions.c.placed_at).join(
        submissions, submissions.c.session_id == sessions.c.id
    )
    query = asked.where(own, submissions.c.kind == "consent").order_by(sessions.c.attempt.desc())
    last = connection.execute(query.limit(1)).one_or_none()
    if last is None:
        return {}, None
    said = select(answers.c.field, answers.c.value).where(
        answers.c.session_id == last.id, answers.c.screen == "consent"
    )
    given = {row.field: json.loads(row.value) for row in connection.execute(said)}
    return given, last.placed_at


@dataclass(frozen=True)
class PendingSubmission:
    """A submission that is to be stored.

    Attributes:
        token: Of the session.
        submission: The answers.
        now: When they came.
    """

    token: str
    submission: Submission
    now: datetime


def submit_together(
    database: Database, pending: Sequence[PendingSubmission]
) -> list[Receipt | Exception]:
    """Store submissions; gives for each its receipt, or what `submit` would raise for it."""
    outcomes: dict[int, Receipt | Exception] = {}
    for place, entry in enumerate(pending):
        try:
            check_submission(entry.submission)
        except DialensError as error:
            outcomes[place] = error
    sound = {place: entry for place, entry in enumerate(pending) if place not in outcomes}
    try:
        with database.writing() as connection:
            stored = _store_plain(connection, sound)
        outcomes |= stored
        unavailable: StoreUnavailable | None = None
    except StoreUnavailable as error:
        unavailable = error
    except Exception:
        # One of them is at fault. Which, shows when each is on its own, and is raised there.
        unavailable = None
    for place, entry in sound.items():
        if place in outcomes:
            continue
        if unavailable is not None:  # one by one, each would wait for the database
            outcomes[place] = type(unavailable)(str(unavailable))
            continue
        try:
            outcomes[place] = submit(database, entry.token, entry.submission, entry.now)
        except StoreUnavailable as error:
            outcomes[place] = unavailable = error
        except Exception as error:
            outcomes[place] = error
    return [outcomes[place] for place in range(len(pending))]


def _store_plain(
    connection: Connection, pending: Mapping[int, PendingSubmission]
) -> dict[int, Receipt]:
    """Store the submissions that need nothing but storing; receipts by place."""
    unlocked = find_unlocked(connection, [entry.token for entry in pending.values()])
    seen: set[int] = set()
    accepted: list[Accepted] = []
    receipts: dict[int, Receipt] = {}
    for place, entry in pending.items():
        row = unlocked.get(token_hash(entry.token))
        if row is None or row.id in seen:
            continue
        seen.add(row.id)
        at_screen = row.state == LIVE and row.position == entry.submission.index
        if at_screen and not too_old(row, entry.now):
            accepted.append(Accepted(row, entry.submission, entry.now))
            receipts[place] = Receipt(entry.submission.following, STORED)
    record(connection, accepted)
    return receipts
