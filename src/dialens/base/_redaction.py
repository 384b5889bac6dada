"""The secrets of this process, and what keeps them out of everything that is written.

Whoever reads a key, a token or a password makes it known here. Errors, what commands print and
what agents are quoted with go through `without_secrets`, which knows a secret also in part, in
base64 and as it stands in an address: servers quote what they were sent, and not always whole.
"""

import base64
import re
import threading
from collections.abc import Iterable
from urllib.parse import quote, quote_plus

REMOVED = "[secret removed]"
"""What stands in the place of a secret."""

_PART = 10
"""Characters in a row by which a secret is known; fewer are in ordinary words and numbers."""
_WAITING = 3
"""Characters of a secret after which a text that comes in pieces waits for more."""


class SecretRegistry:
    """What must not be written.

    A secret is known by any ten characters of it. A word such as `ollama` or `EMPTY`, which servers
    without keys are given, is none: in a reply or a table it is the word that it is.

    Examples:
        >>> secrets = SecretRegistry()
        >>> secrets.add("kx-4fQ81zLm0TtY77bC")
        >>> secrets.cleaned("Bad key kx-4fQ81zLm0TtY77bC.")
        'Bad key [secret removed].'
        >>> secrets.cleaned("It begins with kx-4fQ81zLm0*****.")
        'It begins with [secret removed]*****.'
        >>> secrets.cleaned("Nothing of it.")
        'Nothing of it.'
    """

    def __init__(self) -> None:
        """Knows none yet."""
        self._known: set[str] = set()
        self._forms: list[str] = []
        self._parts: frozenset[str] = frozenset()
        self._lock = threading.Lock()

    def add(self, secret: str) -> None:
        """Know a secret; what is short, or a word, is none."""
        secret = secret.strip()
        if secret in self._known or not _is_hard_to_guess(secret):
            return
        with self._lock:
            self._known = {*self._known, secret}
            self._forms = [*self._forms, *_forms(secret)]
            self._parts = frozenset(
                part
                for form in self._forms
                for part in _parts(form)
                if not part.isalpha() or not (part.islower() or part.isupper())
            )

    def cleaned(self, text: str, after: int = 0) -> str:
        """A text without secrets.

        Args:
            text: To be written.
            after: Characters at its beginning that were written before, and are not given back.
        """
        kept: list[str] = []
        end = after
        for start, stop in self._spans(text) if self._parts else ():
            if stop > after:
                kept += [text[end : max(start, after)], REMOVED]
                end = stop
        return "".join([*kept, text[end:]])

    def _spans(self, text: str) -> Iterable[tuple[int, int]]:
        """Where secrets, or parts of them, stand, those that touch as one."""
        start = stop = -1
        for place, part in enumerate(_parts(text)):
            if part not in self._parts:
                continue
            if place > stop:
                if stop > 0:
                    yield start, stop
                start = place
            stop = place + _PART
        if stop > 0:
            yield start, stop

    def may_go_on(self, text: str) -> int:
        """How many characters at the end of a text could be the beginning of a secret.

        Examples:
            >>> secrets = SecretRegistry()
            >>> secrets.add("kx-4fQ81zLm0TtY77bC")
            >>> secrets.may_go_on("It is kx-4f"), secrets.may_go_on("It is kind")
            (5, 0)
        """
        spans = list(self._spans(text)) if self._parts else []
        if spans and spans[-1][1] == len(text):
            return len(text) - spans[-1][0]
        for size in range(min(_PART - 1, len(text)), _WAITING - 1, -1):
            if any(text[-size:] in form for form in self._forms):
                return size
        return 0


def _parts(text: str) -> Iterable[str]:
    return (text[place : place + _PART] for place in range(len(text) - _PART + 1))


def _is_hard_to_guess(secret: str) -> bool:
    """Whether a text is no word: long enough, and of more than one kind of characters."""
    kinds = [r"[a-z]", r"[A-Z]", r"[0-9]"]
    return len(secret) >= 12 and sum(bool(re.search(kind, secret)) for kind in kinds) >= 2


def _forms(secret: str) -> set[str]:
    """A secret as it is, in addresses, in JSON, and in base64 wherever it stands in what was coded.

    Three bytes make four letters, so a text in base64 looks in three ways, by what stands before;
    letters that depend on its neighbours are left out.
    """
    forms = {secret, quote(secret, safe=""), quote_plus(secret), secret.replace("/", "\\/")}
    for before in range(3):
        coded = base64.b64encode(b"\0" * before + secret.encode()).decode().rstrip("=")
        own = coded[-(-before * 8 // 6) : len(coded) - 1]
        forms |= {own, own.replace("+", "-").replace("/", "_")}
    return {form for form in forms if len(form) >= _PART}


SECRETS = SecretRegistry()
"""Those of this process."""


def know_secret(secret: str) -> None:
    """Keep a secret out of errors, of what is printed, and of what agents are quoted with."""
    SECRETS.add(secret)


def without_secrets(text: str) -> str:
    """A text without the secrets of this process."""
    return SECRETS.cleaned(text)


class CleanedPieces:
    """A text that comes in pieces, without secrets: what could become one waits for what follows.

    Examples:
        >>> secrets = SecretRegistry()
        >>> secrets.add("kx-4fQ81zLm0TtY77bC")
        >>> pieces = CleanedPieces(secrets)
        >>> [pieces.add("It is kx-4fQ"), pieces.add("81zLm0TtY77bC"), pieces.add(", I think.")]
        ['It is ', '', '[secret removed], I think.']
        >>> pieces.end(), pieces.removed
        ('', True)
    """

    def __init__(self, secrets: SecretRegistry = SECRETS) -> None:
        """Of a registry's secrets."""
        self._secrets = secrets
        self._written = ""
        self._held = ""
        self.removed = False

    def add(self, piece: str) -> str:
        """What can be passed on now that another piece has come."""
        text = self._written + self._held + piece
        waiting = min(self._secrets.may_go_on(text), len(text) - len(self._written))
        return self._passed_on(text, len(text) - waiting)

    def end(self) -> str:
        """What was still waiting."""
        text = self._written + self._held
        return self._passed_on(text, len(text))

    def _passed_on(self, text: str, end: int) -> str:
        before, self._held = len(self._written), text[end:]
        clean = self._secrets.cleaned(text[:end], before)
        self.removed = self.removed or clean != text[before:end]
        self._written = text[:end][1 - _WAITING :]
        return clean
