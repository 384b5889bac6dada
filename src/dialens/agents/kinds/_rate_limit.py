"""So many requests and tokens a minute, and no more, whoever asks."""

import threading
import time
from collections.abc import Callable
from weakref import WeakValueDictionary

_SHORTEST_GAP, _LONGEST_GAP = 0.25, 30.0
"""Seconds between requests after a server asked to slow down."""


class RateLimit:
    """Spaces requests evenly: each takes its time of the minute, by number and by tokens.

    Args:
        requests: A minute; 0 for no limit.
        tokens: A minute, read and written together; 0 for no limit.
        clock: Seconds, from any beginning.
        sleep: How to wait.

    Examples:
        >>> waited = []
        >>> limit = RateLimit(requests=30, clock=lambda: 0.0, sleep=waited.append)
        >>> for _ in range(3):
        ...     limit.wait(tokens=10)
        >>> waited
        [2.0, 4.0]
    """

    def __init__(
        self,
        *,
        requests: float = 0,
        tokens: float = 0,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.requests = requests
        self.tokens = tokens
        self._clock = clock
        self._sleep = sleep
        self._lock = threading.Lock()
        self._free = 0.0
        self._free_tokens = 0.0
        self._paused = 0.0
        self._gap = 0.0

    def wait(self, tokens: float = 0) -> None:
        """Wait until a request of about so many tokens may be made."""
        with self._lock:
            now = self._clock()
            start = max(now, self._free, self._free_tokens, self._paused)
            gap = max(60 / self.requests if self.requests else 0.0, self._gap)
            if gap:
                self._free = start + gap
            if self.tokens:
                self._free_tokens = start + tokens * 60 / self.tokens
        if start > now:
            self._sleep(start - now)

    def pause(self, seconds: float) -> None:
        """Let nobody ask for a while, because the server asked for that.

        Afterwards requests come one after the other, further apart each time: a server that counts
        requests would refuse all but the first of those that march in step.
        """
        with self._lock:
            now = self._clock()
            if now >= self._paused:  # those refused together are one refusal
                self._gap = min(max(2 * self._gap, _SHORTEST_GAP), _LONGEST_GAP)
            self._paused = max(self._paused, now + seconds)
            self._free = max(self._free, self._paused)

    def served(self) -> None:
        """A request was answered: the next may come a little sooner again."""
        with self._lock:
            self._gap = 0.9 * self._gap if self._gap > _SHORTEST_GAP / 4 else 0.0

    def settle(self, tokens: float) -> None:
        """Count tokens that were not foreseen; fewer than foreseen are a negative number."""
        if self.tokens:
            with self._lock:
                self._free_tokens += tokens * 60 / self.tokens


# A limit is the account's, not the agent's: agents of one model with other temperatures share it.
_SHARED: WeakValueDictionary[tuple[object, ...], RateLimit] = WeakValueDictionary()
_SHARING = threading.Lock()


def shared_limit(*account: object, requests: float, tokens: float) -> RateLimit:
    """The limit of an account, the same for all who ask for it with the same numbers.

    Examples:
        >>> one = shared_limit("a", requests=60, tokens=0)
        >>> one is shared_limit("a", requests=60, tokens=0)
        True
    """
    key = (*account, requests, tokens)
    with _SHARING:
        found = _SHARED.get(key)
        if found is None:
            found = _SHARED[key] = RateLimit(requests=requests, tokens=tokens)
        return found
