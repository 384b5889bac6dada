"""How an item stands to what it was made from: current, stale, unknown or damaged.

What was hashed is hashed again; of what was not, the times in records tell. Hashes are remembered
as long as a file's size and time stay the same.
"""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from pathlib import Path

from dialens.base import sha256_file
from dialens.workbench._catalogue import CURRENT, DAMAGED, STALE, UNKNOWN, Source
from dialens.workbench._command_lines import command_line, reading_words, shown_path
from dialens.workbench._drafts import DRAWN_FROM, SELF, Draft, Input, moment

_HIGHEST = 8
_A_SECOND = timedelta(seconds=1)


def hash_of(path: Path) -> str | None:
    """The SHA-256 of a file; None if it cannot be read."""
    try:
        about = path.stat()
        return _hashed(path, about.st_size, about.st_mtime_ns)
    except OSError:
        return None


@lru_cache(maxsize=4_096)
def _hashed(path: Path, size: int, changed_ns: int) -> str:
    return sha256_file(path)


def is_address(place: str) -> bool:
    """Whether something was read that is no file: an address, or what was piped in.

    Examples:
        >>> is_address("https://example.org/chats.jsonl"), is_address("-"), is_address("a.jsonl")
        (True, True, False)
    """
    return "://" in place or place in ("-", "/dev/stdin")


def resolve(place: str, item: Path) -> Path | None:
    """Where something lies that a record names, from the item or a folder above it.

    A record names paths as they were typed, and not from which folder; the nearest folder above
    the item in which there is such a path is taken for it.
    """
    try:
        path = Path(place)
        if path.is_absolute():
            return path.resolve() if path.exists() else None
        for above in [*list(item.parents)[:_HIGHEST], Path.cwd()]:
            if (above / path).exists():
                return (above / path).resolve()
    except (OSError, ValueError, RuntimeError):
        pass
    return None


@dataclass(frozen=True)
class Link:
    """An input that was looked for.

    Attributes:
        input: What the record says.
        path: Where it lies now; None if it is not found.
        draft: The item that it is, if it is one.
        name: Of that item.
    """

    input: Input
    path: Path | None
    draft: Draft | None = None
    name: str | None = None

    @property
    def source(self) -> Source:
        """As the catalogue holds it."""
        hashes = self.input.hashes
        first = hashes.get(SELF) or hashes.get("turns.parquet") or next(iter(hashes.values()), None)
        return Source(self.path or Path(self.input.place), first, self.name)

    @property
    def changed(self) -> str | None:
        """What of it is another now than when it was read; None if nothing is, or nobody knows."""
        hashes, path = self.input.hashes, self.path
        if path is None or not hashes:
            return None
        if path.is_file():
            known = hashes.get(SELF)
            return path.name if known and hash_of(path) != known else None
        files = {name: known for name, known in hashes.items() if name != SELF}
        return next((name for name, known in files.items() if hash_of(path / name) != known), None)

    def later_than(self, began: datetime) -> bool:
        """Whether it was made or got answers after a time, where no hash was recorded.

        By what records and databases say: the times of files change when they are copied.
        """
        if self.input.hashes or self.path is None:
            return False
        if self.draft is None:
            return False
        ended = moment(self.draft.record.ended) if self.draft.record is not None else None
        last = self.draft.last_change or ended
        return last is not None and last > began + _A_SECOND


def began(draft: Draft) -> datetime | None:
    """When the making of an item began."""
    return (moment(draft.record.started) if draft.record else None) or draft.made


def remake(draft: Draft, links: Sequence[Link]) -> str | None:
    """The command that makes an item again."""
    inputs = [
        shown_path(link.path) if link.path is not None else link.input.place
        for link in links
        if not link.input.option
    ]
    if draft.record is not None:
        return command_line(draft.record, inputs, draft.path)
    if draft.kind == "comparison":
        return shlex.join(["dialens", "compare", *inputs])
    if draft.kind == "corpus" and len(inputs) == 1:
        words = ["dialens", "convert", *inputs, shown_path(draft.path)]
        return shlex.join([*words, *reading_words(draft.options, draft.asked)])
    return None


def standing(draft: Draft, links: Sequence[Link], states: Mapping[str, str]) -> tuple[str, str]:
    """The state of an item, and the reason for it in words.

    Args:
        draft: The item.
        links: What it was made from.
        states: Of the items that it was made from, by name.
    """
    if draft.damage:
        return DAMAGED, draft.damage
    start = began(draft)
    for link in links:
        if link.path is None:
            continue
        what = link.name or shown_path(link.path)
        if link.changed:
            part = "" if link.path.is_file() else f" ({link.changed})"
            return STALE, f"{what}{part} is another now than when this was made. Make it again."
        if start is not None and link.later_than(start):
            how = "got answers" if link.draft and link.draft.kind == "study" else "was made anew"
            return STALE, f"{what} {how} after this was made. Make it again."
    for link in links:
        if link.input.word == DRAWN_FROM:
            continue  # its items are copies
        state = states.get(link.name) if link.name is not None else None
        if state in (STALE, DAMAGED):
            wrong = f"{link.name}, from which this was made, is {state} itself."
            return STALE, f"{wrong} See to that first, then make this again."
    gone = [link for link in links if link.path is None]
    if gone:
        place = gone[0].input.place
        why = "cannot be looked at again" if is_address(place) else "is not found any more"
        return UNKNOWN, f"{place}, from which this was made, {why}."
    return CURRENT, ""
