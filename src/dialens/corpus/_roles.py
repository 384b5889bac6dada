"""Who is the agent? What the names of speakers and roles say, the same for every format."""

import re
from collections.abc import Iterable, Mapping

UNKNOWN = "unknown"
"""The agent's name where the source gives none."""

_AGENT_WORDS = frozenset(
    {"agent", "ai", "assistant", "bot", "chatbot", "chatgpt", "gpt", "model", "system"}
)
_PARTNER_WORDS = frozenset(
    {
        "caller",
        "client",
        "customer",
        "guest",
        "human",
        "partner",
        "patient",
        "person",
        "user",
        "visitor",
        "worker",
    }
)
_BOT = re.compile(r"(?<!^ab)(?<!^tal)bot$")
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_ROLES = {
    "agent": "agent",
    "ai": "agent",
    "assistant": "agent",
    "bot": "agent",
    "chatbot": "agent",
    "model": "agent",
    "partner": "partner",
    "user": "partner",
    "human": "partner",
    "customer": "partner",
    "client": "partner",
    "visitor": "partner",
    "end-user": "partner",
    "end_user": "partner",
    "end user": "partner",
    "enduser": "partner",
}
ROLE_NAMES = tuple(_ROLES)


def sounds_like_agent(name: str) -> bool:
    """Whether a speaker's name says that a machine speaks.

    Examples:
        >>> [sounds_like_agent(name) for name in ("SupportBot", "bot_2", "helpbot", "Abbot")]
        [True, True, True, False]
    """
    words = [word.lower() for word in _WORD.findall(name)]
    return any(word in _AGENT_WORDS or _BOT.search(word) for word in words)


def sounds_like_partner(name: str) -> bool:
    """Whether a speaker's name says that it is plainly the other side.

    Examples:
        >>> [sounds_like_partner(name) for name in ("Customer 7", "user", "Ann")]
        [True, True, False]
    """
    return any(word.lower() in _PARTNER_WORDS for word in _WORD.findall(name))


def agent_among(speakers: Iterable[str]) -> str:
    """The speaker under study: the first whose name says so, else the second to speak.

    Where someone is plainly the other side (`User`, `Human`), the first who is not is the agent.

    Examples:
        >>> agent_among(["Bot", "Ann"]), agent_among(["A", "B"]), agent_among(["Ada", "User"])
        ('Bot', 'B', 'Ada')
    """
    names = list(dict.fromkeys(speakers))
    named = [name for name in names if sounds_like_agent(name)]
    others = [name for name in names if not sounds_like_partner(name)]
    if named:
        return named[0]
    if len(others) < len(names) and others:
        return others[0]
    return names[min(1, len(names) - 1)]


def roles_of_speakers(
    speakers: Iterable[str], told: Mapping[str, str]
) -> tuple[str, dict[str, str]]:
    """The agent's name and everybody's role, by what the user has told or else by the names.

    Args:
        speakers: In the order in which they speak.
        told: The role of some, as `ReadOptions.roles` has it. Of the others, those are agents
            where only partners are told.

    Examples:
        >>> roles_of_speakers(["Ann", "Bot"], {})
        ('Bot', {'Ann': 'partner', 'Bot': 'agent'})
        >>> roles_of_speakers(["Ann", "Bob", "Cid"], {"ann": "agent"})[1]
        {'Ann': 'agent', 'Bob': 'partner', 'Cid': 'partner'}
    """
    names = list(dict.fromkeys(speakers))
    known = {name.strip().lower(): role for name, role in told.items()}
    if any(name.lower() in known for name in names):
        rest = "partner" if "agent" in known.values() else "agent"
        roles = {name: known.get(name.lower(), rest) for name in names}
        return next((name for name in names if roles[name] == "agent"), UNKNOWN), roles
    agent = agent_among(names)
    return agent, {name: "agent" if name == agent else "partner" for name in names}


def role_of(name: str) -> str | None:
    """Our role for a word that other formats use, or None.

    Examples:
        >>> role_of("Assistant"), role_of("user"), role_of("narrator")
        ('agent', 'partner', None)
    """
    return _ROLES.get(name.strip().lower())
