"""Retry over HTTP: which failures are temporary, how long to wait, when to give up.

Needs httpx, which the extras `agents` and `studies` bring.
"""

import email.utils
import math
import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import httpx

_RATE_LIMITED = 429
_TEMPORARY = frozenset({408, 425, _RATE_LIMITED, 502, 503, 504})


@dataclass(frozen=True)
class RetryPolicy:
    """How often a request is sent again, and after how long.

    Attributes:
        attempts: In all, the first among them.
        first_wait_s: Before the second attempt; it doubles with each one after.
        longest_wait_s: Bounds the wait.
        statuses: Answers after which the same request may succeed later.
    """

    attempts: int = 5
    first_wait_s: float = 0.5
    longest_wait_s: float = 60.0
    statuses: frozenset[int] = _TEMPORARY

    def backoff(self, attempt: int, draw: random.Random) -> float:
        """Seconds to wait after a failed attempt, with jitter so that clients spread out.

        Args:
            attempt: The one that failed, from 1.
            draw: Gives the jitter: half to one and a half times the wait.

        Examples:
            >>> policy = RetryPolicy(first_wait_s=1.0)
            >>> [0.5 * 2**n <= policy.backoff(n + 1, random.Random(n)) < 1.5 * 2**n for n in (0, 3)]
            [True, True]
        """
        wait = min(self.first_wait_s * 2.0 ** (attempt - 1), self.longest_wait_s)
        return wait * draw.uniform(0.5, 1.5)


def retry_after(
    headers: Mapping[str, str], *, clock: Callable[[], float] = time.time
) -> float | None:
    """Seconds that a server asks to wait, given as a number or as a date; none if it does not.

    Args:
        headers: Of the response.
        clock: Seconds since 1970.

    Examples:
        >>> retry_after({"Retry-After": "2"}), retry_after({}) is None
        (2.0, True)
        >>> date = {"Retry-After": "Thu, 01 Jan 1970 00:01:00 GMT"}
        >>> retry_after(date, clock=lambda: 50.0)
        10.0
    """
    value = headers.get("Retry-After", "").strip()
    if not value:
        return None
    try:
        seconds = float(value)
    except ValueError:
        try:
            seconds = email.utils.parsedate_to_datetime(value).timestamp() - clock()
        except ValueError:
            return None
    return max(seconds, 0.0) if math.isfinite(seconds) else None


def not_sent(error: httpx.TransportError) -> bool:
    """Whether a request failed before anything was sent, so that sending it again is safe."""
    return isinstance(error, httpx.ConnectError | httpx.ConnectTimeout)


def send_with_retry(
    send: Callable[[], httpx.Response],
    policy: RetryPolicy,
    *,
    idempotent: bool = True,
    sleep: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.time,
    draw: random.Random | None = None,
) -> httpx.Response:
    """Send a request, again after temporary failures, and give the last response.

    Args:
        send: Sends the request once.
        policy: How often, and after how long.
        idempotent: Whether doing it twice is doing it once. If not, it is sent again only where
            the server cannot have acted on it: nobody was reached, or it asked to slow down.
        sleep: How to wait.
        clock: Seconds since 1970, for a `Retry-After` that is a date.
        draw: Gives the jitter.

    Raises:
        httpx.TransportError: The last attempt got no response.

    Examples:
        >>> answers = [httpx.Response(503, headers={"Retry-After": "3"}), httpx.Response(200)]
        >>> waits = []
        >>> send_with_retry(lambda: answers.pop(0), RetryPolicy(), sleep=waits.append), waits
        (<Response [200 OK]>, [3.0])
    """
    draw = draw or random.Random()
    for attempt in range(1, policy.attempts + 1):
        asked = None
        try:
            response = send()
        except httpx.TransportError as error:
            if attempt == policy.attempts or not (idempotent or not_sent(error)):
                raise
        else:
            status = response.status_code
            temporary = status in policy.statuses if idempotent else status == _RATE_LIMITED
            if attempt == policy.attempts or not temporary:
                return response
            asked = retry_after(response.headers, clock=clock)
        wait = policy.backoff(attempt, draw) if asked is None else asked
        sleep(min(wait, policy.longest_wait_s))
    raise AssertionError("the last attempt returns or raises")
