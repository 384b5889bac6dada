"""From one conversation of a view to the next."""

from dataclasses import dataclass, replace

import polars as pl

from dialens.workbench._index import Index
from dialens.workbench._view import View


@dataclass(frozen=True)
class Neighbours:
    """Where a conversation stands in a view.

    Attributes:
        place: From 1; 0 if the view does not hold it.
        total: How many conversations the view holds.
        before: Number of the one before it; None at the beginning.
        after: Number of the one after it, the first one if the view does not hold it.
    """

    place: int
    total: int
    before: int | None
    after: int | None


def talks_of(index: Index, view: View) -> pl.Series:
    """Numbers of the conversations of a view, each where its first row comes.

    A conversation comes where its best turn does: turns of one are neighbours, so ties are in the
    order of the conversations, as they are among rows. Kept until flags or ratings change.
    """
    made: pl.Series = index._cached(("talks", view.address()), lambda: _ordered(index, view))
    return made


def _ordered(index: Index, view: View) -> pl.Series:
    columns = [view.sort] if view.sort else []
    rows = index.frame(replace(view, sort=""), columns)
    talk = "talk" if view.level == "turn" else "id"
    if not view.sort:
        return rows[talk].unique().sort()
    value = pl.col(view.sort)
    best = value.max() if view.descending else value.min()
    found = rows.group_by(talk).agg(best.alias("best"))
    ordered = found.sort("best", talk, descending=[view.descending, False], nulls_last=True)
    return ordered[talk]


def neighbours(index: Index, view: View, talk: int) -> Neighbours:
    """The conversations before and after one, along a view; agents stand for their own."""
    if view.level == "agent":
        view = replace(view, level="dialog", sort="", ranges=(), missing=())
    talks = talks_of(index, view)
    found = talks.index_of(talk)
    at = -1 if found is None else found
    return Neighbours(
        place=at + 1,
        total=len(talks),
        before=int(talks[at - 1]) if at > 0 else None,
        after=int(talks[at + 1]) if at + 1 < len(talks) else None,
    )
