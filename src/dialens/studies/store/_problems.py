"""What can stand in a participant's or a researcher's way, one class each."""

from dialens.base import DialensError
from dialens.studies.texts import Texts


class StoreUnavailable(DialensError):
    """The database cannot be reached or is busy: nothing was acknowledged, trying again is safe."""


class DatabaseFileGone(StoreUnavailable):
    """SQLite's file was deleted, moved or replaced under the server: nothing is acknowledged."""


class WrongKey(DialensError):
    """The key does not fit the database, so worker ids could not be told apart."""


class StudyChanged(DialensError):
    """The definition differs from the one that people have already taken part in."""


class UnknownStudy(DialensError):
    """The database does not hold this study."""


class StudyFull(DialensError):
    """No place is free: every open cell has as many completed and live sessions as wanted.

    Attributes:
        reason: `full`, `paused` or `closed`.
    """

    def __init__(self, message: str, reason: str) -> None:
        super().__init__(message)
        self.reason = reason


class Blocked(DialensError):
    """This person has been here before, and the study lets nobody return.

    Attributes:
        key: Of the text that says so.
    """

    def __init__(self, key: str) -> None:
        super().__init__(Texts.of("en").say(key))
        self.key = key


class UnknownSession(DialensError):
    """No session belongs to this token."""


class SessionOver(DialensError):
    """The session takes no more answers.

    Attributes:
        state: `completed`, `expired`, `restarted`, or how else it ended.
        limit: The limit that was passed, if it expired: `idle` or `session`.
        minutes: Which that limit has.
    """

    def __init__(
        self, message: str, state: str, limit: str | None = None, minutes: float = 0.0
    ) -> None:
        super().__init__(message)
        self.state = state
        self.limit = limit
        self.minutes = minutes


class NotFinished(DialensError):
    """A completion was asked for before the last screen was submitted.

    Attributes:
        index: Where the participant is.
    """

    def __init__(self, message: str, index: int) -> None:
        super().__init__(message)
        self.index = index


class UnknownParticipant(DialensError):
    """The database holds nobody by this pseudonym."""


class EventError(DialensError):
    """An event that no page of ours sends."""
