"""Things that talk: agents trained here, models from a folder, endpoints, commands, scripts.

An agent is asked with a conversation so far and answers it. Kinds of agents are known by name
(`make_agent("openai:gpt-4o-mini")`), and each is loaded only when it is used. `collect` lets them
talk and keeps what they say as a corpus.

May import `models`, `text` and `corpus`; the command line and the web pages build on it.
"""

from dialens.agents.agent import (
    Agent,
    AgentError,
    AgentSpec,
    Message,
    Parameters,
    Reply,
    Role,
    streamed,
)
from dialens.agents.registry import Kind, kinds, make_agent, parse_agent

__all__ = [
    "Agent",
    "AgentError",
    "AgentSpec",
    "Kind",
    "Message",
    "Parameters",
    "Reply",
    "Role",
    "kinds",
    "make_agent",
    "parse_agent",
    "streamed",
]
