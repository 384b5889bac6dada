"""The researcher's password, with a limit on failed attempts."""

import hmac
import ipaddress
import os
import threading
from collections import deque
from collections.abc import Callable

from dialens.base import DialensError

SHORTEST = 10
_WINDOW_S = 300.0
_TRIES_OF_ONE = 5
_TRIES_OF_ALL = 100
_MOST_ADDRESSES = 10_000


class TooManyTries(DialensError):
    """Too many failed attempts: the password is not checked for a while.

    Attributes:
        seconds: After which trying makes sense again.
    """

    def __init__(self, seconds: int) -> None:
        super().__init__(f"Too many wrong passwords. Try again in {seconds} seconds.")
        self.seconds = seconds


class Password:
    """Compares in constant time; five failed attempts in five minutes block an address.

    A hundred mistakes of all addresses together close it to everybody, so that many machines
    guess no faster. With several server processes each counts for itself.

    Examples:
        >>> door = Password("correct horse", clock=lambda: 0.0)
        >>> door.accepts("correct horse", "10.0.0.1"), door.accepts("wrong", "10.0.0.1")
        (True, False)
    """

    def __init__(self, text: str, *, clock: Callable[[], float]) -> None:
        """Accept `text`; `clock` counts seconds."""
        if len(text) < SHORTEST:
            raise DialensError(
                f"The researcher's password has {len(text)} characters; it needs {SHORTEST}."
            )
        self._text = text.encode("utf-8", "surrogatepass")
        self._salt = os.urandom(32)
        self._kept = self._digest(self._text)
        self._clock = clock
        self._lock = threading.Lock()
        self._mistakes: dict[str, deque[float]] = {}
        self._all: deque[float] = deque()

    def accepts(self, password: str, address: str) -> bool:
        """Whether it is the password.

        Raises:
            TooManyTries: It was not looked at.
        """
        with self._lock:
            now, who = self._clock(), network_of(address)
            self._refuse(self._mistakes.get(who, deque()), _TRIES_OF_ONE, now)
            self._refuse(self._all, _TRIES_OF_ALL, now)
            if hmac.compare_digest(
                self._digest(password.encode("utf-8", "surrogatepass")), self._kept
            ):
                self._mistakes.pop(who, None)
                return True
            if len(self._mistakes) >= _MOST_ADDRESSES:
                self._mistakes.pop(next(iter(self._mistakes)))
            self._mistakes.setdefault(who, deque()).append(now)
            self._all.append(now)
            return False

    def _refuse(self, mistakes: deque[float], most: int, now: float) -> None:
        while mistakes and mistakes[0] <= now - _WINDOW_S:
            mistakes.popleft()
        if len(mistakes) >= most:
            raise TooManyTries(max(int(mistakes[0] + _WINDOW_S - now), 1))

    def bound(self, key: bytes) -> bytes:
        """A key that changes with the password, so that a new one ends all logins.

        Examples:
            >>> doors = [
            ...     Password(text, clock=lambda: 0.0) for text in ("one password", "another one")
            ... ]
            >>> doors[0].bound(b"key") == doors[1].bound(b"key")
            False
        """
        return hmac.digest(key, b"login with " + self._text, "sha256")

    def _digest(self, text: bytes) -> bytes:
        return hmac.digest(self._salt, text, "sha256")


def network_of(address: str) -> str:
    """What failed attempts are counted for: an IPv4 address, or an IPv6 network of 64 bits.

    Examples:
        >>> network_of("2001:db8::1") == network_of("2001:db8::2")
        True
        >>> network_of("192.0.2.1")
        '192.0.2.1'
    """
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address
    if parsed.version == 4:
        return str(parsed)
    return str(ipaddress.ip_network((parsed, 64), strict=False))


def is_loopback(host: str) -> bool:
    """Whether an address is this machine's own, which nobody else reaches.

    Examples:
        >>> [is_loopback(host) for host in ("127.0.0.1", "localhost", "0.0.0.0")]
        [True, True, False]
    """
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
