"""What one person did, attempt by attempt: screens, times, answers, what was said."""

from dataclasses import dataclass
from datetime import datetime
from json import loads

from sqlalchemy import Connection, select

from dialens.studies._exchange import Exchange
from dialens.studies._types import Answer
from dialens.studies.store._conversations import said_in
from dialens.studies.store._people import unknown_participant
from dialens.studies.store._session import Session, as_session, attempts_of
from dialens.studies.store._store import Store
from dialens.studies.store._tables import answers, events, submissions


@dataclass(frozen=True)
class ScreenVisit:
    """A screen that somebody submitted.

    Attributes:
        screen: Its id.
        kind: Of the screen.
        index: Its place in the session, from 0.
        answers: By field, in the order in which they were asked; none where nothing was answered.
        answered_at: When the submission arrived.
        seconds: The time the screen was visible; none where it is not known.
    """

    screen: str
    kind: str
    index: int
    answers: Answer
    answered_at: datetime
    seconds: float | None


@dataclass(frozen=True)
class History:
    """One attempt of a person.

    Attributes:
        session: Where they are; without a token.
        last_seen_at: When they were last heard of.
        ended_at: When it was completed or left; none while it is under way.
        visits: The screens that they submitted, in order.
        exchanges: What they and agents said, in order.
    """

    session: Session
    last_seen_at: datetime
    ended_at: datetime | None
    visits: tuple[ScreenVisit, ...]
    exchanges: tuple[Exchange, ...]

    def visit(self, index: int) -> ScreenVisit | None:
        """What was submitted at a place of the session."""
        return next((visit for visit in self.visits if visit.index == index), None)


def histories(store: Store, participant: str) -> tuple[History, ...]:
    """Every attempt of a person, the newest first.

    Raises:
        UnknownParticipant: There is nobody of this pseudonym.
    """
    with store.database.reading() as connection:
        rows = attempts_of(connection, participant)
        if not rows:
            raise unknown_participant(connection, participant)
        return tuple(
            History(
                as_session(row, ""),
                row.seen_at,
                row.ended_at,
                _visits(connection, row.id),
                said_in(connection, row.id),
            )
            for row in rows
        )


@dataclass(frozen=True)
class PageEvent:
    """Something that happened while somebody was on a screen.

    Attributes:
        screen: The screen.
        kind: One of `EVENT_KINDS`.
        field: The field that it happened to, if it was one.
        at: When, by the clock of the browser: only times of one page can be compared.
        page: Tells reloads and tabs apart.
    """

    screen: str
    kind: str
    field: str | None
    at: datetime
    page: str


def events_of(store: Store, participant: str, attempt: int) -> tuple[PageEvent, ...]:
    """What happened in an attempt of a person, page by page in the order of time."""
    with store.database.reading() as connection:
        own = [row.id for row in attempts_of(connection, participant) if row.attempt == attempt]
        if not own:
            raise unknown_participant(connection, participant)
        query = (
            select(events)
            .where(events.c.session_id == own[0])
            .order_by(events.c.server_at, events.c.page, events.c.serial)
        )
        return tuple(
            PageEvent(row.screen, row.kind, row.field, row.client_at, row.page)
            for row in connection.execute(query)
        )


def _visits(connection: Connection, session: int) -> tuple[ScreenVisit, ...]:
    given: dict[str, Answer] = {}
    query = select(answers).where(answers.c.session_id == session).order_by(answers.c.place)
    for row in connection.execute(query):
        given.setdefault(row.screen, {})[row.field] = loads(row.value)
    own = submissions.c.session_id == session
    shown = select(submissions).where(own).order_by(submissions.c.position)
    return tuple(
        ScreenVisit(
            row.screen,
            row.kind,
            row.position,
            given.get(row.screen, {}),
            row.received_at,
            None if row.active_ms is None else row.active_ms / 1000,
        )
        for row in connection.execute(shown)
    )
