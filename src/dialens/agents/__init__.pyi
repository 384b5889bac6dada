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
    streamed,
)
from ._registry import Kind, agent_kinds, kind_named, make_agent, parse_agent
from ._settings import Value, label_of, read_value

__all__ = [
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
    "agent_kinds",
    "kind_named",
    "label_of",
    "make_agent",
    "parse_agent",
    "read_value",
    "streamed",
]
