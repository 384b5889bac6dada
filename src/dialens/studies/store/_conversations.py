"""Conversations with agents: each message stored once, each answered once.

A message is on disk before an agent is asked, and a reply before anybody hears that it is whole.
The server that asks an agent has a lease on the exchange, for a few seconds at a time, and renews
it while it asks. If the server dies the lease runs out, and whoever looks next takes over.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import polars as pl
from sqlalchemy import Connection, Row, insert, select, update

from dialens.studies._exchange import (
    ALL_SAID,
    ANSWERED,
    BY_AGENT,
    BY_PARTICIPANT,
    BY_TIME,
    FAILED,
    GIVEN_UP,
    READY,
    WAITING,
    Exchange,
    Side,
    Talk,
    TalkState,
)
from dialens.studies.store import _frames as frames
from dialens.studies.store._arrivals import over
from dialens.studies.store._database import Database
from dialens.studies.store._messages import AgentFailure, AgentReply, Lease, ParticipantMessage
from dialens.studies.store._session import find, too_old
from dialens.studies.store._submission import ANSWERED_BEFORE, ELSEWHERE, REPEATED, STORED
from dialens.studies.store._tables import COMPLETED, LIVE, exchanges, failures, sessions

_LONGEST_FINISH = 32
LEASE_S = 6.0
"""Seconds after which a lease runs out unless it is renewed."""


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
    ) -> tuple[str, tuple[Lease, ...]]:
        """Store a message and lease it, so that the agents of all sides can be asked.

        Returns:
            `stored`, with a lease for each side; `repeated` if this very message is there already;
            `answered_before` if another page sent one in its place, which counts; `elsewhere` if
            the conversation is not at this point, or is over.

        Raises:
            SessionOver: The session expired or was begun anew, so nothing was stored.
        """
        talk = message.talk
        with self.database.writing() as connection:
            row = find(connection, token, lock=True)
            late = row.state == LIVE and too_old(row, now)
            if row.state not in (LIVE, COMPLETED) or late:
                raise over(row, now)
            state = TalkState(talk, said_in(connection, row.id, talk.names), now)
            said = state.sides[0]
            known = next((earlier for earlier in said if earlier.number == message.number), None)
            if known is not None:
                return (REPEATED if known.key == message.key else ANSWERED_BEFORE), ()
            here = row.state == LIVE and row.position == message.index
            if here and state.ended == BY_TIME:
                _end(connection, row.id, state, BY_TIME)
            open_ = state.state in (READY, ANSWERED) and not state.over
            if not here or not open_ or message.number != state.number:
                return ELSEWHERE, ()
            leases = tuple(
                self._stored(connection, row.id, message, side, before, server, now)
                for side, before in zip(talk.sides, state.sides, strict=True)
            )
            connection.execute(update(sessions).where(sessions.c.id == row.id).values(seen_at=now))
            return STORED, leases

    def _stored(
        self,
        connection: Connection,
        session: int,
        message: ParticipantMessage,
        side: Side,
        before: tuple[Exchange, ...],
        server: str,
        now: datetime,
    ) -> Lease:
        """Store a message for a side, leased."""
        exchange = Exchange(
            side.talk, message.number, message.key, clean(message.text), now, tries=1
        )
        connection.execute(
            insert(exchanges).values(
                session_id=session,
                talk=exchange.talk,
                number=exchange.number,
                system=side.system,
                agent=side.agent,
                key=exchange.key,
                said=exchange.said,
                said_at=now,
                state=WAITING,
                tries=1,
                server=server,
                held_until=now + timedelta(seconds=LEASE_S),
            )
        )
        return Lease(session, server, exchange, before, message.talk, side, now)

    def take_over(
        self,
        token: str,
        talk: Talk,
        side: Side,
        number: int,
        *,
        server: str,
        now: datetime,
        again: bool = False,
    ) -> Lease | None:
        """Lease an exchange whose lease has run out, or that failed and is to be tried again.

        None if there is nothing to do: it is answered, given up, or another server asks.
        """
        with self.database.writing() as connection:
            row = find(connection, token, lock=True)
            said = said_in(connection, row.id, (side.talk,))
            known = next((earlier for earlier in said if earlier.number == number), None)
            if known is None or known.ended is not None or row.state != LIVE:
                return None
            until = _leased_until(connection, row.id, side.talk, number)
            expired = known.state == WAITING and (until is None or until <= now)
            if not expired and not (again and known.state == FAILED):
                return None
            exchange = Exchange(
                side.talk, number, known.key, known.said, known.said_at, tries=known.tries + 1
            )
            connection.execute(
                update(exchanges)
                .where(_this(row.id, side.talk, number))
                .values(
                    state=WAITING,
                    tries=exchange.tries,
                    server=server,
                    held_until=now + timedelta(seconds=LEASE_S),
                )
            )
            connection.execute(update(sessions).where(sessions.c.id == row.id).values(seen_at=now))
            before = tuple(earlier for earlier in said if earlier.number < number)
            # Whoever tries again waits anew; who only looks again has waited since the message.
            since = known.said_at if expired else now
            return Lease(row.id, server, exchange, before, talk, side, since)

    def end(self, token: str, talk: Talk, *, by_participant: bool, now: datetime) -> bool:
        """Store how a conversation ended where that is not stored yet; whether it is over.

        Args:
            token: Of the session.
            talk: The conversation.
            by_participant: Whether the participant ends it, who may do so only from a point on.
            now: The time.
        """
        with self.database.writing() as connection:
            row = find(connection, token, lock=True)
            state = TalkState(talk, said_in(connection, row.id, talk.names), now)
            how = state.ended
            if how is None and by_participant and state.may_end and row.state == LIVE:
                how = BY_PARTICIPANT
            if how is not None and how != ALL_SAID:
                _end(connection, row.id, state, how)
            return how is not None

    def store_reply(self, lease: Lease, reply: AgentReply, *, now: datetime) -> bool:
        """Store a reply; whether it counts, which it does unless somebody took over."""
        exchange = lease.exchange
        last = exchange.number >= lease.talk.most
        values = {
            "state": ANSWERED,
            "reply": clean(reply.text),
            "replied_at": now,
            "shown_at": now,
            "due_at": reply.due_at,
            "finish": None if reply.finish is None else clean(reply.finish)[:_LONGEST_FINISH],
            "seconds": reply.seconds,
            "requests": reply.requests,
            "tokens_in": reply.tokens_in,
            "tokens_out": reply.tokens_out,
            "cost": reply.cost,
            "ended": ALL_SAID if last else None,
        }
        with self.database.writing() as connection:
            others = _beside(connection, lease)
            if any(other.state == GIVEN_UP for other in others):
                values["ended"] = BY_AGENT
            shown = [other.shown_at for other in others if other.shown_at is not None]
            if reply.due_at is not None:
                values["shown_at"] = max([now, reply.due_at, *shown])
            if not _finished(connection, lease, values):
                return False
            if reply.due_at is not None and shown:
                _change_beside(connection, lease, {"shown_at": values["shown_at"]})
            return True

    def store_failure(self, lease: Lease, failure: AgentFailure, *, now: datetime) -> bool:
        """Store a failure; whether it counts."""
        values = {
            "state": GIVEN_UP if failure.final else FAILED,
            "reason": failure.reason,
            "replied_at": now,
            "ended": BY_AGENT if failure.final else None,
        }
        with self.database.writing() as connection:
            others = _beside(connection, lease)
            if any(other.state == GIVEN_UP for other in others):
                values["ended"] = BY_AGENT
            if not _finished(connection, lease, values):
                return False
            if failure.final:
                _change_beside(connection, lease, {"ended": BY_AGENT})
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

    def exchange_states(self, study: str) -> pl.DataFrame:
        """How every exchange of a study stands, without what was said."""
        with self.database.reading() as connection:
            return frames.exchange_states(connection, study)

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


def said_in(
    connection: Connection, session: int, talks: Sequence[str] | None = None
) -> tuple[Exchange, ...]:
    """What was said in a session, or in some conversations of it, in order."""
    query = select(exchanges).where(exchanges.c.session_id == session)
    if talks is not None:
        query = query.where(exchanges.c.talk.in_(talks))
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
        row.shown_at,
        row.ended,
        row.due_at,
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


def _beside(connection: Connection, lease: Lease) -> list[Exchange]:
    """The same exchange on the other sides, which nobody else changes until this one is stored.

    The lock is the session's, and only answered or failed exchanges are changed under it, never
    those that wait and whose leases are being renewed: so no deadlock.
    """
    if not lease.beside:
        return []
    own = select(sessions.c.id).where(sessions.c.id == lease.session)
    connection.execute(own.with_for_update())
    said = said_in(connection, lease.session, lease.beside)
    return [other for other in said if other.number == lease.exchange.number]


def _change_beside(connection: Connection, lease: Lease, values: dict[str, Any]) -> None:
    others = (
        (exchanges.c.session_id == lease.session)
        & exchanges.c.talk.in_(lease.beside)
        & (exchanges.c.number == lease.exchange.number)
        & (exchanges.c.state != WAITING)
    )
    connection.execute(update(exchanges).where(others).values(**values))


def _end(connection: Connection, session: int, state: TalkState, how: str) -> None:
    """Note with the last exchange of each side how the conversation ended, the same for all."""
    for one in state.last:
        open_ = exchanges.c.ended.is_(None) | (exchanges.c.ended == ALL_SAID)
        mine = _this(session, one.talk, one.number) & open_
        connection.execute(update(exchanges).where(mine).values(ended=how))
