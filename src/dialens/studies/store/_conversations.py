"""Conversations with agents: each message stored once, each answered once.

A message is on disk before an agent is asked, and a reply before anybody hears that it is whole.
The server that asks an agent has a lease on the exchange, for a few seconds at a time, and renews
it while it asks. If the server dies the lease runs out, and whoever looks next takes over.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import polars as pl
from sqlalchemy import Connection, Row, insert, select, update

from dialens.studies._exchange import ANSWERED, FAILED, GIVEN_UP, WAITING, Exchange, is_over
from dialens.studies.store import _frames as frames
from dialens.studies.store._arrivals import over
from dialens.studies.store._database import Database
from dialens.studies.store._session import find, too_old
from dialens.studies.store._submission import ANSWERED_BEFORE, ELSEWHERE, REPEATED, STORED
from dialens.studies.store._tables import COMPLETED, LIVE, exchanges, failures, sessions

LEASE_S = 6.0
"""Seconds after which a lease runs out unless it is renewed."""


@dataclass(frozen=True)
class ParticipantMessage:
    """What a participant says.

    Attributes:
        talk: The conversation: the id of its screen.
        index: Of that screen.
        number: Of the exchange, from 1.
        text: What was written.
        key: Made up by the page, the same when it sends the message again.
        system: Whom it is said to, as in a corpus.
        agent: Whom it is said to.
        wanted: Exchanges of the conversation.
    """

    talk: str
    index: int
    number: int
    text: str
    key: str
    system: str
    agent: str
    wanted: int


@dataclass(frozen=True)
class Lease:
    """The right of one server, and no other, to ask the agent of an exchange.

    Attributes:
        session: Its row.
        server: Whose lease it is.
        exchange: The message to be answered.
        before: The earlier exchanges of the conversation.
    """

    session: int
    server: str
    exchange: Exchange
    before: tuple[Exchange, ...]


@dataclass(frozen=True)
class AgentReply:
    """What an agent answered.

    Attributes:
        text: The reply.
        seconds: From the question to the last piece.
        requests: That were made.
        tokens_in: Read by the model.
        tokens_out: Written by the model.
        cost: Of the reply.
    """

    text: str
    seconds: float
    requests: int | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    cost: float | None = None


@dataclass(frozen=True)
class AgentFailure:
    """How an agent failed.

    Attributes:
        reason: A word for tables.
        detail: What went wrong, for the researcher.
        seconds: From the question to the failure.
        final: Whether the conversation ends with it.
    """

    reason: str
    detail: str
    seconds: float
    final: bool


@dataclass(frozen=True)
class ConversationStore:
    """The conversations in a study's database (`Store.database`).

    Each method is one transaction and safe under many processes. What returns is on disk.
    """

    database: Database

    def exchanges(self, token: str) -> tuple[Exchange, ...]:
        """Everything said in a session, in order."""
        with self.database.reading() as connection:
            return said_in(connection, find(connection, token).id)

    def say(
        self, token: str, message: ParticipantMessage, *, server: str, now: datetime
    ) -> tuple[str, Lease | None]:
        """Store a message and lease it, so that its agent can be asked.

        Returns:
            `stored`, with the lease; `repeated` if this very message is there already;
            `answered_before` if another page sent one in its place, which counts; `elsewhere` if
            the conversation is not at this point.

        Raises:
            SessionOver: The session expired or was begun anew, so nothing was stored.
        """
        with self.database.writing() as connection:
            row = find(connection, token, lock=True)
            late = row.state == LIVE and too_old(row, now)
            if row.state not in (LIVE, COMPLETED) or late:
                raise over(row, now)
            said = said_in(connection, row.id, message.talk)
            known = next((earlier for earlier in said if earlier.number == message.number), None)
            if known is not None:
                return (REPEATED if known.key == message.key else ANSWERED_BEFORE), None
            here = row.state == LIVE and row.position == message.index
            open_ = message.number == len(said) + 1 and not is_over(said, message.wanted)
            if not here or not open_ or any(earlier.state != ANSWERED for earlier in said):
                return ELSEWHERE, None
            exchange = Exchange(
                message.talk, message.number, message.key, clean(message.text), now, tries=1
            )
            connection.execute(
                insert(exchanges).values(
                    session_id=row.id,
                    talk=exchange.talk,
                    number=exchange.number,
                    system=message.system,
                    agent=message.agent,
                    key=exchange.key,
                    said=exchange.said,
                    said_at=now,
                    state=WAITING,
                    tries=1,
                    server=server,
                    held_until=now + timedelta(seconds=LEASE_S),
                )
            )
            connection.execute(update(sessions).where(sessions.c.id == row.id).values(seen_at=now))
            return STORED, Lease(row.id, server, exchange, said)

    def take_over(
        self, token: str, talk: str, number: int, *, server: str, now: datetime, again: bool = False
    ) -> Lease | None:
        """Lease an exchange whose lease has run out, or that failed and is to be tried again.

        None if there is nothing to do: it is answered, given up, or another server asks.
        """
        with self.database.writing() as connection:
            row = find(connection, token, lock=True)
            said = said_in(connection, row.id, talk)
            known = next((earlier for earlier in said if earlier.number == number), None)
            if known is None or row.state != LIVE:
                return None
            until = _leased_until(connection, row.id, talk, number)
            expired = known.state == WAITING and (until is None or until <= now)
            if not expired and not (again and known.state == FAILED):
                return None
            exchange = Exchange(
                talk, number, known.key, known.said, known.said_at, tries=known.tries + 1
            )
            connection.execute(
                update(exchanges)
                .where(_this(row.id, talk, number))
                .values(
                    state=WAITING,
                    tries=exchange.tries,
                    server=server,
                    held_until=now + timedelta(seconds=LEASE_S),
                )
            )
            connection.execute(update(sessions).where(sessions.c.id == row.id).values(seen_at=now))
            before = tuple(earlier for earlier in said if earlier.number < number)
            return Lease(row.id, server, exchange, before)

    def store_reply(self, lease: Lease, reply: AgentReply, *, now: datetime) -> bool:
        """Store a reply; whether it counts, which it does unless somebody took over."""
        values = {
            "state": ANSWERED,
            "reply": clean(reply.text),
            "replied_at": now,
            "seconds": reply.seconds,
            "requests": reply.requests,
            "tokens_in": reply.tokens_in,
            "tokens_out": reply.tokens_out,
            "cost": reply.cost,
        }
        with self.database.writing() as connection:
            return _finished(connection, lease, values)

    def store_failure(self, lease: Lease, failure: AgentFailure, *, now: datetime) -> bool:
        """Store a failure; whether it counts."""
        state = GIVEN_UP if failure.final else FAILED
        values = {"state": state, "reason": failure.reason, "replied_at": now}
        with self.database.writing() as connection:
            if not _finished(connection, lease, values):
                return False
            exchange = lease.exchange
            connection.execute(
                insert(failures).values(
                    session_id=lease.session,
                    talk=exchange.talk,
                    number=exchange.number,
                    attempt=exchange.tries,
                    reason=failure.reason,
                    told=clean(failure.detail),
                    seconds=failure.seconds,
                    failed_at=now,
                )
            )
            return True

    def renew_leases(self, server: str, *, now: datetime) -> None:
        """Renew all leases of a server: it still asks."""
        self._lease_until(server, now + timedelta(seconds=LEASE_S))

    def release_leases(self, server: str, *, now: datetime) -> None:
        """Release all leases of a server, which stops, so that others can ask."""
        self._lease_until(server, now)

    def _lease_until(self, server: str, until: datetime) -> None:
        mine = (exchanges.c.server == server) & (exchanges.c.state == WAITING)
        with self.database.writing() as connection:
            connection.execute(update(exchanges).where(mine).values(held_until=until))

    def exchanges_frame(self, study: str) -> pl.DataFrame:
        """Every message and reply of a study (`frames.EXCHANGES`)."""
        with self.database.reading() as connection:
            return frames.exchanges_frame(connection, study)

    def failures_frame(self, study: str) -> pl.DataFrame:
        """Every failure of an agent in a study (`frames.FAILURES`)."""
        with self.database.reading() as connection:
            return frames.failures_frame(connection, study)


def clean(text: str) -> str:
    r"""Text that every database and file can hold: no null characters, no halves of characters.

    Examples:
        >>> clean("a\x00b\ud83d")
        'ab?'
    """
    return text.replace("\0", "").encode("utf-8", "replace").decode("utf-8")


def _this(session: int, talk: str, number: int) -> Any:
    return (
        (exchanges.c.session_id == session)
        & (exchanges.c.talk == talk)
        & (exchanges.c.number == number)
    )


def said_in(connection: Connection, session: int, talk: str | None = None) -> tuple[Exchange, ...]:
    """What was said in a session, or in one conversation of it, in order."""
    query = select(exchanges).where(exchanges.c.session_id == session)
    if talk is not None:
        query = query.where(exchanges.c.talk == talk)
    rows = connection.execute(query.order_by(exchanges.c.talk, exchanges.c.number))
    return tuple(_exchange(row) for row in rows)


def _exchange(row: Row[Any]) -> Exchange:
    return Exchange(
        row.talk,
        row.number,
        row.key,
        row.said,
        row.said_at,
        row.state,
        row.tries,
        row.reply,
        row.replied_at,
        row.reason,
        row.seconds,
        row.requests,
        row.tokens_in,
        row.tokens_out,
        row.cost,
    )


def _leased_until(connection: Connection, session: int, talk: str, number: int) -> datetime | None:
    query = select(exchanges.c.held_until).where(_this(session, talk, number))
    until: datetime | None = connection.execute(query).scalar_one()
    return until


def _finished(connection: Connection, lease: Lease, values: dict[str, Any]) -> bool:
    """Write the end of an exchange, if the lease is still this server's."""
    exchange = lease.exchange
    mine = (
        _this(lease.session, exchange.talk, exchange.number)
        & (exchanges.c.state == WAITING)
        & (exchanges.c.server == lease.server)
        & (exchanges.c.tries == exchange.tries)
    )
    done = connection.execute(update(exchanges).where(mine).values(server=None, **values))
    return bool(done.rowcount)
