"""What all servers of a study have to know of researchers' logins.

Which have ended, since a cookie alone would count until it expires; and how many wrong passwords
came, since each process by itself would allow as many as all of them together should.
"""

import hashlib
from collections.abc import Callable
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, Connection, delete, func, insert, select

from dialens.base import DialensError
from dialens.studies.store._database import Database
from dialens.studies.store._secrets import Secrets
from dialens.studies.store._tables import mistakes, settings

_PREFIX = "ended login "
_WINDOW = timedelta(minutes=5)
_TRIES_OF_ONE = 5
_TRIES_OF_ALL = 100


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


class TooManyTries(DialensError):
    """Too many failed attempts: the password is not checked for a while.

    Attributes:
        seconds: After which trying makes sense again.
    """

    def __init__(self, seconds: int) -> None:
        super().__init__(f"Too many wrong passwords. Try again in {seconds} seconds.")
        self.seconds = seconds


class LoginTries:
    """Counts wrong passwords in the database, for all processes of a server together.

    Five within five minutes block a network. A hundred of all networks together close the door to
    everybody, so that many machines guess no faster. Of addresses only marks are kept, and not for
    longer than they count.

    Examples:
        >>> from datetime import UTC
        >>> noon, database = datetime(2026, 1, 1, tzinfo=UTC), Database.in_memory()
        >>> tries = LoginTries(database, Secrets(bytes(32)), lambda: noon)
        >>> [tries.judged("10.0.0.1", lambda: None) for _ in range(5)]
        [None, None, None, None, None]
        >>> tries.judged("10.0.0.1", lambda: "owner")
        Traceback (most recent call last):
            ...
        dialens.studies.store._logins.TooManyTries: Too many wrong passwords. Try again in ...
        >>> database.close()
    """

    def __init__(self, database: Database, secrets: Secrets, clock: Callable[[], datetime]) -> None:
        """Keep them in `database`, networks as marks; `clock` tells the time."""
        self._database = database
        self._secrets = secrets
        self._clock = clock

    def judged(self, network: str, check: Callable[[], str | None]) -> str | None:
        """What a check of a password gives, if it may be tried; none is counted as a mistake.

        One attempt after the other: of many at once no more are looked at.

        Raises:
            TooManyTries: It was not looked at.
        """
        mark, now = self._secrets.mark("network", network), self._clock()
        with self._database.writing() as connection:
            if not self._database.is_sqlite:
                connection.exec_driver_sql("LOCK TABLE mistakes IN EXCLUSIVE MODE")
            # A clock that was set back leaves none in the future, which would block for hours.
            stale = (mistakes.c.at <= now - _WINDOW) | (mistakes.c.at > now + _WINDOW)
            connection.execute(delete(mistakes).where(stale))
            own = mistakes.c.network == mark
            _refuse(connection, own, _TRIES_OF_ONE, now)
            _refuse(connection, mistakes.c.id.is_not(None), _TRIES_OF_ALL, now)
            found = check()
            if found is None:
                connection.execute(insert(mistakes).values(network=mark, at=now))
            else:
                connection.execute(delete(mistakes).where(own))
        return found


def _refuse(connection: Connection, which: ColumnElement[bool], most: int, now: datetime) -> None:
    query = select(func.count(), func.min(mistakes.c.at)).where(which)
    count, first = connection.execute(query).one()
    if count >= most:
        raise TooManyTries(max(int((first + _WINDOW - now).total_seconds()), 1))
