"""A study's database to look at while its server runs: nothing is written, and nobody waits."""

import os
import threading
from datetime import datetime
from pathlib import Path

from sqlalchemy import NullPool, create_engine, func, select

from dialens.base import DialensError, sqlite_to_read
from dialens.studies.store import migrations
from dialens.studies.store._database import Database, check_is_sqlite, prepare_sqlite
from dialens.studies.store._secrets import Secrets
from dialens.studies.store._store import Store
from dialens.studies.store._tables import answers, participants, sessions, studies, submissions


def look_into(path: Path) -> Store:
    """The store of an SQLite file, to read only; its key is not needed, and no file is made.

    Each reading has a connection of its own. In SQLite's write-ahead log readers keep no writer
    waiting; a file that no server has open is read without any lock.

    Args:
        path: The database.

    Raises:
        DialensError: It is no database of a study, or one of another version of dialens.
    """
    if not path.is_file():
        raise DialensError(f"{path} does not exist.")
    check_is_sqlite(path)
    engine = create_engine(
        "sqlite://", creator=lambda: sqlite_to_read(path), poolclass=NullPool, hide_parameters=True
    )
    prepare_sqlite(engine)
    database = Database(engine, threading.Lock())
    with database.reading() as connection:
        here = migrations.current(connection)
    if here != migrations.newest():
        raise DialensError(
            f"{path} was written by another version of dialens. `dialens study status "
            f"{path.parent}` with the newest one brings it up to date."
        )
    return Store(database, Secrets(b""), os.urandom)


def answered(store: Store) -> dict[str, tuple[int, datetime | None]]:
    """How many answers there are of each version of a study, by its hash, and when the last came.

    Examples:
        >>> answered(Store.in_memory())
        {}
    """
    of_session = participants.c.id == sessions.c.participant_id
    joined = studies.join(participants, participants.c.study_id == studies.c.id).join(
        sessions, of_session
    )
    given = (
        select(studies.c.hash, func.count())
        .select_from(joined.join(answers, answers.c.session_id == sessions.c.id))
        .group_by(studies.c.hash)
    )
    last = (
        select(studies.c.hash, func.max(submissions.c.received_at))
        .select_from(joined.join(submissions, submissions.c.session_id == sessions.c.id))
        .group_by(studies.c.hash)
    )
    with store.database.reading() as connection:
        counts = {row[0]: row[1] for row in connection.execute(given)}
        times = {row[0]: row[1] for row in connection.execute(last)}
    return {name: (counts.get(name, 0), times.get(name)) for name in {**times, **counts}}
