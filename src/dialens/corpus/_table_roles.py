"""Who is the agent in a table: what its roles or speakers are taken for, over the whole of it."""

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from dialens.base import DialensError, listed
from dialens.corpus._roles import role_of, sounds_like_agent, sounds_like_partner
from dialens.corpus._source import Source

ASIDE = ("system", "developer", "tool", "function")
"""Roles of messages that are no turns: instructions, and what tools said."""

_OTHER = {"agent": "partner", "partner": "agent"}
_MOST_SHOWN = 8


@dataclass(frozen=True)
class TableRoles:
    """What the words in a table's column of roles or speakers mean.

    Attributes:
        roles: Our role for each word, in lower case; a word that is not here has none.
        aside: Words of rows that are no turns.
    """

    roles: Mapping[str, str]
    aside: tuple[str, ...] = ()


def roles_by_word(words: Iterable[str], source: Source, *, are_roles: bool) -> TableRoles:
    """What each word of a column of roles (or of speakers) means.

    Args:
        words: All that occur in the column, in the order in which they do.
        source: The table, with what the user says of it.
        are_roles: Whether they are roles (`assistant`), not names (`Ann`).

    Raises:
        DialensError: Nothing tells who the agent is.

    Examples:
        >>> from pathlib import Path
        >>> sheet = Source(Path("chats.csv"))
        >>> roles_by_word(["Customer", "HelpBot"], sheet, are_roles=False).roles
        {'customer': 'partner', 'helpbot': 'agent'}
        >>> roles_by_word(["system", "user", "assistant"], sheet, are_roles=True).aside
        ('system',)
    """
    names = {word.strip().lower(): word.strip() for word in words if word.strip()}
    if source.options.roles:
        return _as_told(names, source, are_roles=are_roles)
    if are_roles:
        known = {word: role for word in names if (role := role_of(word))}
        if "system" in names and "agent" not in known.values():
            known["system"] = "agent"  # as in {user, system}, the words of dialogue systems
        aside = tuple(word for word in ASIDE if word in names and word not in known)
        return TableRoles(known, aside)
    agents = [word for word, name in names.items() if sounds_like_agent(name)]
    partners = [word for word, name in names.items() if sounds_like_partner(name)]
    if agents:
        return TableRoles({word: "agent" if word in agents else "partner" for word in names})
    if partners and len(partners) < len(names):
        return TableRoles({word: "partner" if word in partners else "agent" for word in names})
    raise DialensError(_nobody(list(names.values()), source))


def _as_told(names: Mapping[str, str], source: Source, *, are_roles: bool) -> TableRoles:
    told = {name.strip().lower(): role for name, role in source.options.roles.items()}
    for word, role in told.items():
        if word not in names:
            raise DialensError(
                f"{source.path}: nobody is called {word!r} (--role {role}=…). "
                f"There are: {_shown(list(names.values()))}."
            )
    aside = tuple(word for word in ASIDE if are_roles and word in names and word not in told)
    rest = [word for word in names if word not in told and word not in aside]
    given = set(told.values())
    roles = dict(told)
    for word in rest:
        meant = role_of(word) if are_roles else None
        if meant is None and len(given) == 1:
            meant = _OTHER[next(iter(given))]
        if meant is None:
            raise DialensError(
                f"{source.path}: {names[word]!r} speaks too, and --role does not say as what. "
                f"Add --role user={shlex.quote(names[word])} or "
                f"--role agent={shlex.quote(names[word])}."
            )
        roles[word] = meant
    return TableRoles(roles, aside)


def _nobody(names: Sequence[str], source: Source) -> str:
    second = names[min(1, len(names) - 1)] if names else "…"
    return (
        f"{source.path}: nothing tells which speaker is the agent. Speakers: {_shown(names)}.\n"
        f"Say who is: --role agent={shlex.quote(second)} (everybody else is then the other side)"
    )


def _shown(names: Sequence[str]) -> str:
    more = len(names) - _MOST_SHOWN
    return listed(names) if more <= 0 else f"{', '.join(names[:_MOST_SHOWN])} and {more:,} more"
