"""Who is the agent in a table: what its roles or speakers are taken for, over the whole of it."""

import shlex
from collections.abc import Collection, Iterable, Mapping, Sequence
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
        aside: Words of rows that are no turns, in the column of roles.
        column: Where the words stand, `role` or `speaker`.
    """

    roles: Mapping[str, str]
    aside: tuple[str, ...] = ()
    column: str = "role"


def roles_by_word(
    source: Source, *, roles: Iterable[str] | None = None, speakers: Iterable[str] = ()
) -> TableRoles:
    """What each word of a column of roles (or of speakers) means.

    Args:
        source: The table, with what the user says of it.
        roles: All that occur in the column of roles (`assistant`), in the order in which they do;
            None where there is no such column.
        speakers: The same of the column of speakers (`Ann`).

    Raises:
        DialensError: Nothing tells who the agent is.

    Examples:
        >>> from pathlib import Path
        >>> sheet = Source(Path("chats.csv"))
        >>> roles_by_word(sheet, speakers=["Customer", "HelpBot"]).roles
        {'customer': 'partner', 'helpbot': 'agent'}
        >>> roles_by_word(sheet, roles=["system", "user", "assistant"]).aside
        ('system',)
    """
    names = _by_word(speakers)
    words = None if roles is None else _by_word(roles)
    if source.options.roles:
        return _as_told(words, names, source)
    if words is not None:
        known = {word: role for word in words if (role := role_of(word))}
        if "system" in words and "agent" not in known.values():
            known["system"] = "agent"  # as in {user, system}, the words of dialogue systems
        return TableRoles(known, _aside(words, known))
    agents = [word for word, name in names.items() if sounds_like_agent(name)]
    partners = [word for word, name in names.items() if sounds_like_partner(name)]
    if agents:
        found = {word: "agent" if word in agents else "partner" for word in names}
    elif partners and len(partners) < len(names):
        found = {word: "partner" if word in partners else "agent" for word in names}
    else:
        raise DialensError(_nobody(list(names.values()), source))
    return TableRoles(found, column="speaker")


def _by_word(words: Iterable[str]) -> dict[str, str]:
    return {word.strip().lower(): word.strip() for word in words if word.strip()}


def _aside(words: Collection[str], known: Collection[str]) -> tuple[str, ...]:
    return tuple(word for word in ASIDE if word in words and word not in known)


def _as_told(
    words: Mapping[str, str] | None, names: Mapping[str, str], source: Source
) -> TableRoles:
    """As the user says: by roles if the words are some, else by the names of speakers."""
    told = {name.strip().lower(): role for name, role in source.options.roles.items()}
    by_role = words is not None and (told.keys() <= words.keys() or not told.keys() <= names.keys())
    met = words if by_role and words is not None else names
    for name, role in source.options.roles.items():
        if name.strip().lower() not in met:
            known = [*(words or {}).values(), *names.values()]
            raise DialensError(
                f"{source.path}: nobody is called {name.strip()!r} (--role {role}=…). "
                f"There are: {_shown(list(dict.fromkeys(known)))}."
            )
    given = set(told.values())
    roles = dict(told)
    aside = _aside(words or (), told if by_role else ())
    for word in met:
        if word in told or (by_role and word in aside):
            continue
        meant = role_of(word) if by_role else None
        if meant is None and len(given) == 1:
            meant = _OTHER[next(iter(given))]
        if meant is None:
            raise DialensError(
                f"{source.path}: {met[word]!r} speaks too, and --role does not say as what. "
                f"Add --role user={shlex.quote(met[word])} or "
                f"--role agent={shlex.quote(met[word])}."
            )
        roles[word] = meant
    return TableRoles(roles, aside, "role" if by_role else "speaker")


def _nobody(names: Sequence[str], source: Source) -> str:
    second = names[min(1, len(names) - 1)] if names else "…"
    return (
        f"{source.path}: nothing tells which speaker is the agent. Speakers: {_shown(names)}.\n"
        f"Say who is: --role agent={shlex.quote(second)} (everybody else is then the other side)"
    )


def _shown(names: Sequence[str]) -> str:
    more = len(names) - _MOST_SHOWN
    return listed(names) if more <= 0 else f"{', '.join(names[:_MOST_SHOWN])} and {more:,} more"
