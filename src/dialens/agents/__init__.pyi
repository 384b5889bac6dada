from ._agent import (
    ENDED,
    KINDS,
    Agent,
    AgentError,
    AgentSpec,
    Message,
    Parameters,
    Reply,
    Role,
    Wish,
)
from ._cleaning import clean_reply, streamed
from ._keys import ALLOW, allow_keys, where_keys_go
from ._prices import prices_of, tokens_of
from ._registry import Kind, agent_kinds, kind_named, make_agent, parse_agent, seen_from
from ._settings import Value, label_of, read_value

__all__ = [
    "ALLOW",
    "ENDED",
    "KINDS",
    "Agent",
    "AgentError",
    "AgentSpec",
    "Kind",
    "Message",
    "Parameters",
    "Reply",
    "Role",
    "Value",
    "Wish",
    "agent_kinds",
    "allow_keys",
    "clean_reply",
    "kind_named",
    "label_of",
    "make_agent",
    "parse_agent",
    "prices_of",
    "read_value",
    "seen_from",
    "streamed",
    "tokens_of",
    "where_keys_go",
]
