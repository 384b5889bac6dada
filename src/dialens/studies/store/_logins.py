"""Researchers' logins that have ended: a cookie alone would count until it expires."""

import hashlib
from datetime import datetime

from sqlalchemy import delete, insert, select

from dialens.studies.store._database import Database
from dialens.studies.store._tables import settings

_PREFIX = "ended login "


class EndedLogins:
    """Which logins were ended, kept in the database, so that all servers of a study know.

    Examples:
        >>> from datetime import UTC
        >>> database = Database.in_memory()
        >>> logins = EndedLogins(database)
        >>> logins.end("a session", until=datetime(2030, 1, 2, tzinfo=UTC), now=datetime.now(UTC))
        >>> logins.has_ended("a session"), logins.has_ended("another")
        (True, False)
        >>> database.close()
    """

    def __init__(self, database: Database) -> None:
        """Keep them in `database`."""
        self._database = database

    def end(self, session: str, *, until: datetime, now: datetime) -> None:
        """Let a login count no more.

        Args:
            session: Its random name.
            until: When its cookie expires, after which it need not be remembered.
            now: The time.
        """
        old = settings.c.name.startswith(_PREFIX) & (settings.c.value < now.isoformat())
        name = _name(session)
        with self._database.writing() as connection:
            connection.execute(delete(settings).where(old | (settings.c.name == name)))
            connection.execute(insert(settings).values(name=name, value=until.isoformat()))

    def has_ended(self, session: str) -> bool:
        """Whether somebody ended a login."""
        query = select(settings.c.name).where(settings.c.name == _name(session))
        with self._database.reading() as connection:
            return connection.execute(query).first() is not None


def _name(session: str) -> str:
    return _PREFIX + hashlib.sha256(session.encode()).hexdigest()[:48]
