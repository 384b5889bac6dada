"""Counts what one visitor may do how often, in the memory of one server process."""

import threading
from collections import OrderedDict
from collections.abc import Callable

_MOST_VISITORS = 10_000


class Quota:
    """So much for each, within a window of time or in all; thread-safe.

    Of more visitors than fit, those not heard of for longest are forgotten.

    Examples:
        >>> quota = Quota(2, window_s=60, clock=lambda: 0.0)
        >>> [quota.takes("ann") for _ in range(3)], quota.takes("bob")
        ([True, True, False], True)
    """

    def __init__(
        self, most: int, *, clock: Callable[[], float], window_s: float = float("inf")
    ) -> None:
        """Allow `most` in a window of `window_s` seconds; `clock` counts them."""
        self.most = most
        self._window_s = window_s
        self._clock = clock
        self._used: OrderedDict[str, tuple[float, int]] = OrderedDict()
        self._lock = threading.Lock()

    def takes(self, who: str, amount: int = 1) -> bool:
        """Take some of what a visitor may have; whether there was enough."""
        with self._lock:
            now = self._clock()
            since, used = self._used.pop(who, (now, 0))
            if now - since >= self._window_s:
                since, used = now, 0
            fits = used + amount <= self.most
            self._used[who] = since, used + amount if fits else used
            if len(self._used) > _MOST_VISITORS:
                self._used.popitem(last=False)
            return fits
