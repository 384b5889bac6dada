"""The pages on which participants talk with an agent: send a message, stream the reply, go on.

With a script the reply streams, one JSON object a line. Without, the browser waits for the whole
page. Either way a message is stored before the agent is asked, and sending it again changes
nothing.
"""

import asyncio
import json
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import JSONResponse, Response, StreamingResponse

from dialens.studies import ANSWERED, FAILED, GIVEN_UP, WAITING, Exchange, Screen, filled, is_over
from dialens.studies.design import Conversations
from dialens.studies.store import (
    REPEATED,
    STORED,
    ParticipantMessage,
    Session,
    SessionOver,
    StoreUnavailable,
    UnknownSession,
)
from dialens.studies.texts import Texts
from dialens.web._forms import SentForm, onward, wants_json
from dialens.web._refusal import Refusal
from dialens.web._replies import LiveReply, Replies
from dialens.web._site import Site

ANSWER = "answer"
"""Purpose of the ticket that forms of a session bring along."""

_QUIET_S = 10.0
_LOOK_S = 0.5
_NDJSON = "application/x-ndjson"
_LONGEST_KEY = 64

FAILURES = frozenset(
    {"timeout", "unreachable", "refused", "busy", "malformed", "empty", "too_long", "ended"}
)
"""Reasons that have a text of their own; nothing in it tells which agent it was."""


@dataclass(frozen=True)
class Caller:
    """Somebody with a session.

    Attributes:
        session: The session.
        screen: Where they are.
    """

    session: Session
    screen: Screen


@dataclass(frozen=True)
class ChatState:
    """A conversation as a page shows it.

    Attributes:
        exchanges: What was said.
        wanted: Messages that the participant writes in all.
        texts: In the participant's language.
    """

    exchanges: tuple[Exchange, ...]
    wanted: int
    texts: Texts

    @property
    def last(self) -> Exchange | None:
        """The newest exchange."""
        return self.exchanges[-1] if self.exchanges else None

    @property
    def over(self) -> bool:
        """Whether the conversation is finished and the participant goes on."""
        return is_over(self.exchanges, self.wanted)

    @property
    def waiting(self) -> bool:
        """Whether a reply is under way."""
        return self.last is not None and self.last.state == WAITING

    @property
    def failed(self) -> bool:
        """Whether the last reply failed and may be asked for again."""
        return self.last is not None and self.last.state == FAILED

    @property
    def number(self) -> int:
        """The number of the exchange that is next, or under way."""
        busy = self.last is not None and self.last.state != ANSWERED
        return len(self.exchanges) + (0 if busy else 1)

    @property
    def sorry(self) -> str:
        """What to say of a failure; empty if there was none."""
        last = self.last
        if last is None or last.state not in (FAILED, GIVEN_UP):
            return ""
        say = self.texts.say
        why = say(f"chat_{last.reason}" if last.reason in FAILURES else "chat_failed")
        if last.state == FAILED:
            return f"{why} {say('chat_saved')}"
        return f"{why} {say('chat_go_on' if last.reason == 'ended' else 'chat_given_up')}"

    def as_json(self) -> dict[str, Any]:
        """For programs, the page's script among them."""
        last = self.last
        return {
            "state": "ready" if last is None else last.state,
            "number": self.number,
            "text": None if last is None else last.reply,
            "sorry": self.sorry,
            "over": self.over,
            "left": self.wanted - sum(exchange.state == ANSWERED for exchange in self.exchanges),
        }


class Chats:
    """Handles what participants of a study with conversations ask for."""

    def __init__(self, site: Site, caller: Callable[[Request], Caller | None]) -> None:
        """Serve `site`, of which `caller` knows who a request comes from."""
        assert site.replies is not None
        assert site.study.design.conversations is not None
        self._site = site
        self._caller = caller
        self._replies: Replies = site.replies
        self._settings: Conversations = site.study.design.conversations

    def state(self, session: Session, talk: str) -> ChatState:
        """How far a conversation is."""
        exchanges = self._replies.conversations.exchanges(session.token)
        return self.state_of(session, exchanges, talk)

    def still_on(self, session: Session, screen: Screen) -> bool:
        """Whether a screen is a conversation that is not over."""
        return screen.kind == "chat" and not self.state(session, screen.id).over

    def state_of(self, session: Session, exchanges: Sequence[Exchange], talk: str) -> ChatState:
        """How far a conversation is, of those of a participant."""
        own = tuple(exchange for exchange in exchanges if exchange.talk == talk)
        texts = self._site.pages_in(session.language).texts
        return ChatState(own, self._settings.exchanges, texts)

    def page(
        self,
        caller: Caller,
        *,
        index: int,
        total: int,
        given: str = "",
        error: str = "",
        menu: object = None,
    ) -> Response:
        """The page of a conversation, with the menu of what is at hand."""
        site, screen = self._site, caller.screen
        exchanges = self._replies.conversations.exchanges(caller.session.token)
        return site.pages_in(caller.session.language).page(
            "chat",
            422 if error else 200,
            screen=filled(screen, exchanges),
            chat=self.state_of(caller.session, exchanges, screen.id),
            settings=self._settings,
            index=index,
            total=total,
            ticket=site.cookies.ticket(ANSWER, caller.session.token),
            key=secrets.token_urlsafe(16),
            given=given,
            error=error,
            preview=None,
            menu=menu,
        )

    async def send(self, request: Request, form: dict[str, str]) -> Response:
        """Take a message, or ask again, or only listen; then tell the reply as it comes."""
        caller = await run_in_threadpool(self._caller, request)
        if caller is None:
            return onward(request, "/")
        session, screen, site = caller.session, caller.screen, self._site
        if not site.cookies.is_ticket(form.get("ticket", ""), ANSWER, session.token):
            raise Refusal(403, "not_yours")
        number = _number(form)
        if screen.kind != "chat" or form.get("screen") != screen.id:
            return onward(request, "/study")
        if form.get("do", "say") == "say":
            wrong = self._wrong(form.get("text", ""), site.pages_in(session.language).texts)
            if wrong:
                return self._refused(request, caller, form, wrong)
            stored, live = await self._said(caller, number, form)
            if not stored:  # a second tab went ahead: the page shows what counts
                return onward(request, "/study")
        else:
            live = await self._taken(caller, number, again=form.get("do") == "again")
        if wants_json(request):
            lines = self._lines(caller, number, live)
            return StreamingResponse(lines, media_type=_NDJSON)
        async for _ in self._lines(caller, number, live):
            pass
        return onward(request, "/study")

    def _wrong(self, text: str, texts: Texts) -> str:
        if not text.replace("\0", "").strip():
            return texts.say("chat_error_empty")
        most = self._settings.max_characters
        # Browsers count a line's end as one character and send two.
        if len(text.replace("\r\n", "\n")) > most:
            return texts.say("chat_error_long", most=most)
        return ""

    def _refused(
        self, request: Request, caller: Caller, form: dict[str, str], wrong: str
    ) -> Response:
        if wants_json(request):
            return JSONResponse({"errors": {"text": wrong}}, 422)
        screens = self._site.screens(caller.session)
        text = form.get("text", "")[: 2 * self._settings.max_characters]
        return self.page(
            caller, index=caller.session.index, total=len(screens) - 1, given=text, error=wrong
        )

    async def _said(
        self, caller: Caller, number: int, form: dict[str, str]
    ) -> tuple[bool, LiveReply | None]:
        """Whether the message is stored, now or before, and the reply to it if it is under way."""
        screen, session = caller.screen, caller.session
        message = ParticipantMessage(
            screen.id,
            session.index,
            number,
            form.get("text", "").replace("\r\n", "\n").strip(),
            (form.get("key") or secrets.token_urlsafe(16))[:_LONGEST_KEY].replace("\0", ""),
            str(screen.state["system"]),
            str(screen.state["agent"]),
            self._settings.exchanges,
        )
        replies = self._replies

        def say() -> tuple[str, LiveReply | None]:
            outcome, lease = replies.conversations.say(
                session.token, message, server=replies.server, now=self._site.clock()
            )
            if lease is None:
                return outcome, None
            return outcome, replies.start(lease, session, message.agent)

        # To its end, even if the browser is gone: what is leased has to be asked.
        outcome, live = await asyncio.shield(run_in_threadpool(say))
        if outcome == REPEATED:
            live = await self._taken(caller, number)
        return outcome in (STORED, REPEATED), live

    async def _taken(self, caller: Caller, number: int, *, again: bool = False) -> LiveReply | None:
        """A reply that is under way here, or is asked for now because nobody else does."""
        screen, session, replies = caller.screen, caller.session, self._replies
        live = replies.find(session, screen.id, number)
        if live is not None:
            return live

        def take() -> LiveReply | None:
            lease = replies.conversations.take_over(
                session.token,
                screen.id,
                number,
                server=replies.server,
                now=self._site.clock(),
                again=again,
            )
            agent = str(screen.state["agent"])
            return None if lease is None else replies.start(lease, session, agent)

        return await asyncio.shield(run_in_threadpool(take))

    async def _lines(
        self, caller: Caller, number: int, live: LiveReply | None
    ) -> AsyncIterator[bytes]:
        """Pieces, and at the end where the conversation is.

        A stream without that end was cut off; the page then asks again.
        """
        yield _line({"stored": number})
        while True:
            if live is not None:
                async for piece in live.listen(_QUIET_S):
                    yield _line({"piece": piece}) if piece else b"\n"
            try:
                state = await run_in_threadpool(self.state, caller.session, caller.screen.id)
                if not state.waiting:
                    here = state.last is None or state.last.number == number
                    yield _line(state.as_json() if here else {"next": self._site.root + "/study"})
                    return
                # Another process asks, or did and is gone.
                await asyncio.sleep(_LOOK_S)
                yield b"\n"
                live = await self._taken(caller, number)
            except (StoreUnavailable, UnknownSession):  # away for a moment, or forgotten
                return


def _number(form: dict[str, str]) -> int:
    number = form.get("number", "")
    if not (number.isascii() and number.isdigit() and len(number) <= 4):
        raise Refusal(400, "unreadable")
    return int(number)


def _line(value: dict[str, Any]) -> bytes:
    return json.dumps(value).encode("ascii") + b"\n"


def chat_routes(chats_of: Callable[[Request], Awaitable[Chats | None]]) -> APIRouter:
    """The addresses of conversations; `chats_of` knows which version a request belongs to."""
    router = APIRouter(include_in_schema=False)

    @router.post("/chat")
    async def send(request: Request, form: SentForm) -> Response:
        try:
            chats = await chats_of(request)
            if chats is None:
                return onward(request, "/study")
            return await chats.send(request, form)
        except SessionOver:  # the page says so
            return onward(request, "/study")

    return router
