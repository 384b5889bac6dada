"""Plans by token: what never changes of a session, so that the database need not be asked."""

import threading
from collections import OrderedDict
from dataclasses import dataclass

from dialens.studies import Screen
from dialens.studies.store import Session


@dataclass(frozen=True)
class Known:
    """A session as it once was, and its screens.

    Attributes:
        session: Its token, cell and seed are what they were; index and state need not be.
        screens: From the first to the last.
    """

    session: Session
    screens: tuple[Screen, ...]


class Plans:
    """The plans of those who were here last; safe under threads.

    Examples:
        >>> plans = Plans(keep=320)
        >>> plans.get("a token that nobody has") is None
        True
    """

    def __init__(self, *, keep: int) -> None:
        """Remember the last `keep` sessions."""
        self._keep = keep
        self._known: OrderedDict[str, Known] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, token: str) -> Known | None:
        """What is known of a token's session."""
        with self._lock:
            known = self._known.get(token)
            if known is not None:
                self._known.move_to_end(token)
            return known

    def put(self, session: Session, screens: tuple[Screen, ...]) -> None:
        """Remember a session of this study."""
        with self._lock:
            self._known[session.token] = Known(session, screens)
            self._known.move_to_end(session.token)
            if len(self._known) > self._keep:
                self._known.popitem(last=False)
