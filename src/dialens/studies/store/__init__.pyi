from ._activity import EVENT_KINDS, Event
from ._figures import DROPOUT, CellProgress, Times
from ._forgetting import Forgotten
from ._frames import ANSWERS, EVENTS
from ._problems import (
    Blocked,
    EventError,
    NotFinished,
    SessionOver,
    StoreUnavailable,
    StudyChanged,
    StudyFull,
    UnknownParticipant,
    UnknownSession,
    UnknownStudy,
    WrongKey,
)
from ._registering import Policy, StudyRecord
from ._secrets import KEY_VARIABLE, Secrets
from ._session import Session
from ._store import Store
from ._submission import REPEATED, STORED, Receipt, Submission
from ._tables import COMPLETED, EXPIRED, RESTARTED, participants, sessions, settings, studies
from ._talk_frames import EXCHANGES, last_failures, replies_by_agent
from ._talking import HELD_S, Failure, Given, Held, Message, Talking
from ._together import Waiting

__all__ = [
    "ANSWERS",
    "COMPLETED",
    "DROPOUT",
    "EVENTS",
    "EVENT_KINDS",
    "EXCHANGES",
    "EXPIRED",
    "HELD_S",
    "KEY_VARIABLE",
    "REPEATED",
    "RESTARTED",
    "STORED",
    "Blocked",
    "CellProgress",
    "Event",
    "EventError",
    "Failure",
    "Forgotten",
    "Given",
    "Held",
    "Message",
    "NotFinished",
    "Policy",
    "Receipt",
    "Secrets",
    "Session",
    "SessionOver",
    "Store",
    "StoreUnavailable",
    "StudyChanged",
    "StudyFull",
    "StudyRecord",
    "Submission",
    "Talking",
    "Times",
    "UnknownParticipant",
    "UnknownSession",
    "UnknownStudy",
    "Waiting",
    "WrongKey",
    "last_failures",
    "participants",
    "replies_by_agent",
    "sessions",
    "settings",
    "studies",
]
