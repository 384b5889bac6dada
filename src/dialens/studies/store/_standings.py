"""How far every session is, so that who watches a study reads only what came since."""

from dataclasses import dataclass

import polars as pl
from sqlalchemy import select

from dialens.studies.store import _frames as frames
from dialens.studies.store._database import Database
from dialens.studies.store._session import study_id
from dialens.studies.store._tables import LIVE, RESTARTED, participants, sessions


@dataclass(frozen=True)
class SessionStanding:
    """How far a session is.

    Attributes:
        id: Of the session.
        participant: The pseudonym.
        position: Screens submitted: what was answered changes with it, and never otherwise.
        counts: Whether its answers count; not if the person began again.
        live: Whether it is under way.
        excluded: Whether the person is left out of the analysis.
    """

    id: int
    participant: str
    position: int
    counts: bool
    live: bool
    excluded: bool


@dataclass(frozen=True)
class Standings:
    """Reads a study session by session, each in a short transaction of its own.

    A long one would keep what was deleted from being overwritten until it ends.
    """

    database: Database

    def all(self, study: str) -> tuple[SessionStanding, ...]:
        """Every session of a study, by its hash, in the order in which they began."""
        with self.database.reading() as connection:
            query = (
                select(
                    sessions.c.id,
                    participants.c.pseudonym,
                    sessions.c.position,
                    sessions.c.state != RESTARTED,
                    sessions.c.state == LIVE,
                    participants.c.excluded_at.is_not(None),
                )
                .join(participants, participants.c.id == sessions.c.participant_id)
                .where(participants.c.study_id == study_id(connection, study))
                .order_by(sessions.c.id)
            )
            return tuple(SessionStanding(*row) for row in connection.execute(query))

    def answers(self, session: int, since: int = 0) -> tuple[int, pl.DataFrame] | None:
        """How far a session is, and its answers from a screen on; none if it was deleted.

        Args:
            session: Its id.
            since: The place of the first screen that is wanted.
        """
        with self.database.reading() as connection:
            query = select(sessions.c.position).where(sessions.c.id == session)
            position = connection.execute(query).scalar_one_or_none()
            if position is None:
                return None
            return position, frames.session_answers(connection, session, since)
