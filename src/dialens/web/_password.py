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


OWNER, VIEWER = "owner", "viewer"
"""Who may do everything, and who may look and change nothing."""


class Password:
    """Compares in constant time; five failed attempts in five minutes block an address.

    A hundred mistakes of all addresses together close it to everybody, so that many machines
    guess no faster. With several server processes each counts for itself.

    Examples:
        >>> door = Password("correct horse", clock=lambda: 0.0)
        >>> door.accepts("correct horse", "10.0.0.1"), door.accepts("wrong", "10.0.0.1")
        ('owner', None)
    """

    def __init__(self, text: str, *, clock: Callable[[], float], viewer: str = "") -> None:
        """Accept `text`, and of who may only look `viewer`; `clock` counts seconds."""
        texts = {OWNER: text, VIEWER: viewer} if viewer else {OWNER: text}
        for role, one in texts.items():
            if len(one) < SHORTEST:
                whose = "researcher's" if role == OWNER else "viewers'"
                raise DialensError(
                    f"The {whose} password has {len(one)} characters; it needs {SHORTEST}."
                )
        if viewer == text:
            raise DialensError("Researcher and viewers need different passwords.")
        self._texts = {role: _bytes(one) for role, one in texts.items()}
        self._salt = os.urandom(32)
        self._kept = {role: self._digest(one) for role, one in self._texts.items()}
        self._clock = clock
        self._lock = threading.Lock()
        self._mistakes: dict[str, deque[float]] = {}
        self._all: deque[float] = deque()

    def accepts(self, password: str, address: str) -> str | None:
        """Whose password it is: the `OWNER`'s, a `VIEWER`'s, or nobody's.

        Raises:
            TooManyTries: It was not looked at.
        """
        with self._lock:
            now, who = self._clock(), network_of(address)
            self._refuse(self._mistakes.get(who, deque()), _TRIES_OF_ONE, now)
            self._refuse(self._all, _TRIES_OF_ALL, now)
            given = self._digest(_bytes(password))
            fits = [role for role, own in self._kept.items() if hmac.compare_digest(given, own)]
            if fits:
                self._mistakes.pop(who, None)
                return fits[0]
            if len(self._mistakes) >= _MOST_ADDRESSES:
                self._mistakes.pop(next(iter(self._mistakes)))
            self._mistakes.setdefault(who, deque()).append(now)
            self._all.append(now)
            return None

    def _refuse(self, mistakes: deque[float], most: int, now: float) -> None:
        while mistakes and mistakes[0] <= now - _WINDOW_S:
            mistakes.popleft()
        if len(mistakes) >= most:
            raise TooManyTries(max(int(mistakes[0] + _WINDOW_S - now), 1))

    def bound(self, key: bytes) -> bytes:
        """A key that changes with the passwords, so that a new one ends all logins.

        Examples:
            >>> doors = [
            ...     Password(text, clock=lambda: 0.0) for text in ("one password", "another one")
            ... ]
            >>> doors[0].bound(b"key") == doors[1].bound(b"key")
            False
        """
        digests = b"".join(hmac.digest(key, one, "sha256") for one in self._texts.values())
        return hmac.digest(key, b"login with " + digests, "sha256")

    def _digest(self, text: bytes) -> bytes:
        return hmac.digest(self._salt, text, "sha256")


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


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
