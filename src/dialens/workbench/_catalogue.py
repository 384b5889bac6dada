"""What a folder holds: its items, what each was made from, and whether that is still so."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from dialens.base import DialensError, RunRecord, did_you_mean

KINDS = (
    "corpus",
    "scores",
    "comparison",
    "validation",
    "gate",
    "traits",
    "study",
    "judges",
    "export",
    "analysis",
    "agreement",
    "power",
    "other",
)
"""What an item can be, in the order in which work goes on."""

CURRENT, STALE, UNKNOWN, DAMAGED = STATES = ("current", "stale", "unknown", "damaged")
"""How an item stands to what it was made from."""


@dataclass(frozen=True)
class Source:
    """Something that an item was made from.

    Attributes:
        path: Where it lies, or lay.
        sha256: Its hash when it was read; None where none was recorded.
        item: Name of the item in the catalogue that it is, if any.
    """

    path: Path
    sha256: str | None
    item: str | None


@dataclass(frozen=True)
class Item:
    """One thing that was found.

    Attributes:
        kind: One of :data:`KINDS`.
        name: Unique in the catalogue, made from its path below the folder; used in addresses.
        path: Its folder or file, absolute.
        title: What it is, in one plain sentence.
        made: When it was made.
        command: The command line that makes it again, as far as its record says how it was made.
        sources: What it was made from.
        state: `current`, `stale` (a source is another now), `unknown` (a source is gone or was
            never recorded) or `damaged`.
        why: The reason for that state, in words; empty if it is current. What is to be run is
            the command.
        report: Its page, if it has one.
        record: Its run record, if it has one.
        counts: Conversations, agents, turns, metrics, ratings, participants, as far as known.
    """

    kind: str
    name: str
    path: Path
    title: str
    made: datetime | None = None
    command: str | None = None
    sources: tuple[Source, ...] = ()
    state: str = CURRENT
    why: str = ""
    report: Path | None = None
    record: RunRecord | None = None
    counts: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Unread:
    """A file that may be conversations, and that could not be read as it is.

    Attributes:
        name: Its path below the folder.
        path: The file, absolute.
        why: What its reader says first.
        command: The command that reads it, as far as the reader says what it lacks.
    """

    name: str
    path: Path
    why: str
    command: str | None = None


@dataclass(frozen=True)
class Catalogue:
    """The items of a folder.

    Attributes:
        folder: The folder, absolute.
        items: In the order of :data:`KINDS`, and of their names.
        notes: What was left out or could not be read, in words.
        unread: Files that may be conversations and could not be read; those of a known format
            first.
    """

    folder: Path
    items: tuple[Item, ...]
    notes: tuple[str, ...] = ()
    unread: tuple[Unread, ...] = ()

    def of(self, *kinds: str) -> tuple[Item, ...]:
        """The items of some kinds.

        Examples:
            >>> there = Catalogue(Path("/x"), (Item("corpus", "a", Path("/x/a"), "3 dialogues"),))
            >>> [item.name for item in there.of("corpus", "scores")]
            ['a']
        """
        return tuple(item for item in self.items if item.kind in kinds)

    def get(self, name: str) -> Item:
        """The item of a name.

        Raises:
            DialensError: There is none.

        Examples:
            >>> there = Catalogue(Path("/x"), (Item("corpus", "talks", Path("/x/a"), "talks"),))
            >>> there.get("talk")
            Traceback (most recent call last):
            ...
            dialens.DialensError: There is no talk in x. Did you mean talks? It holds talks.
        """
        for item in self.items:
            if item.name == name:
                return item
        names = [item.name for item in self.items]
        raise DialensError(
            f"There is no {name} in {self.folder.name}. {did_you_mean(name, names)}"
            f"It holds {', '.join(names) or 'nothing'}."
        )
