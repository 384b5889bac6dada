"""One conversation as a page shows it: its turns, what was scored and said of each, its marks."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from dialens.base import DialensError
from dialens.metrics import Scores
from dialens.workbench._columns import FACT, FLAG, Column, column_name
from dialens.workbench._conversations import collections_of
from dialens.workbench._notebook import WHOLE, Notebook
from dialens.workbench._queries import expression
from dialens.workbench._rated import RatedQuality, ratings_of
from dialens.workbench._view import column_of
from dialens.workbench._workbench import Workbench


@dataclass(frozen=True)
class Marks:
    """Flags and notes of a unit.

    Attributes:
        own: Flags of the coder who looks.
        note: Their note.
        others: Flags and notes of others, by coder.
    """

    own: tuple[int, ...] = ()
    note: str = ""
    others: Mapping[str, tuple[tuple[int, ...], str]] | None = None


@dataclass(frozen=True)
class SpokenTurn:
    """A turn.

    Attributes:
        row: Its number in the index.
        turn: Its number in the conversation.
        role: `agent` or `partner`.
        speaker: Who says it.
        text: What is said.
        values: Of the columns that were asked for.
        ratings: What people and judges said of it.
        marks: Flags and notes.
    """

    row: int
    turn: int
    role: str
    speaker: str
    text: str
    values: Mapping[str, float | None]
    ratings: tuple[RatedQuality, ...]
    marks: Marks


@dataclass(frozen=True)
class Dialog:
    """A conversation, or as much of it as is shown.

    Attributes:
        talk: Its number in the index.
        source: The collection that it is of.
        system: Of its agent.
        agent: Who talks.
        dialog: Its name.
        turns: How many turns it has.
        agent_turns: How many of them are the agent's.
        opening: What the agent was given to answer, as a number; None if it begins itself.
        shown: The turns that are shown.
        before: How many turns come before them.
        ratings: What people and judges said of the whole.
        marks: Flags and notes on the whole.
    """

    talk: int
    source: str
    system: str
    agent: str
    dialog: str
    turns: int
    agent_turns: int
    opening: int | None
    shown: tuple[SpokenTurn, ...]
    before: int
    ratings: tuple[RatedQuality, ...]
    marks: Marks

    @property
    def after(self) -> int:
        """How many turns come after those that are shown."""
        return self.turns - self.before - len(self.shown)


@dataclass(frozen=True)
class Score:
    """A value of a unit, or why there is none."""

    column: Column
    value: float | None
    reason: str


def marks_of(
    notebook: Notebook, source: str, dialog: str, coder: str, *, others: bool = True
) -> dict[int, Marks]:
    """Flags and notes of a conversation by turn; `WHOLE` for the conversation itself.

    Without `others` those of the coder alone: who codes blind does not see what the rest flagged.
    """
    flags, notes = notebook.of_dialog(source, dialog)
    if not others:
        flags = [row for row in flags if row[2] == coder]
        notes = [row for row in notes if row[1] == coder]
    made: dict[int, Marks] = {}
    for turn in {*(row[0] for row in flags), *(row[0] for row in notes)}:
        codes: dict[str, list[int]] = {}
        for _, code, who in (row for row in flags if row[0] == turn):
            codes.setdefault(who, []).append(code)
        written = {who: note for at, who, note in notes if at == turn}
        rest = {
            who: (tuple(codes.get(who, ())), written.get(who, ""))
            for who in sorted({*codes, *written} - {coder})
        }
        made[turn] = Marks(tuple(codes.get(coder, ())), written.get(coder, ""), rest)
    return made


def find_talk(bench: Workbench, source: str | None, dialog: str) -> tuple[int, str]:
    """The number of a conversation and the collection it is of.

    Raises:
        DialensError: There is none.
    """
    where, values = ("", []) if source is None else (" and source = ?", [source])
    found = bench.index.sql(
        f"select talk, source from dialogs where dialog = ?{where} order by talk limit 1",
        [dialog, *values],
    )
    if not found:
        place = f" in {source}" if source else ""
        raise DialensError(
            f"There is no conversation {dialog}{place}. The folder may have changed: look for it "
            "in Conversations."
        )
    return int(found[0][0]), str(found[0][1])


def read_dialog(
    bench: Workbench,
    talk: int,
    *,
    columns: Sequence[str] = (),
    coder: str = "",
    others: bool = True,
    start: int = 0,
    most: int | None = None,
) -> Dialog:
    """A conversation by its number, from a turn on.

    Args:
        bench: The open folder.
        talk: The number of the conversation.
        columns: Names of columns whose values each turn has.
        coder: Who looks: whose flags are their own.
        others: Whether they see what others flagged.
        start: Number of the first turn.
        most: How many turns at most.
    """
    index = bench.index
    facts = index.sql(
        "select source, system, agent, dialog, turns, agent_turns, opening from dialogs "
        "where talk = ?",
        (talk,),
    )
    source, system, agent, dialog, turns, agent_turns, opening = facts[0]
    limit = "" if most is None else f" limit {int(most)}"
    rows = index.sql(
        f"select row, turn from turns where talk = ? and turn >= ? order by row{limit}",
        (talk, start),
    )
    before = index.sql("select count(*) from turns where talk = ? and turn < ?", (talk, start))
    ratings = ratings_of([bench.ratings()], source=source, agent=agent, dialog=dialog)
    marks = marks_of(bench.notebook, source, dialog, coder, others=others)
    said: dict[int, list[RatedQuality]] = {}
    for one in ratings:
        said.setdefault(one.turn, []).append(one)
    shown = tuple(
        SpokenTurn(
            row=one["id"],
            turn=one["turn"],
            role=one["role"],
            speaker=one["speaker"] or "",
            text=one["text"],
            values=one["values"],
            ratings=tuple(said.get(one["turn"], ())),
            marks=marks.get(one["turn"], Marks()),
        )
        for one in index.rows("turn", [row for row, _ in rows], columns)
    )
    return Dialog(
        talk=talk,
        source=source,
        system=system or "",
        agent=agent or "",
        dialog=dialog,
        turns=turns,
        agent_turns=agent_turns,
        opening=opening,
        shown=shown,
        before=int(before[0][0]),
        ratings=tuple(said.get(WHOLE, ())),
        marks=marks.get(WHOLE, Marks()),
    )


def along(bench: Workbench, talk: int, name: str) -> list[tuple[int, float]]:
    """The values of a column along the turns of a conversation."""
    column = column_of(name, bench.index.columns("turn"))
    if not column.numeric:
        raise DialensError(f"{column.label} has no numbers to draw.")
    asked = (
        f"select t.turn, {expression(column)} from turns t left join live_turn l on t.row = l.id "
        f"where t.talk = ? and {expression(column)} is not null order by t.turn"
    )
    return [(int(turn), float(value)) for turn, value in bench.index.sql(asked, (talk,))]


def scores_of(bench: Workbench, dialog: Dialog, turn: SpokenTurn | None) -> list[Score]:
    """Every value of a turn, or of the conversation; and why one is missing, where a run says it.

    Columns that have neither are left out: another collection's, or another level's.
    """
    level = "dialog" if turn is None else "turn"
    number = dialog.talk if turn is None else turn.row
    columns = [
        column
        for column in bench.index.columns(level).values()
        if column.kind not in (FACT, FLAG) and column.numeric
    ]
    rows = bench.index.rows(level, [number], [column.name for column in columns])
    values: Mapping[str, Any] = rows[0]["values"] if rows else {}
    missing = any(values.get(column.name) is None for column in columns)
    reasons = _reasons(bench, dialog, level, turn) if missing else {}
    return [
        Score(column, values.get(column.name), reasons.get(column.name, ""))
        for column in columns
        if values.get(column.name) is not None or column.name in reasons
    ]


def runs_of(bench: Workbench, source: str) -> Iterator[tuple[Scores, Mapping[str, str]]]:
    """The runs that scored a collection, the newest first, and the column of each of its metrics.

    Runs that cannot be opened any more are left out.
    """
    taken: dict[str, str] = {}
    for collection in collections_of(bench.catalogue):
        if collection.name != source:
            continue
        for run in collection.runs:
            try:
                scores = Scores.open(run.path)
            except DialensError:
                continue
            named = {one.name: column_name(one, run, taken) for one in scores.metrics}
            found = {name: column for name, column in named.items() if column is not None}
            taken |= {name: scores.signatures[name] for name in found if name not in taken}
            yield scores, found


def _reasons(
    bench: Workbench, dialog: Dialog, level: str, turn: SpokenTurn | None
) -> dict[str, str]:
    """Why metrics of a unit have no value, by column."""
    made: dict[str, str] = {}
    chosen = (
        (pl.col("level") == level)
        & (pl.col("dialog") == dialog.dialog)
        & pl.col("reason").is_not_null()
    )
    if turn is not None:
        chosen &= pl.col("turn") == turn.turn
    for scores, names in runs_of(bench, dialog.source):
        try:
            rows = scores.table.filter(chosen).select("metric", "reason").collect()
        except (pl.exceptions.PolarsError, OSError):
            continue  # the folder is being written anew
        for metric, reason in rows.iter_rows():
            if metric in names:
                made.setdefault(names[metric], str(reason))
    return made
