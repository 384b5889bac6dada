"""Who comes through the door: somebody new gets a place, somebody known what the policy says.

`resume` goes on where the person left, also after the session expired, if its cell still has a
place. `restart` begins again from the first screen, in the same cell, for they have seen it; the
earlier attempt stays on record. `block` lets nobody back who has submitted a screen. Who completed
gets the completed session again, whatever the policy: the page with the code may have been lost.
Who consented to an earlier version is in that version, unless the study admits them to a later one.
"""

import base64
import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from itertools import count
from typing import Any

from sqlalchemy import Connection, Row, Select, insert, select, update

from dialens.base import DialensError
from dialens.corpus import RATER_KINDS
from dialens.studies._raters import HUMAN
from dialens.studies.store._allocation import choose, why_none
from dialens.studies.store._problems import Blocked, SessionOver, StudyFull
from dialens.studies.store._secrets import Entropy, Secrets
from dialens.studies.store._session import (
    EXCLUDED,
    Session,
    add_token,
    as_session,
    expire_stale,
    find,
    has_place,
    last_attempt,
    lock_study,
    places,
    revived,
    too_old,
)
from dialens.studies.store._tables import (
    COMPLETED,
    EXPIRED,
    LIVE,
    RESTARTED,
    cells,
    participants,
    sessions,
    studies,
)

SeedSource = Callable[[], int]
"""A fresh random number for everybody who arrives."""

_FULL = {
    "full": "All places of this study are taken. Some may come free; try again later.",
    "paused": "This study is paused. Try again later.",
    "closed": "This study is closed. Thank you for your interest.",
}


@dataclass(frozen=True)
class Arrival:
    """Somebody who wants to begin.

    Attributes:
        study: The hash of the study's definition.
        recruiter: Where they come from: `link`, `mturk`, `prolific`, …
        worker: Who they are there; none if nobody knows, and then they are always new.
        rater_kind: `human`, `llm` or `simulated`.
        now: The time.
        tie_breaker: Random number that decides between cells that are equally empty.
    """

    study: str
    recruiter: str
    worker: str | None
    rater_kind: str
    now: datetime
    tie_breaker: int


def begin(
    connection: Connection, arrival: Arrival, *, secrets: Secrets, entropy: Entropy
) -> Session:
    """A session for somebody who arrives, new or known."""
    if arrival.rater_kind not in RATER_KINDS:
        raise DialensError(
            f"A rater is one of {', '.join(RATER_KINDS)}; seen: {arrival.rater_kind!r}."
        )
    study = lock_study(connection, arrival.study)
    expire_stale(connection, study, arrival.now)
    token = new_token(entropy)
    mark = None
    if arrival.worker is not None:
        mark = secrets.mark(arrival.recruiter, arrival.worker)
        query = select(participants.c.id).where(
            participants.c.study_id == study.id,
            participants.c.recruiter == arrival.recruiter,
            participants.c.worker_mark == mark,
        )
        known = connection.execute(query).scalar_one_or_none()
        if known is not None:
            return _again(connection, study, known, arrival, token)
        if arrival.rater_kind == HUMAN and not json.loads(study.operation).get("admit_earlier"):
            before = _earlier_version(connection, study, arrival.recruiter, mark)
            if before is not None:
                # An earlier version is locked after a later one, always: no deadlock.
                earlier = lock_study(connection, before.hash)
                return _again(connection, earlier, before.id, arrival, token)
    cell = _free_cell(connection, study, arrival.tie_breaker)
    pseudonym = _pseudonym(entropy)
    sealed = None
    if arrival.worker is not None:
        sealed = secrets.seal(arrival.worker, owner=pseudonym, entropy=entropy)
    new = insert(participants).values(
        study_id=study.id,
        pseudonym=pseudonym,
        recruiter=arrival.recruiter,
        rater_kind=arrival.rater_kind,
        worker_sealed=sealed,
        worker_mark=mark,
        arrived_at=arrival.now,
    )
    person = connection.execute(new.returning(participants.c.id)).scalar_one()
    attempt = (person, cell, 1, _free_seed(connection, cell))
    return _started(connection, attempt, arrival.now, token)


def come_back(connection: Connection, token: str, now: datetime) -> Session:
    """The session of a token, brought back under the policy if it has expired."""
    row = find(connection, token)
    if row.state != EXPIRED:
        return as_session(row, token)
    lock_study(connection, row.study)
    row = find(connection, token, lock=True)
    if row.state == EXPIRED:
        if row.resume != "resume" or not revived(connection, row, now):
            raise over(row)
        row = find(connection, token)
    return as_session(row, token)


def over(row: Row[Any]) -> SessionOver:
    """The error for a session that takes no more answers."""
    messages = {
        COMPLETED: "You have completed this study.",
        EXPIRED: "You were away for too long, and your place has been given back.",
        RESTARTED: "You have started this study again elsewhere; go on there.",
    }
    return SessionOver(messages[row.state], row.state)


def new_token(entropy: Entropy) -> str:
    """A name for a session that nobody can guess: 256 random bits."""
    return base64.urlsafe_b64encode(entropy(32)).decode("ascii").rstrip("=")


def _again(
    connection: Connection, study: Row[Any], person: int, arrival: Arrival, token: str
) -> Session:
    row = last_attempt(connection, person)
    if row.state == COMPLETED:
        return _with_token(connection, row, token, arrival.now)
    if study.resume == "block":
        # The answer to the first attempt may have been lost on its way: nothing was seen yet.
        if row.position == 0 and row.state == LIVE:
            return _with_token(connection, row, token, arrival.now)
        raise Blocked("You have begun this study before, and it can be taken only once.")
    if study.resume == "restart" and row.position > 0:
        if row.state == EXPIRED and not has_place(connection, row):
            raise _no_place(connection, study)
        seed = _free_seed(connection, row.cell_id, row.seed)
        connection.execute(
            update(sessions)
            .where(sessions.c.id == row.id)
            .values(state=RESTARTED, ended_at=arrival.now)
        )
        attempt = (person, row.cell_id, row.attempt + 1, seed)
        return _started(connection, attempt, arrival.now, token)
    if row.state == EXPIRED and too_old(row, arrival.now):
        raise over(row)
    if row.state == EXPIRED and not revived(connection, row, arrival.now):
        raise _no_place(connection, study)
    return _with_token(connection, row, token, arrival.now)


def _earlier_version(
    connection: Connection, study: Row[Any], recruiter: str, mark: str
) -> Row[Any] | None:
    """Who somebody was in an earlier version of a study that they consented to; none if nobody."""
    query: Select[Any] = (
        select(participants.c.id, studies.c.hash)
        .join(studies, studies.c.id == participants.c.study_id)
        .join(sessions, sessions.c.participant_id == participants.c.id)
        .where(
            studies.c.name == study.name,
            studies.c.id < study.id,
            participants.c.recruiter == recruiter,
            participants.c.worker_mark == mark,
            sessions.c.position > 0,
        )
        .order_by(studies.c.id.desc())
        .limit(1)
    )
    return connection.execute(query).one_or_none()


def _with_token(connection: Connection, row: Row[Any], token: str, now: datetime) -> Session:
    add_token(connection, row.id, token, now)
    if row.state != COMPLETED:
        connection.execute(update(sessions).where(sessions.c.id == row.id).values(seen_at=now))
    return as_session(find(connection, token), token)


def _free_cell(connection: Connection, study: Row[Any], tie_breaker: int) -> int:
    name = choose(places(connection, study.id), tie_breaker)
    if name is None:
        raise _no_place(connection, study)
    query = select(cells.c.id).where(cells.c.study_id == study.id, cells.c.name == name)
    return int(connection.execute(query).scalar_one())


def _no_place(connection: Connection, study: Row[Any]) -> StudyFull:
    reason = why_none(places(connection, study.id))
    return StudyFull(_FULL[reason], reason)


def _free_seed(connection: Connection, cell: int, *taken: int) -> int:
    """The first seed from 0 that nobody in the cell has, drop-outs and excluded not counted.

    What a plan counterbalances turns with consecutive seeds (`studies.plan`), so that orders are
    balanced among those who stay, and the same from cell to cell.
    """
    query = select(sessions.c.seed).where(
        sessions.c.cell_id == cell,
        sessions.c.state.in_((LIVE, COMPLETED)),
        sessions.c.participant_id.not_in(EXCLUDED),
    )
    used = {*connection.execute(query).scalars(), *taken}
    return next(seed for seed in count() if seed not in used)


def _started(
    connection: Connection, attempt: tuple[int, int, int, int], now: datetime, token: str
) -> Session:
    person, cell, number, seed = attempt
    new = insert(sessions).values(
        participant_id=person,
        cell_id=cell,
        attempt=number,
        seed=seed,
        position=0,
        state=LIVE,
        started_at=now,
        reached_at=now,
        seen_at=now,
    )
    session = connection.execute(new.returning(sessions.c.id)).scalar_one()
    add_token(connection, session, token, now)
    return as_session(find(connection, token), token)


def _pseudonym(entropy: Entropy) -> str:
    """A name without meaning: neither when nor in which order people came can be read from it."""
    return "p" + base64.b32encode(entropy(10)).decode("ascii").lower()
