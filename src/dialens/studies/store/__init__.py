"""Where a study's data are kept: sessions, answers, events, on SQLite or PostgreSQL.

Answers are only ever added, each screen's once, and what is acknowledged is on disk. May import
`studies.types`, `corpus`, `errors` and `storage`; pages, recruiters and simulations build on it.
"""

from dialens.studies.store.activity import EVENT_KINDS, Event
from dialens.studies.store.figures import DROPOUT, CellProgress, Times
from dialens.studies.store.forget import Forgotten
from dialens.studies.store.frames import ANSWERS, EVENTS
from dialens.studies.store.problems import (
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
from dialens.studies.store.registration import Policy, StudyRecord
from dialens.studies.store.secrets import KEY_VARIABLE, Secrets
from dialens.studies.store.session import Session
from dialens.studies.store.store import Store
from dialens.studies.store.submission import Receipt, Submission
from dialens.studies.store.submit import PendingSubmission

__all__ = [
    "ANSWERS",
    "DROPOUT",
    "EVENTS",
    "EVENT_KINDS",
    "KEY_VARIABLE",
    "Blocked",
    "CellProgress",
    "Event",
    "EventError",
    "Forgotten",
    "NotFinished",
    "PendingSubmission",
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
    "Times",
    "UnknownParticipant",
    "UnknownSession",
    "UnknownStudy",
    "WrongKey",
]
