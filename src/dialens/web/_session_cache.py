"""Sessions by token: what never changes of one, so that the database need not be asked."""

import threading
from collections import OrderedDict

from dialens.studies.store import Session


class SessionCache:
    """The sessions of those who were here last; safe under threads.

    Token, cell and seed of a cached session are right, index and state may be out of date.

    Examples:
        >>> SessionCache(320).get("a token that nobody has") is None
        True
    """

    def __init__(self, size: int) -> None:
        """Keep the last `size` sessions."""
        self._size = size
        self._sessions: OrderedDict[str, Session] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, token: str) -> Session | None:
        """The session of a token, if it is known."""
        with self._lock:
            session = self._sessions.get(token)
            if session is not None:
                self._sessions.move_to_end(token)
            return session

    def put(self, session: Session) -> None:
        """Keep a session of this study."""
        with self._lock:
            self._sessions[session.token] = session
            self._sessions.move_to_end(session.token)
            if len(self._sessions) > self._size:
                self._sessions.popitem(last=False)

    def drop(self, token: str) -> None:
        """Forget a session."""
        with self._lock:
            self._sessions.pop(token, None)
