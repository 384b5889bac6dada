"""The researcher's password, with a limit on failed attempts."""

import hmac
import ipaddress
import os

from dialens.base import DialensError
from dialens.studies.store import LoginTries

SHORTEST = 10
OWNER, VIEWER = "owner", "viewer"
"""Who may do everything, and who may look and change nothing."""


def check_passwords(text: str, viewer: str = "") -> None:
    """Refuse passwords that will not do.

    Examples:
        >>> check_passwords("correct horse", "battery staple")
    """
    for whose, one in (("researcher's", text), ("viewers'", viewer)):
        if len(one) < SHORTEST and (one or whose == "researcher's"):
            raise DialensError(
                f"The {whose} password has {len(one)} characters; it needs {SHORTEST}."
            )
    if viewer == text:
        raise DialensError("Researcher and viewers need different passwords.")


class Password:
    """Compares in constant time, as long as there were not too many wrong ones.

    Examples:
        >>> from datetime import UTC, datetime
        >>> from dialens.studies.store import Store
        >>> store = Store.in_memory()
        >>> tries = LoginTries(store.database, store.secrets, lambda: datetime.now(UTC))
        >>> door = Password("correct horse", tries)
        >>> door.accepts("correct horse", "10.0.0.1"), door.accepts("wrong", "10.0.0.1")
        ('owner', None)
        >>> store.close()
    """

    def __init__(self, text: str, tries: LoginTries, *, viewer: str = "") -> None:
        """Accept `text`, and of who may only look `viewer`; `tries` counts wrong ones."""
        check_passwords(text, viewer)
        texts = {OWNER: text, VIEWER: viewer} if viewer else {OWNER: text}
        self._texts = {role: _bytes(one) for role, one in texts.items()}
        self._salt = os.urandom(32)
        self._kept = {role: self._digest(one) for role, one in self._texts.items()}
        self._tries = tries

    def accepts(self, password: str, address: str) -> str | None:
        """Whose password it is: the `OWNER`'s, a `VIEWER`'s, or nobody's.

        Raises:
            TooManyTries: It was not looked at.
        """
        return self._tries.judged(network_of(address), lambda: self._whose(password))

    def _whose(self, password: str) -> str | None:
        given = self._digest(_bytes(password))
        fits = [role for role, own in self._kept.items() if hmac.compare_digest(given, own)]
        return fits[0] if fits else None

    def bound(self, key: bytes) -> bytes:
        """A key that changes with the passwords, so that a new one ends all logins.

        Examples:
            >>> from datetime import UTC, datetime
            >>> from dialens.studies.store import Store
            >>> with Store.in_memory() as store:
            ...     tries = LoginTries(store.database, store.secrets, lambda: datetime.now(UTC))
            ...     doors = [Password(text, tries) for text in ("one password", "another one")]
            ...     doors[0].bound(b"key") == doors[1].bound(b"key")
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
