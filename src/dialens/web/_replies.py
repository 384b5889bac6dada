"""Replies of agents: each is made in a thread of its own and streamed to all who listen.

Replies do not belong to the request that asked for them. A participant may close the page: the
reply is stored all the same, and is there when they come back.
"""

import asyncio
import hashlib
import logging
import secrets
import threading
import time
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from dialens.agents import ENDED, Agent, AgentError, Message, streamed
from dialens.base import without_secrets
from dialens.studies import Study, due_at, spoken
from dialens.studies.store import (
    LEASE_S,
    AgentFailure,
    AgentReply,
    ConversationStore,
    Lease,
    Session,
    StoreUnavailable,
)

_LOG = logging.getLogger(__name__)
_TICK_S = 0.5
_STORING_TRIES = 6
MOST_AT_ONCE = 64
"""Replies that are waited for at the same time; further ones wait for their turn."""

Key = tuple[str, int, str, int]


def key_of(session: Session, talk: str, number: int) -> Key:
    """The key under which a reply under way is found."""
    return session.participant, session.attempt, talk, number


@dataclass
class LiveReply:
    """A reply under way: written by one thread, streamed in event loops."""

    lease: Lease
    agent: Agent
    session: Session
    began: float = 0.0
    finished: bool = False
    _pieces: list[str] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _listeners: list[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = field(default_factory=list)

    def add(self, piece: str) -> None:
        """Another piece was said."""
        with self._lock:
            self._pieces.append(piece)
            self._wake()

    def finish(self) -> None:
        """Nothing more comes: what became of the reply is stored."""
        with self._lock:
            self.finished = True
            self._wake()

    def _wake(self) -> None:
        for loop, event in self._listeners:
            loop.call_soon_threadsafe(event.set)

    async def listen(self, quiet_s: float) -> AsyncIterator[str]:
        """Everything said from the first piece on; empty text where nothing came for a while."""
        event = asyncio.Event()
        own = (asyncio.get_running_loop(), event)
        with self._lock:
            self._listeners.append(own)
        heard = 0
        try:
            while True:
                with self._lock:
                    event.clear()
                    new, done = self._pieces[heard:], self.finished
                if new:
                    heard += len(new)
                    yield "".join(new)
                elif done:
                    return
                else:
                    try:
                        await asyncio.wait_for(event.wait(), quiet_s)
                    except TimeoutError:
                        yield ""
        finally:
            with self._lock:
                self._listeners.remove(own)


async def heard(
    replies: Sequence[LiveReply], quiet_s: float
) -> AsyncGenerator[tuple[str, str], None]:
    """What is said in several replies, as it comes: the side and the piece, until all are through.

    Args:
        replies: Those under way.
        quiet_s: Seconds after which an empty piece comes where nothing is said.
    """
    pieces: asyncio.Queue[tuple[str, str] | None] = asyncio.Queue()

    async def follow(live: LiveReply) -> None:
        try:
            async for piece in live.listen(quiet_s):
                pieces.put_nowait((live.lease.side.talk, piece))
        finally:
            pieces.put_nowait(None)

    tasks = [asyncio.create_task(follow(live)) for live in replies]
    try:
        left = len(tasks)
        while left:
            piece = await pieces.get()
            if piece is None:
                left -= 1
            else:
                yield piece
    finally:
        for task in tasks:
            task.cancel()


class Replies:
    """Asks agents, in threads apart from those that make pages and store answers."""

    def __init__(
        self,
        conversations: ConversationStore,
        agents: Mapping[str, Agent],
        study: Study,
        clock: Callable[[], datetime],
        *,
        most: int = MOST_AT_ONCE,
    ) -> None:
        """Ask `agents` as the study says, and keep what they say in `conversations`."""
        assert study.design.conversations is not None
        self.conversations = conversations
        self.server = secrets.token_hex(16)
        self._agents = agents
        self._study = study
        self._settings = study.design.conversations
        self._clock = clock
        self._most = most
        self._lock = threading.Lock()
        self._live: dict[Key, LiveReply] = {}
        self._waiting: deque[tuple[Key, LiveReply]] = deque()
        self._running: dict[Key, LiveReply] = {}
        self._renewing = False

    def start(self, lease: Lease, session: Session) -> LiveReply:
        """Ask an agent for the reply that is leased."""
        talk = lease.side.talk
        key = key_of(session, talk, lease.exchange.number)
        agent = self._agents[lease.side.agent]
        live = LiveReply(lease, agent, session)
        with self._lock:
            self._live[key] = live
            self._waiting.append((key, live))
            self._begin_next()
            if not self._renewing:
                self._renewing = True
                threading.Thread(target=self._renew, daemon=True).start()
        return live

    def find(self, session: Session, talk: str, number: int) -> LiveReply | None:
        """A reply that is under way here."""
        with self._lock:
            return self._live.get(key_of(session, talk, number))

    def close(self) -> None:
        """Release the leases: this server stops, and others can ask."""
        with self._lock:
            busy = bool(self._live)
        if busy:
            self.conversations.release_leases(self.server, now=self._clock())

    def _begin_next(self) -> None:
        # Not a pool of the library's: its threads would be waited for when the server stops.
        while self._waiting and len(self._running) < self._most:
            key, live = self._waiting.popleft()
            live.began = time.monotonic()
            self._running[key] = live
            threading.Thread(target=self._work, args=(key, live), daemon=True).start()

    def _done(self, key: Key, live: LiveReply) -> None:
        with self._lock:
            for group in (self._live, self._running):
                if group.get(key) is live:
                    del group[key]
            self._begin_next()
        live.finish()

    def _work(self, key: Key, live: LiveReply) -> None:
        try:
            outcome = self._asked(live)
            if not live.finished:
                self._store(live.lease, outcome)
        finally:
            self._done(key, live)

    def _asked(self, live: LiveReply) -> AgentReply | AgentFailure:
        talks = self._study.said_in(live.session.language).design.conversations
        assert talks is not None
        utterances = spoken((*live.lease.before, live.lease.exchange), greeting=talks.greeting)
        history = [
            Message("agent" if role == "agent" else "partner", text) for role, text in utterances
        ]
        try:
            return self._heard(live, history)
        except AgentError as error:
            final = error.lasting or error.kind == ENDED
            return self._failure(live, error.kind, str(error), final=final)
        except Exception as error:
            _LOG.exception("An agent of the study failed in a way it should not.")
            return self._failure(
                live, "failed", without_secrets(f"{type(error).__name__}: {error}")
            )

    def _heard(self, live: LiveReply, history: list[Message]) -> AgentReply:
        length, limit = 0, self._settings.max_reply_characters
        pieces = streamed(live.agent, history, seed=_seed(live.session, live.lease.side.talk))
        while True:
            try:
                piece = next(pieces)
            except StopIteration as end:
                reply = end.value
                break
            length += len(piece)
            if length > limit:
                pieces.close()
                raise AgentError(
                    f"The reply has more than {limit:,} characters "
                    "(conversations.max_reply_characters).",
                    "too_long",
                )
            live.add(piece)
        if not reply.text.strip():
            raise AgentError("The agent said nothing.", "empty", attempts=reply.attempts)
        return AgentReply(
            reply.text,
            time.monotonic() - live.began,
            reply.attempts,
            reply.tokens_in,
            reply.tokens_out,
            reply.cost,
            due_at(self._settings, reply.text, live.lease, live.session),
            reply.finish if reply.finish not in ("", "stop") else None,
        )

    def _failure(
        self, live: LiveReply, reason: str, detail: str, *, final: bool = False
    ) -> AgentFailure:
        spent = time.monotonic() - live.began
        last = live.lease.exchange.tries >= self._settings.tries
        return AgentFailure(reason, detail, spent, final or last)

    def _store(self, lease: Lease, outcome: AgentReply | AgentFailure) -> None:
        """Store what became of a reply; a database that is away for a moment is waited for."""
        for attempt in range(1, _STORING_TRIES + 1):
            try:
                if isinstance(outcome, AgentReply):
                    self.conversations.store_reply(lease, outcome, now=self._clock())
                else:
                    self.conversations.store_failure(lease, outcome, now=self._clock())
                return
            except StoreUnavailable:
                if attempt == _STORING_TRIES:
                    _LOG.exception("A reply could not be stored; the agent will be asked again.")
                    return
                time.sleep(_TICK_S * 2**attempt)

    def _renew(self) -> None:
        """Renew the leases while replies are under way, and end those that take too long."""
        since = time.monotonic()
        while True:
            time.sleep(_TICK_S)
            with self._lock:
                if not self._live:
                    self._renewing = False
                    return
                late = [
                    (key, live)
                    for key, live in self._running.items()
                    if time.monotonic() - live.began > self._settings.reply_seconds
                ]
            for key, live in late:
                # The thread cannot be stopped. What it says later finds the exchange over.
                limit = self._settings.reply_seconds
                detail = f"No reply within {limit:g} s (conversations.reply_seconds)."
                self._store(live.lease, self._failure(live, "timeout", detail))
                self._done(key, live)
            if time.monotonic() - since > LEASE_S / 3:
                since = time.monotonic()
                try:
                    self.conversations.renew_leases(self.server, now=self._clock())
                except StoreUnavailable:
                    _LOG.warning("The database does not answer; leases are renewed later.")


def _seed(session: Session, talk: str) -> int:
    """The random seed of a conversation: the same in all turns, and after a restart."""
    text = f"{session.study}\x1f{session.participant}\x1f{session.attempt}\x1f{talk}"
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4]) >> 1
