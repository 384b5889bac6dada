"""Which column of a table is which: ours by name, what the user says, or a guess that is said.

A table of turns needs a text and a speaker or role. Where its columns have other names, `--column`
names them; where their names leave no doubt, they are guessed, and the guess is said in a line.
"""

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from dialens.base import DialensError, listed
from dialens.corpus._intake import Intake
from dialens.corpus._read_options import ReadOptions
from dialens.corpus._source import Source
from dialens.corpus._tables import TURNS

_SYNONYMS: Mapping[str, frozenset[str]] = {
    "dialog": frozenset(
        {"dialogue", "conversation", "conv", "convo", "session", "chat", "thread", "ticket"}
        | {"call", "case", "interaction"}
    ),
    "text": frozenset(
        {"message", "content", "utterance", "body", "msg", "message_text", "message_body"}
        | {"comment_body", "comment_text", "plain_body"}
    ),
    "speaker": frozenset(
        {"who", "sender", "author", "from", "participant"}
        | {"speaker_name", "sender_name", "author_name"}
    ),
    "role": frozenset(
        {"sender_type", "author_type", "speaker_type"}
        | {"speaker_role", "sender_role", "author_role", "message_role"}
    ),
    "turn": frozenset(
        {"turn_id", "turn_number", "turn_no", "turn_index", "seq", "sequence", "sequence_number"}
        | {"message_index", "message_number", "message_no", "msg_no", "utterance_index"}
    ),
    "created_at": frozenset(
        {"timestamp", "time", "datetime", "date_time", "date", "ts", "created", "created_time"}
        | {"created_on", "sent_at", "sent_time", "message_time"}
    ),
    "agent": frozenset({"model", "model_name", "agent_name", "bot_name"}),
}
_IDS = ("", "_id", "id", "_number", "_no", "_key", "_uuid", "_ref")
_WANTED = "A table of turns needs a text, and a speaker or role; dialog tells conversations apart."
_MOST_SHOWN = 20


@dataclass(frozen=True)
class ColumnNames:
    """What the columns of a table were taken for.

    Attributes:
        ours: Our name for each of the table's columns that has one.
        guessed: Those that were neither called so nor named by the user.
        foreign: Whether the table is someone else's, so that its turns need not count from 0.
        doubts: Columns of which each could be the same one of ours.
    """

    ours: Mapping[str, str]
    guessed: tuple[str, ...] = ()
    foreign: bool = False
    doubts: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def has(self, *names: str) -> bool:
        """Whether one of these columns of ours is there."""
        return any(name in self.ours.values() for name in names)

    @property
    def is_turns(self) -> bool:
        """Whether these are columns of turns."""
        return self.has("text") and self.has("speaker", "role")


def column_names(header: Sequence[str], options: ReadOptions) -> ColumnNames:
    """What each column of a header is, by the user's word, by our names, or by a guess.

    Args:
        header: The table's names.
        options: Says which columns the user has named.

    Raises:
        DialensError: A column that the user names is not there.

    Examples:
        >>> found = column_names(["Conversation ID", "Who", "Message"], ReadOptions())
        >>> found.ours == {"Conversation ID": "dialog", "Who": "speaker", "Message": "text"}
        True
    """
    plain = {name: name.strip().lower() for name in header}
    ours = {theirs: name for name, theirs in chosen_columns(header, options).items()}
    for name, word in plain.items():
        if word in TURNS and word not in ours.values() and name not in ours:
            ours[name] = word
    guessed = []
    doubts: dict[str, Sequence[str]] = {}
    for wanted, words in _SYNONYMS.items():
        if wanted in ours.values():
            continue
        if wanted == "speaker" and "role" in ours.values() and not options.roles:
            continue  # roles are enough, unless the user names somebody
        alike = [
            name
            for name in header
            if name not in ours and any(_is(plain[name], word, wanted) for word in words)
        ]
        if len(alike) == 1:
            ours[alike[0]] = wanted
            guessed.append(alike[0])
        elif alike:
            doubts[wanted] = alike
    foreign = bool(guessed or options.columns or "dialog" not in ours.values())
    return ColumnNames(ours, tuple(guessed), foreign, doubts)


def _is(name: str, word: str, wanted: str) -> bool:
    name = re.sub(r"\W+", "_", name).strip("_")
    endings = _IDS if wanted == "dialog" else ("",)
    return any(name == word + ending for ending in endings)


def chosen_columns(header: Sequence[str], options: ReadOptions) -> dict[str, str]:
    """The table's names for the columns that the user has named, `prompt` and `response` too.

    Examples:
        >>> chosen_columns(["Q", "A"], ReadOptions().with_columns(["prompt=q", "response=A"]))
        {'prompt': 'Q', 'response': 'A'}
    """
    chosen = {}
    for ours, theirs in options.columns.items():
        matches = [name for name in header if name == theirs] or [
            name for name in header if name.strip().lower() == theirs.lower()
        ]
        if not matches:
            raise DialensError(
                f"There is no column {theirs!r} (--column {ours}={shlex.quote(theirs)}). "
                f"Columns: {_shown(header)}."
            )
        chosen[ours] = matches[0]
    return chosen


def turn_columns(header: Sequence[str], source: Source, intake: Intake) -> ColumnNames:
    """The columns of a table of turns; what was guessed is noted, a table of others is refused."""
    found = column_names(header, source.options)
    if not found.is_turns:
        raise DialensError(f"{source.path} {wrong_columns(header, found)}")
    if found.guessed:
        taken = [f"{name.strip()!r} for {found.ours[name]}" for name in found.guessed]
        intake.note(f"{source.path.name}: took the column {listed(taken)}.")
    if not found.has("dialog"):
        intake.note(
            f"{source.path.name}: no column tells conversations apart, so the whole file is one. "
            "If there is one, name it with --column dialog=…"
        )
    return found


def wrong_columns(header: Sequence[str], found: ColumnNames) -> str:
    """Why a table cannot be read as turns, its columns, and the option to paste."""
    lacking = [
        name
        for name, there in (("text", ("text",)), ("speaker", ("speaker", "role")))
        if not found.has(*there)
    ]
    if not found.has("dialog") and ("dialog" in found.doubts or lacking):
        lacking.insert(0, "dialog")
    proposed = []
    for name in lacking:
        some = found.doubts.get(name, ())
        proposed.append(f"--column {name}={shlex.quote(some[0]) if some else '…'}")
    needed = listed(["speaker or role" if name == "speaker" else name for name in lacking])
    doubts = "".join(
        f" {listed([repr(name) for name in some])} could each be {ours}."
        for ours, some in found.doubts.items()
        if ours in lacking
    )
    return (
        f"is a table without a column that is plainly {needed}. Columns: {_shown(header)}."
        f"{doubts}\n{_WANTED}\nSay which is which: {' '.join(proposed)}"
        " (for a row an exchange: --column prompt=… --column response=…)"
    )


def _shown(header: Sequence[str]) -> str:
    shown = ", ".join(header[:_MOST_SHOWN])
    return shown if len(header) <= _MOST_SHOWN else f"{shown} … and {len(header) - _MOST_SHOWN}"
