"""Group commit: submissions that arrive while one group is stored form the next group.

Nobody holds a thread while waiting, and the disk is waited for once a group. Each is answered when
its group is committed, not before.
"""

import asyncio

from anyio import CapacityLimiter, to_thread

from dialens.studies.store import PendingSubmission, Receipt, Store

_MOST = 100
"""Submissions in a group: the first of them are answered before the last of a crowd are stored."""

_Entry = tuple[PendingSubmission, asyncio.Future[Receipt]]


class Intake:
    """Takes submissions from the tasks of an event loop to the store."""

    def __init__(self, store: Store) -> None:
        """Store submissions in `store`."""
        self._store = store
        self._queue: list[_Entry] = []
        self._working: asyncio.Task[None] | None = None

    async def submit(self, pending: PendingSubmission) -> Receipt:
        """Store a submission, together with others; what returns is on disk.

        Raises:
            DialensError: What `Store.submit` raises for this one.
        """
        mine: asyncio.Future[Receipt] = asyncio.get_running_loop().create_future()
        self._queue.append((pending, mine))
        if self._working is None or self._working.done():
            self._working = asyncio.create_task(self._work())
        return await mine

    async def _work(self) -> None:
        # A thread of its own: those that make pages are all taken when many wait for pages.
        limiter = CapacityLimiter(1)
        while self._queue:
            group, self._queue = self._queue[:_MOST], self._queue[_MOST:]
            try:
                outcomes = await to_thread.run_sync(
                    self._store.submit_together, [pending for pending, _ in group], limiter=limiter
                )
            except Exception as error:
                outcomes = [error] * len(group)
            except asyncio.CancelledError:
                # The server stops. Who waits gets no word, and sends the same again later.
                for _, future in (*group, *self._queue):
                    future.cancel()
                self._queue = []
                raise
            for (_, future), outcome in zip(group, outcomes, strict=True):
                if future.done():  # the request that asked is gone
                    continue
                if isinstance(outcome, Exception):
                    future.set_exception(outcome)
                else:
                    future.set_result(outcome)
