"""Somebody comes back: whether they are who they say they are, and when they saw a screen first.

An id in an address is no secret. Who began a session is known again by the browser, whose random
name the server gave out, or by what their address holds for this participation alone.
"""

import hashlib
import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, select, update

from dialens.studies.design import Entry
from dialens.studies.store._database import Database
from dialens.studies.store._secrets import Secrets
from dialens.studies.store._session import find, token_hash
from dialens.studies.store._tables import sessions, tokens


@dataclass(frozen=True)
class EntryProof:
    """What somebody brings who comes by an address.

    Attributes:
        browser: The random name that the server gave their browser.
        token: Of a session that the browser is in; none if it is in none.
        secret: What their address holds for this participation alone; none if nothing.
    """

    browser: str
    token: str | None = None
    secret: str | None = None

    @property
    def browser_hash(self) -> str:
        """What is kept of the browser's name."""
        return hashlib.sha256(self.browser.encode()).hexdigest()

    def secret_mark(self, secrets: Secrets, recruiter: str) -> str | None:
        """What is kept of the secret."""
        return None if self.secret is None else secrets.mark(f"session {recruiter}", self.secret)


def entry_of(study: Row[Any]) -> Entry:
    """Who is let into a study, as it is run now."""
    return Entry.model_validate(json.loads(study.operation).get("entry", {}))


def is_known(
    connection: Connection, study: Row[Any], last: Row[Any], proof: EntryProof, mark: str | None
) -> bool:
    """Whether somebody is shown to be who began.

    Args:
        connection: To the database.
        study: Its row.
        last: The newest session of the person whom the address names.
        proof: What they bring.
        mark: Of the secret that they bring.
    """
    policy = entry_of(study).another_browser
    if policy == "same_id":
        return True
    if policy == "same_address" and mark is not None and mark == last.secret_mark:
        return True
    own = select(sessions.c.id).where(sessions.c.participant_id == last.participant_id)
    here = tokens.c.browser == proof.browser_hash
    if proof.token is not None:
        here |= tokens.c.hash == token_hash(proof.token)
    query = select(tokens.c.hash).where(tokens.c.session_id.in_(own), here).limit(1)
    return connection.execute(query).first() is not None


def first_shown(database: Database, token: str, index: int, now: datetime) -> datetime:
    """When the screen at a place was first shown; from now on, if it was not before.

    Args:
        database: Of the study.
        token: Of the session.
        index: The place of the screen.
        now: The time.
    """
    with database.writing() as connection:
        row = find(connection, token, lock=True)
        if row.shown_position == index and row.first_shown_at is not None:
            return row.first_shown_at  # type: ignore[no-any-return]
        if row.position == index:
            shown = {"shown_position": index, "first_shown_at": now}
            connection.execute(update(sessions).where(sessions.c.id == row.id).values(shown))
    return now
