"""Rows of one exchange each, joined to dialogues by the id of their conversation.

`session_id, turn, prompt, response`: rows of one id are one dialogue, in the order of their turn,
else of their time, else of the rows. Not every table with such an id is one of consecutive
exchanges, so the rows say whether they are: those that repeat what was said before, that answer
the same prompt in several ways, or that several agents answer, stay dialogues of their own.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import polars as pl

from dialens.base import counted, listed
from dialens.corpus._checks import LINE
from dialens.corpus._columns import ColumnNames
from dialens.corpus._dialogue import Dialogue
from dialens.corpus._intake import Intake, RecordError
from dialens.corpus._source import Source
from dialens.corpus._table_times import time_of, with_times

Row = Mapping[str, object]
Place = tuple[int, int]
"""Where a row stands among those of its conversation; smaller is earlier."""

PlacedRow = tuple[int, int, Row | RecordError]
"""A row with its number in the table (from 0) and its place in the file."""

_SEVERAL = "hold several responses"
_GROWING = "repeat what was said before"
_ALTERNATIVES = "answer the same prompt"
_AGENTS = "are answered by several agents"


@dataclass
class Threads:
    """The conversations of a table of exchanges.

    Attributes:
        column: What tells conversations apart.
        sizes: How many rows each has.
        places: The order of rows, by their number in the table (from 0); empty for that of rows.
        numbered: Whether `places` are the numbers of turns.
        order: The column that puts rows in order, if there is one.
    """

    column: str
    sizes: Counter[str]
    places: Mapping[int, Place]
    numbered: bool = False
    order: str | None = None
    joined: Counter[str] = field(default_factory=Counter)
    apart: Counter[str] = field(default_factory=Counter)

    def waiting_for(self, row: Row) -> str | None:
        """The conversation of a row, if other rows belong to it."""
        name = _name(row.get(self.column))
        return name if name is not None and self.sizes[name] > 1 else None

    def dialogues(self, rows: Sequence[tuple[int, list[Dialogue]]]) -> list[Dialogue]:
        """The dialogues of all rows of a conversation, each row given with its number."""
        if any(len(talks) != 1 for _, talks in rows):
            return self._kept(rows, _SEVERAL)
        agents = dict.fromkeys(talks[0].agent for _, talks in rows)
        if len(agents) == 1:
            return self._sequence(rows)
        prompts = {
            agent: [_prompt(t[0]) for _, t in rows if t[0].agent == agent] for agent in agents
        }
        first, *others = map(set, prompts.values())
        if not any(first & other for other in others):
            return self._kept(rows, _AGENTS)
        found = []
        for agent in agents:
            found += self._sequence([row for row in rows if row[1][0].agent == agent])
        return found

    def _sequence(self, rows: Sequence[tuple[int, list[Dialogue]]]) -> list[Dialogue]:
        """The rows of one agent: one dialogue, if each goes on from the one before."""
        ordered = sorted(rows, key=lambda row: self.places.get(row[0], (0, row[0])))
        talks = [talks[0] for _, talks in ordered]
        if len(talks) == 1:
            return talks
        if any(len(talk.turns) != 2 for talk in talks) or any(
            _goes_on(one, other) for one, other in pairwise(talks)
        ):
            return self._kept(rows, _GROWING)
        if self._are_alternatives([number for number, _ in ordered], talks):
            return self._kept(rows, _ALTERNATIVES)
        self.joined.update(rows=len(talks), dialogues=1)
        first = min(rows)[1][0]
        first.turns = [turn for talk in talks for turn in talk.turns]
        return [first]

    def _are_alternatives(self, numbers: Sequence[int], talks: Sequence[Dialogue]) -> bool:
        prompts = [_prompt(talk) for talk in talks]
        if not self.numbered:
            return min(Counter(prompts).values()) > 1
        placed = list(zip((self.places[number][0] for number in numbers), prompts, strict=True))
        return len(set(placed)) < len(placed)

    def _kept(self, rows: Sequence[tuple[int, list[Dialogue]]], why: str) -> list[Dialogue]:
        self.apart[why] += len(rows)
        return [talk for _, talks in sorted(rows) for talk in talks]

    def note(self, source: Source, intake: Intake) -> None:
        """Say what was joined and what was not."""
        name = source.path.name
        if self.joined:
            by = f"in the order of {self.order.strip()!r}" if self.order else "in their order"
            intake.note(
                f"{name}: joined {counted(self.joined['rows'], 'row')} into "
                f"{counted(self.joined['dialogues'], 'dialogue')} by {self.column!r}, {by}."
            )
        if self.apart:
            reasons = [f"{why} ({counted(count, 'row')})" for why, count in self.apart.items()]
            intake.note(
                f"{name}: rows of one {self.column!r} stay dialogues of their own where they "
                f"{listed(reasons)}."
            )


def threads_of(
    rows: Iterable[tuple[int, Row | RecordError]],
    columns: Mapping[str, str],
    source: Source,
    intake: Intake,
) -> Threads:
    """The conversations of a table, from a look at all its rows.

    Args:
        rows: With their places in the file.
        columns: Of a shape: `thread`, and `turn` and `time` where there are such.
        source: The table.
        intake: For what is taken for granted.
    """
    thread = columns["thread"]
    kept = [columns[part] for part in ("turn", "time") if part in columns]
    seen: dict[str, list[object]] = {name: [] for name in (LINE, "dialog", *kept)}
    for line, row in rows:
        content: Row = {} if isinstance(row, RecordError) else row
        seen[LINE].append(line)
        seen["dialog"].append(_name(content.get(thread)))
        for name in kept:
            seen[name].append(_text(content.get(name)))
    sizes = Counter(str(name) for name in seen["dialog"] if name is not None)
    found = Threads(thread, sizes, {})
    if not kept or max(sizes.values(), default=0) < 2:
        return found
    turns = _turns(seen.get(columns.get("turn", ""), []), seen["dialog"])
    if turns is not None:
        found.places = {row: (turn, row) for row, turn in enumerate(turns)}
        found.numbered, found.order = True, columns["turn"]
    elif "time" in columns:
        found.places = _by_time(seen, columns["time"], source, intake)
        found.order = columns["time"] if found.places else None
    return found


def _turns(values: Sequence[object], dialogs: Sequence[object]) -> list[int] | None:
    """The numbers of turns; None where they are none, or say no order: the same in every row."""
    try:
        turns = [
            0 if dialog is None else int(float(str(value)))
            for value, dialog in zip(values, dialogs, strict=False)
        ]
    except (ValueError, OverflowError):
        return None
    by_dialog: dict[object, set[int]] = {}
    for dialog, turn in zip(dialogs, turns, strict=False):
        by_dialog.setdefault(dialog, set()).add(turn)
    by_dialog.pop(None, None)
    return turns if any(len(found) > 1 for found in by_dialog.values()) else None


def _by_time(
    seen: Mapping[str, Sequence[object]], column: str, source: Source, intake: Intake
) -> dict[int, Place]:
    schema = {LINE: pl.Int64, "dialog": pl.String, "created_at": pl.String}
    data = {LINE: seen[LINE], "dialog": seen["dialog"], "created_at": seen[column]}
    rows = pl.DataFrame(data, schema=schema).with_row_index("row")
    rows = rows.filter(pl.col("dialog").is_not_null() & (pl.len().over("dialog") > 1))
    names = ColumnNames({column: "created_at"}, guessed=(column,), foreign=True)
    timed, order = with_times(rows.lazy(), names, source, intake)
    if not order.by_time:
        return {}
    frame = timed.with_columns(time_of(pl.String())).collect()
    whole = frame.filter(pl.col("created_at").is_not_null().all().over("dialog"))
    return {
        row: (int(time.timestamp() * 1e6), -row if order.newest_first else row)
        for row, time in whole.select("row", "created_at").iter_rows()
    }


def _prompt(talk: Dialogue) -> str:
    return talk.turns[0].text.strip()


def _goes_on(one: Dialogue, other: Dialogue) -> bool:
    """Whether a prompt holds the prompt and the reply before it."""
    asked = other.turns[0].text
    said = [turn.text.strip() for turn in one.turns]
    return all(said) and len(asked) > len(said[0]) and all(text in asked for text in said)


def _name(value: object) -> str | None:
    return None if value is None or value == "" else str(value)


def _text(value: object) -> str | None:
    if value is None or value == "":
        return None
    moment = getattr(value, "isoformat", None)
    return str(moment()) if moment is not None else str(value)


def grouped(
    rows: Iterable[tuple[int, Row | RecordError]], threads: Threads | None
) -> Iterator[list[PlacedRow]]:
    """Rows with their numbers, one by one; those of a conversation together, at its last."""
    open_rows: dict[str, list[PlacedRow]] = {}
    for number, (place, row) in enumerate(rows):
        if threads is None or isinstance(row, RecordError):
            yield [(number, place, row)]
            continue
        name = threads.waiting_for(row)
        if name is None:
            yield [(number, place, row)]
            continue
        some = open_rows.setdefault(name, [])
        some.append((number, place, row))
        if len(some) == threads.sizes[name]:
            yield open_rows.pop(name)
