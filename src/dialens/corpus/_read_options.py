"""What a user says of a source: names of systems and agents, columns of a table, roles."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from dialens.base import DialensError
from dialens.corpus._roles import role_of

COLUMNS = (
    "dialog",
    "text",
    "speaker",
    "role",
    "turn",
    "created_at",
    "agent",
    "system",
    "prompt",
    "response",
)
"""What `--column` can name; `prompt` and `response` are for tables with a row an exchange."""


@dataclass(frozen=True)
class ReadOptions:
    """What a user says of a source.

    Attributes:
        system: What its systems are called, whatever it says itself.
        agent: What its agents are called, whatever it says itself.
        columns: Of a table, its names for our columns: `{"text": "Message"}`.
        roles: Of a table or transcript, who speaks as what: `{"Bot": "agent"}`.
    """

    system: str | None = None
    agent: str | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    roles: Mapping[str, str] = field(default_factory=dict)

    def replaced(
        self,
        agent: str | None,
        system: str | None,
        columns: Mapping[str, str] | None,
        roles: Mapping[str, str] | None,
    ) -> "ReadOptions":
        """The same with what is given, in the words of Python: `columns={"text": "Message"}`."""
        named = replace(
            self,
            agent=self.agent if agent is None else agent,
            system=self.system if system is None else system,
        )
        named = named.with_columns(f"{ours}={theirs}" for ours, theirs in (columns or {}).items())
        return named.with_roles(f"{role}={name}" for name, role in (roles or {}).items())

    def with_columns(self, entries: Iterable[str]) -> "ReadOptions":
        """The same with columns as `--column` takes them: `text=Message`.

        Examples:
            >>> ReadOptions().with_columns(["dialog=Conversation ID"]).columns
            {'dialog': 'Conversation ID'}
        """
        columns = dict(self.columns)
        for entry in entries:
            ours, equals, theirs = (part.strip() for part in entry.partition("="))
            if not equals or not theirs or ours not in COLUMNS:
                raise DialensError(
                    f"--column takes OURS=THEIRS with OURS one of {', '.join(COLUMNS)}; "
                    f"seen: {entry!r}. For example: --column text=Message"
                )
            if ours in columns:
                raise DialensError(f"--column {ours}=… is given twice; give it once.")
            columns[ours] = theirs
        return replace(self, columns=columns)

    def with_roles(self, entries: Iterable[str]) -> "ReadOptions":
        """The same with roles as `--role` takes them: `agent=Bot`, `user=Customer`."""
        roles = dict(self.roles)
        for entry in entries:
            word, equals, speaker = (part.strip() for part in entry.partition("="))
            role = role_of(word)
            if not equals or not speaker or role is None:
                raise DialensError(
                    f"--role takes ROLE=NAME with ROLE agent or user; seen: {entry!r}. "
                    "For example: --role agent=Bot --role user=Customer"
                )
            if roles.get(speaker, role) != role:
                raise DialensError(f"--role gives {speaker!r} two roles; give it one.")
            roles[speaker] = role
        return replace(self, roles=roles)
