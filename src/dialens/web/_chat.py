"""The pages on which participants talk with an agent: send a message, stream the reply, go on.

With a script the reply streams, one JSON object a line. Without, the browser waits for the whole
page. Either way a message is stored before the agent is asked, and sending it again changes
nothing.
"""

import asyncio
import json
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import JSONResponse, Response, StreamingResponse

from dialens.studies import (
    BY_TIME,
    Exchange,
    Screen,
    Talk,
    as_seen,
    filled,
    talk_at,
)
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
from dialens.web._chat_state import ChatState, chat_state
from dialens.web._forms import SentForm, onward, wants_json
from dialens.web._refusal import Refusal
from dialens.web._replies import LiveReply, Replies, heard
from dialens.web._site import Site

ANSWER = "answer"
"""Purpose of the ticket that forms of a session bring along."""

_QUIET_S = 10.0
_LOOK_S = 0.5
_NDJSON = "application/x-ndjson"
_LONGEST_KEY = 64


@dataclass(frozen=True)
class Caller:
    """Somebody with a session.

    Attributes:
        session: The session.
        screen: Where they are.
    """

    session: Session
    screen: Screen


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

    def talk(self, screen: Screen) -> Talk:
        """The conversation that is had on a screen."""
        return talk_at(screen, self._settings)

    def state(self, session: Session, screen: Screen) -> ChatState:
        """How far the conversation of a screen is."""
        exchanges = self._replies.conversations.exchanges(session.token)
        return self._state_of(session, exchanges, screen)

    def still_on(self, session: Session, screen: Screen) -> bool:
        """Whether a screen is a conversation that is not over; how it ended is then stored."""
        if screen.kind != "chat":
            return False
        state = self.state(session, screen)
        if state.ended == BY_TIME:
            conversations, now = self._replies.conversations, self._site.clock()
            conversations.end(session.token, state.talk, by_participant=False, now=now)
        return not state.done

    def seen(self, session: Session) -> tuple[Exchange, ...]:
        """What was said in a session, as the participant sees it now."""
        stored = self._replies.conversations.exchanges(session.token)
        return as_seen(stored, self._site.clock())

    def _state_of(
        self, session: Session, exchanges: Sequence[Exchange], screen: Screen
    ) -> ChatState:
        texts = self._site.pages_in(session.language).texts
        return chat_state(screen, self.talk(screen), exchanges, self._site.clock(), texts)

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
        exchanges = self.seen(caller.session)
        return site.pages_in(caller.session.language).page(
            "chat",
            422 if error else 200,
            screen=filled(screen, exchanges),
            chat=self._state_of(caller.session, exchanges, screen),
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
        do = form.get("do", "say")
        if do == "say":
            wrong = self._wrong(form.get("text", ""), site.pages_in(session.language).texts)
            if wrong:
                return self._refused(request, caller, form, wrong)
            stored, live = await self._said(caller, number, form)
            if not stored:  # a second tab went ahead, or the time is over: the page shows it
                return onward(request, "/study")
        elif do == "end":
            await run_in_threadpool(self._end, caller)
            return onward(request, "/study")
        else:
            live = await self._taken(caller, number, again=do == "again")
        if wants_json(request):
            lines = self._lines(caller, number, live)
            return StreamingResponse(lines, media_type=_NDJSON)
        async for _ in self._lines(caller, number, live):
            pass
        return onward(request, "/study")

    def _end(self, caller: Caller) -> None:
        """The participant ends the conversation; nothing happens if it is not time for that."""
        talk, now = self.talk(caller.screen), self._site.clock()
        conversations = self._replies.conversations
        conversations.end(caller.session.token, talk, by_participant=True, now=now)

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
    ) -> tuple[bool, list[LiveReply]]:
        """Whether the message is stored, now or before, and the replies to it under way."""
        session, replies = caller.session, self._replies
        message = ParticipantMessage(
            self.talk(caller.screen),
            session.index,
            number,
            form.get("text", "").replace("\r\n", "\n").strip(),
            (form.get("key") or secrets.token_urlsafe(16))[:_LONGEST_KEY].replace("\0", ""),
        )

        def say() -> tuple[str, list[LiveReply]]:
            outcome, leases = replies.conversations.say(
                session.token, message, server=replies.server, now=self._site.clock()
            )
            return outcome, [replies.start(lease, session) for lease in leases]

        # To its end, even if the browser is gone: what is leased has to be asked.
        outcome, live = await asyncio.shield(run_in_threadpool(say))
        if outcome == REPEATED:
            live = await self._taken(caller, number)
        return outcome in (STORED, REPEATED), live

    async def _taken(self, caller: Caller, number: int, *, again: bool = False) -> list[LiveReply]:
        """Replies that are under way here, or are asked for now because nobody else does."""
        session, replies, talk = caller.session, self._replies, self.talk(caller.screen)

        def take() -> list[LiveReply]:
            found = []
            for side in talk.sides:
                live = replies.find(session, side.talk, number)
                if live is None:
                    lease = replies.conversations.take_over(
                        session.token, talk, side, number,
                        server=replies.server, now=self._site.clock(), again=again,
                    )  # fmt: skip
                    live = None if lease is None else replies.start(lease, session)
                if live is not None:
                    found.append(live)
            return found

        return await asyncio.shield(run_in_threadpool(take))

    async def _lines(
        self, caller: Caller, number: int, live: list[LiveReply]
    ) -> AsyncIterator[bytes]:
        """Pieces, and at the end where the conversation is.

        A stream without that end was cut off; the page then asks again.
        """
        names = self.talk(caller.screen).names
        yield _line({"stored": number})
        while True:
            async with aclosing(heard(live, _QUIET_S)) as pieces:
                async for talk, piece in pieces:
                    shown = piece and self._settings.common_pace is None
                    told = {"piece": piece, "side": names.index(talk) + 1}
                    yield _line(told) if shown else b"\n"
            try:
                state = await run_in_threadpool(self.state, caller.session, caller.screen)
                if not state.waiting:
                    here = not state.last or state.last[0].number == number
                    yield _line(state.as_json() if here else {"next": self._site.root + "/study"})
                    return
                if state.held_s is not None:
                    live = []
                    await asyncio.sleep(min(state.held_s, _QUIET_S))
                else:  # another process asks, or did and is gone
                    await asyncio.sleep(_LOOK_S)
                    live = await self._taken(caller, number)
                yield b"\n"
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
