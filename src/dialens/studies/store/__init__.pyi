from ._activity import EVENT_KINDS, Event
from ._arrivals import no_place
from ._backup import Backup, back_up, check_belongs, restore
from ._changes import CHANGES, IS_CHANGE, Change
from ._conversations import LEASE_S, ConversationStore
from ._figures import CellProgress, EarlyEnd, Times
from ._forget import Forgotten
from ._frames import ANSWERS, EXCHANGES
from ._histories import History, PageEvent, ScreenVisit, events_of, histories
from ._logins import EndedLogins
from ._looking import answered, look_into
from ._messages import AgentFailure, AgentReply, Lease, ParticipantMessage
from ._operating import OperationStore
from ._partial import lost_by_agent, partial_sentences
from ._payments import Payment, PaymentStore
from ._people import IDENTITIES, PARTICIPANTS, Attendance, CodeHolder
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
from ._registration import Policy, StudyRecord
from ._secrets import KEY_VARIABLE, Secrets
from ._session import Session
from ._standings import SessionStanding, Standings
from ._store import Store
from ._submission import REPEATED, STORED, Ending, Receipt, Submission
from ._submit import PendingSubmission
from ._tables import (
    COMPLETED,
    EXPIRED,
    LONGEST_NAME,
    PAID,
    RESTARTED,
    participants,
    sessions,
    settings,
    studies,
)
from ._talk_figures import last_failures, pace_sentences, replies_by_agent, without_replies
from ._waves import Returning, WaveProgress

__all__ = [
    "ANSWERS",
    "CHANGES",
    "COMPLETED",
    "EVENT_KINDS",
    "EXCHANGES",
    "EXPIRED",
    "IDENTITIES",
    "IS_CHANGE",
    "KEY_VARIABLE",
    "LEASE_S",
    "LONGEST_NAME",
    "PAID",
    "PARTICIPANTS",
    "REPEATED",
    "RESTARTED",
    "STORED",
    "AgentFailure",
    "AgentReply",
    "Attendance",
    "Backup",
    "Blocked",
    "CellProgress",
    "Change",
    "CodeHolder",
    "ConversationStore",
    "EarlyEnd",
    "EndedLogins",
    "Ending",
    "Event",
    "EventError",
    "Forgotten",
    "History",
    "Lease",
    "NotFinished",
    "OperationStore",
    "PageEvent",
    "ParticipantMessage",
    "Payment",
    "PaymentStore",
    "PendingSubmission",
    "Policy",
    "Receipt",
    "Returning",
    "ScreenVisit",
    "Secrets",
    "Session",
    "SessionOver",
    "SessionStanding",
    "Standings",
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
    "WaveProgress",
    "WrongKey",
    "answered",
    "back_up",
    "check_belongs",
    "events_of",
    "histories",
    "last_failures",
    "look_into",
    "lost_by_agent",
    "no_place",
    "pace_sentences",
    "partial_sentences",
    "participants",
    "replies_by_agent",
    "restore",
    "sessions",
    "settings",
    "studies",
    "without_replies",
]
