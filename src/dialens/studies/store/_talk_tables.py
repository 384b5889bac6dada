"""The tables of conversations: every message with its reply, and every failure of an agent."""

from sqlalchemy import Column, Float, ForeignKey, Index, Integer, String, Table, Text

from dialens.studies._exchange import EXCHANGE_STATES
from dialens.studies.store._tables import Moment, metadata, one_of, sessions

__all__ = ["exchanges", "failures", "metadata"]

exchanges = Table(
    "exchanges",
    metadata,
    Column("session_id", ForeignKey(sessions.c.id), primary_key=True),
    Column("talk", String(200), primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("system", String(200), nullable=False),
    Column("agent", String(200), nullable=False),
    Column("key", String(64), nullable=False),
    Column("said", Text, nullable=False),
    Column("said_at", Moment, nullable=False),
    Column("state", String(16), nullable=False),
    Column("tries", Integer, nullable=False),
    Column("server", String(64)),
    Column("held_until", Moment),
    Column("reply", Text),
    Column("replied_at", Moment),
    Column("reason", String(32)),
    Column("seconds", Float),
    Column("requests", Integer),
    Column("tokens_in", Integer),
    Column("tokens_out", Integer),
    Column("cost", Float),
    Index(None, "server", "state"),
    one_of("state", EXCHANGE_STATES),
)
"""`server` asks the agent, and says every few seconds that it still does (`held_until`)."""

failures = Table(
    "failures",
    metadata,
    Column("session_id", ForeignKey(sessions.c.id), primary_key=True),
    Column("talk", String(200), primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("attempt", Integer, primary_key=True),
    Column("reason", String(32), nullable=False),
    Column("told", Text, nullable=False),
    Column("seconds", Float, nullable=False),
    Column("failed_at", Moment, nullable=False),
)
