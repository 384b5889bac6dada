"""So many requests and tokens a minute, and no more, whoever asks."""

import threading
import time
from collections.abc import Callable
from weakref import WeakValueDictionary


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

    def wait(self, tokens: float = 0) -> None:
        """Wait until a request of about so many tokens may be made."""
        with self._lock:
            now = self._clock()
            start = max(now, self._free, self._free_tokens)
            if self.requests:
                self._free = start + 60 / self.requests
            if self.tokens:
                self._free_tokens = start + tokens * 60 / self.tokens
        if start > now:
            self._sleep(start - now)

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
