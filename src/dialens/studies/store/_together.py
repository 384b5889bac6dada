"""Submissions that wait at the same time share a transaction, and so the wait for the disk.

Only what is plain is done together: sessions under way, each at the screen that is submitted, each
once, locked by nobody else. Everything else, and everything if one of them spoils the transaction,
is done one by one, in the order in which it came.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection

from dialens.base import DialensError
from dialens.studies.store._database import Database
from dialens.studies.store._problems import StoreUnavailable
from dialens.studies.store._recording import Accepted, record
from dialens.studies.store._session import find_free, token_hash
from dialens.studies.store._submission import STORED, Receipt, Submission, check_submission
from dialens.studies.store._submitting import submit
from dialens.studies.store._tables import LIVE


@dataclass(frozen=True)
class Waiting:
    """A submission that is to be stored.

    Attributes:
        token: Of the session.
        given: The answers.
        now: When they came.
    """

    token: str
    given: Submission
    now: datetime


def submit_together(database: Database, waiting: Sequence[Waiting]) -> list[Receipt | Exception]:
    """Store submissions; gives for each its receipt, or what `submit` would raise for it."""
    outcomes: dict[int, Receipt | Exception] = {}
    for place, one in enumerate(waiting):
        try:
            check_submission(one.given)
        except DialensError as error:
            outcomes[place] = error
    sound = {place: one for place, one in enumerate(waiting) if place not in outcomes}
    try:
        with database.writing() as connection:
            done = _plain_ones(connection, sound)
        outcomes |= done
        down: Exception | None = None
    except StoreUnavailable as error:
        down = error
    except Exception:
        # One of them is at fault. Which, shows when each is on its own, and is told there.
        down = None
    for place, one in sound.items():
        if place in outcomes:
            continue
        if down is not None:  # each for itself would wait for the database, one after the other
            outcomes[place] = StoreUnavailable(str(down))
            continue
        try:
            outcomes[place] = submit(database, one.token, one.given, one.now)
        except StoreUnavailable as error:
            outcomes[place] = down = error
        except Exception as error:
            outcomes[place] = error
    return [outcomes[place] for place in range(len(waiting))]


def _plain_ones(connection: Connection, waiting: Mapping[int, Waiting]) -> dict[int, Receipt]:
    """Store what is plain; receipts by place."""
    free = find_free(connection, [one.token for one in waiting.values()])
    seen: set[int] = set()
    accepted: list[Accepted] = []
    receipts: dict[int, Receipt] = {}
    for place, one in waiting.items():
        row = free.get(token_hash(one.token))
        if row is None or row.id in seen:
            continue
        seen.add(row.id)
        if row.state == LIVE and row.position == one.given.index:
            accepted.append(Accepted(row, one.given, one.now))
            receipts[place] = Receipt(one.given.index + 1, STORED)
    record(connection, accepted)
    return receipts
