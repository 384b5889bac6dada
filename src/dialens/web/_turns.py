"""Researchers take turns, so that participants always find a thread.

Pages are made in threads, of which a server has few. Requests to the researcher's pages and to the
API wait here for a turn, from their first check to their answer, and there are only so many turns.
"""

from collections.abc import Callable
from typing import Any, TypeVar

from anyio import CapacityLimiter, to_thread
from anyio.lowlevel import RunVar
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dialens.web._root_path import address_below

PARTICIPANTS = 4
"""Threads that researchers cannot take. More only wait for each other, for Python's lock and for
the one that may write."""
RESEARCHERS = 2
"""Requests of researchers that are handled at once, in all studies of a server."""

T = TypeVar("T")

_TURN = "dialens.turn"
_READING = ("GET", "HEAD")
_SIDES = ("/researcher", "/api")
_TURNS: RunVar[CapacityLimiter] = RunVar("dialens_researchers")


def set_threads() -> None:
    """Let the running server have as many threads as participants and researchers may take."""
    to_thread.current_default_thread_limiter().total_tokens = PARTICIPANTS + RESEARCHERS


def limiter(place: RunVar[CapacityLimiter], tokens: int) -> CapacityLimiter:
    """The limiter of the running event loop, made when it is first asked for."""
    try:
        return place.get()
    except LookupError:
        place.set(CapacityLimiter(tokens))
        return place.get()


async def aside(work: Callable[..., T], *arguments: Any) -> T:
    """Run something in a thread that is none of participants' or researchers'."""
    return await to_thread.run_sync(work, *arguments, limiter=CapacityLimiter(1))


class _Turn:
    """The right to be handled; given back once, by whoever is first to do so."""

    def __init__(self, turns: CapacityLimiter) -> None:
        self._turns = turns
        self._taken = False

    async def take(self) -> None:
        await self._turns.acquire_on_behalf_of(self)
        self._taken = True

    def give_back(self) -> None:
        if self._taken:
            self._taken = False
            self._turns.release_on_behalf_of(self)


def give_turn_back(request: Request) -> None:
    """Let other researchers' requests be handled while this one waits for something else."""
    request.scope[_TURN].give_back()


class ResearcherTurns:
    """Middleware: who asks for a researcher's page waits for a turn, once all has been received."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection."""
        if scope["type"] != "http" or not _is_researchers(Request(scope)):
            await self._app(scope, receive, send)
            return
        if scope["method"] not in _READING and scope.get("dialens.refusal") is None:
            receive = await _received(receive)  # else whoever sends slowly would keep the turn
        turn = _Turn(limiter(_TURNS, RESEARCHERS))
        scope[_TURN] = turn

        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                turn.give_back()  # what was to be computed is; the rest is the network's
            await send(message)

        await turn.take()
        try:
            await self._app(scope, receive, sent)
        finally:
            turn.give_back()


def _is_researchers(request: Request) -> bool:
    path = address_below(request)
    return any(path == side or path.startswith(f"{side}/") for side in _SIDES)


async def _received(receive: Receive) -> Receive:
    """Wait for a whole body; gives it, or what the guard says of it, to whoever reads it."""
    messages: list[Message] = []
    refusal: HTTPException | None = None
    more = True
    while more:
        try:
            messages.append(await receive())
        except HTTPException as error:
            refusal, more = error, False
        else:
            more = bool(messages[-1].get("more_body", False))
    messages.reverse()

    async def again() -> Message:
        if messages:
            return messages.pop()
        if refusal is not None:
            raise refusal
        return await receive()

    return again
