"""One event loop for the asynchronous code of an agent, whoever asks and from whatever thread.

Clients that code keeps between replies belong to the loop that they were first used in; with a loop
for each reply the second one would fail.
"""

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Iterator
from concurrent.futures import TimeoutError as NotInTime
from typing import TypeVar

from dialens.agents._agent import AgentError

T = TypeVar("T")


class EventLoop:
    """Runs coroutines in a thread of its own, which begins with the first of them.

    Examples:
        >>> async def said():
        ...     return "Hello."
        >>> loop = EventLoop()
        >>> loop.run(said(), seconds=5)
        'Hello.'
        >>> loop.close()
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None

    def run(self, work: Awaitable[T], *, seconds: float) -> T:
        """Wait for what is awaited.

        Raises:
            AgentError: `timeout` after so many seconds; what was begun is cancelled.
        """

        async def awaited() -> T:
            return await work

        future = asyncio.run_coroutine_threadsafe(awaited(), self._started())
        try:
            return future.result(seconds)
        except NotInTime as error:
            if future.done():  # the code's own
                raise
            future.cancel()
            raise AgentError(
                f"There was no answer within {seconds:g} s (`timeout`).", "timeout"
            ) from error

    def pieces(self, source: AsyncIterator[T], *, seconds: float) -> Iterator[T]:
        """What an asynchronous iterator gives, piece by piece; `seconds` are for each."""

        async def following() -> tuple[bool, T | None]:
            try:
                return True, await anext(source)
            except StopAsyncIteration:
                return False, None

        try:
            while True:
                more, piece = self.run(following(), seconds=seconds)
                if not more:
                    return
                yield piece  # type: ignore[misc]
        finally:
            close = getattr(source, "aclose", None)
            if callable(close):
                self.run(close(), seconds=seconds)

    def close(self) -> None:
        """Stop the loop, if it ever began."""
        with self._lock:
            if self._loop is not None:
                self._loop.call_soon_threadsafe(self._loop.stop)
                self._loop = None

    def _started(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                threading.Thread(target=_serve, args=(self._loop,), daemon=True).start()
            return self._loop


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    try:
        loop.run_forever()
    finally:
        for task in asyncio.all_tasks(loop):
            task.cancel()
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()
