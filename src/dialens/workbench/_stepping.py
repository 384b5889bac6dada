"""From one row of a view to the next."""

from dataclasses import dataclass, replace

import polars as pl

from dialens.workbench._index import Index
from dialens.workbench._view import View


@dataclass(frozen=True)
class Neighbours:
    """Where a conversation, or a turn of it, stands in a view.

    Attributes:
        place: From 1; 0 if the view does not hold it.
        total: How many rows the view holds.
        before: The conversation before it and, in a view of turns, the turn; None at the beginning.
        after: What comes after it, likewise; the first one if the view does not hold it.
        level: What the rows are: `turn` or `dialog`.
    """

    place: int
    total: int
    before: tuple[int, int | None] | None
    after: tuple[int, int | None] | None
    level: str = "dialog"


def rows_of(index: Index, view: View) -> pl.DataFrame:
    """Numbers of the rows of a view in its order (`id`), each with its conversation (`talk`).

    Kept until flags or ratings change.
    """
    made: pl.DataFrame = index._cached(("steps", view.address()), lambda: _ordered(index, view))
    return made


def _ordered(index: Index, view: View) -> pl.DataFrame:
    rows = index.frame(replace(view, sort=""), [view.sort] if view.sort else [])
    if view.level != "turn":
        rows = rows.with_columns(talk="id")
    if view.sort:
        rows = rows.sort(view.sort, "id", descending=[view.descending, False], nulls_last=True)
    return rows.select("id", "talk")


def neighbours(index: Index, view: View, talk: int, turn: int | None = None) -> Neighbours:
    """What comes before and after a conversation along a view; of turns, before and after a turn.

    A turn that the view does not hold, or none, stands where the first of its conversation does.
    Agents stand for their conversations.
    """
    if view.level == "agent":
        view = replace(view, level="dialog", sort="", ranges=(), missing=())
    rows = rows_of(index, view)
    at = _place(index, view, rows, talk, turn)

    def unit(place: int) -> tuple[int, int | None] | None:
        if not 0 <= place < rows.height:
            return None
        if view.level != "turn":
            return (int(rows["talk"][place]), None)
        number = int(rows["id"][place])
        found = index.sql("select talk, turn from turns where row = ?", (number,))[0]
        return (int(found[0]), int(found[1]))

    before = unit(at - 1) if at > 0 else None
    return Neighbours(at + 1, rows.height, before, unit(at + 1), view.level)


def _place(index: Index, view: View, rows: pl.DataFrame, talk: int, turn: int | None) -> int:
    """Which row it is; -1 if it is none."""
    found = None
    if view.level == "turn" and turn is not None:
        own = index.sql("select row from turns where talk = ? and turn = ?", (talk, turn))
        found = rows["id"].index_of(own[0][0]) if own else None
    if found is None:
        found = rows["talk"].index_of(talk)
    return -1 if found is None else found
