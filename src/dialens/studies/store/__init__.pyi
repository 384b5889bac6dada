from ._activity import EVENT_KINDS, Event
from ._arrivals import no_place
from ._changes import CHANGES, IS_CHANGE, Change, change_text
from ._conversations import LEASE_S, ConversationStore
from ._copies import (
    DatabaseCopy,
    check_copy,
    copy_database,
    copy_sqlite,
    database_size,
    end_log,
    put_postgresql,
)
from ._database import database_url
from ._entry import EntryProof, first_shown
from ._exports import ANALYSIS, ARCHIVE, IDENTITIES_FILE, PEOPLE, TABLES, ExportLog, KnownExport
from ._figures import CellProgress, EarlyEnd, Times
from ._forget import Forgotten
from ._frames import ANSWERS, EXCHANGES
from ._histories import History, PageEvent, ScreenVisit, events_of, histories
from ._logins import EndedLogins, LoginTries, TooManyTries
from ._looking import answered, look_into
from ._messages import AgentFailure, AgentReply, Lease, ParticipantMessage
from ._operating import OperationStore
from ._partial import lost_by_agent, partial_sentences
from ._payments import Payment, PaymentStore
from ._people import IDENTITIES, PARTICIPANTS, Attendance, CodeHolder
from ._problems import (
    Blocked,
    DatabaseFileGone,
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
from ._retention import Overdue, RetentionStore
from ._secrets import KEY_VARIABLE, Secrets
from ._session import Session
from ._standings import SessionStanding, Standings
from ._store import Store
from ._submission import REPEATED, SLACK_S, STORED, Ending, Receipt, Submission
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
    "ANALYSIS",
    "ANSWERS",
    "ARCHIVE",
    "CHANGES",
    "COMPLETED",
    "EVENT_KINDS",
    "EXCHANGES",
    "EXPIRED",
    "IDENTITIES",
    "IDENTITIES_FILE",
    "IS_CHANGE",
    "KEY_VARIABLE",
    "LEASE_S",
    "LONGEST_NAME",
    "PAID",
    "PARTICIPANTS",
    "PEOPLE",
    "REPEATED",
    "RESTARTED",
    "SLACK_S",
    "STORED",
    "TABLES",
    "AgentFailure",
    "AgentReply",
    "Attendance",
    "Blocked",
    "CellProgress",
    "Change",
    "CodeHolder",
    "ConversationStore",
    "DatabaseCopy",
    "DatabaseFileGone",
    "EarlyEnd",
    "EndedLogins",
    "Ending",
    "EntryProof",
    "Event",
    "EventError",
    "ExportLog",
    "Forgotten",
    "History",
    "KnownExport",
    "Lease",
    "LoginTries",
    "NotFinished",
    "OperationStore",
    "Overdue",
    "PageEvent",
    "ParticipantMessage",
    "Payment",
    "PaymentStore",
    "PendingSubmission",
    "Policy",
    "Receipt",
    "RetentionStore",
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
    "TooManyTries",
    "UnknownParticipant",
    "UnknownSession",
    "UnknownStudy",
    "WaveProgress",
    "WrongKey",
    "answered",
    "change_text",
    "check_copy",
    "copy_database",
    "copy_sqlite",
    "database_size",
    "database_url",
    "end_log",
    "events_of",
    "first_shown",
    "histories",
    "last_failures",
    "look_into",
    "lost_by_agent",
    "no_place",
    "pace_sentences",
    "partial_sentences",
    "participants",
    "put_postgresql",
    "replies_by_agent",
    "sessions",
    "settings",
    "studies",
    "without_replies",
]
