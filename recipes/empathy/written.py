"""Reads ``written.txt``: conversations and sentences written for dialens, and what each is."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

FILE = Path(__file__).with_name("written.txt")
MOODS = ("bad", "good", "plain")


@dataclass
class Written:
    """What was written.

    Attributes:
        told: How it stands with somebody, and what they say.
        replies: Mood of what is answered, level from 0 to 5, and the reply.
        sentences: Kind, and the sentence.
    """

    told: list[tuple[str, str]] = field(default_factory=list)
    replies: list[tuple[str, int, str]] = field(default_factory=list)
    sentences: list[tuple[str, str]] = field(default_factory=list)


def read(file: Path = FILE) -> Written:
    """Read the file; its head says how it is written.

    Examples:
        >>> written = read()
        >>> written.told[0]
        ('bad', 'My dog died last night and the house feels so empty.')
        >>> written.replies[-1]
        ('plain', 0, 'Shut up.')
    """
    written = Written()
    section, kind = "", ""
    for number, line in enumerate(file.read_text("utf-8").splitlines(), start=1):
        if not line or line.startswith("#"):
            continue
        mood, is_context, said = line.partition("> ")
        first, _, rest = line.partition(" ")
        if is_context and mood in MOODS:
            section, kind = "replies", mood
            written.told.append((mood, said))
        elif first in ("any", "sentences", "told") and rest.isalpha():
            section, kind = ("replies" if first == "any" else first), rest
        elif section == "replies":
            if first not in "012345":
                raise ValueError(f"{file}, line {number}: a reply begins with its level, 0 to 5")
            written.replies.append((kind, int(first), rest))
        elif section == "told":
            written.told.append((kind, line))
        else:
            written.sentences.append((kind, line))
    return written
