"""What a table of conversations shows; a view and its address say the same."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Self
from urllib.parse import urlencode

from dialens.base import DialensError, did_you_mean
from dialens.workbench._columns import Column

LEVELS = ("turn", "dialog", "agent")
CHOICES = ("source", "system", "agent", "role", "dialog", "flag", "coder")
"""What can be filtered by naming values."""

_MOST_COLUMNS = 40


@dataclass(frozen=True)
class Range:
    """A filter on numbers: from `low` to `high`, both included; an open end is None.

    Examples:
        >>> Range.parse("engagement:0.5..")
        Range(column='engagement', low=0.5, high=None)
        >>> str(Range("people:warmth", 1, 3.5))
        'people:warmth:1..3.5'
    """

    column: str
    low: float | None
    high: float | None

    @classmethod
    def parse(cls, written: str) -> Self:
        """From `name:low..high`.

        Raises:
            DialensError: It is not of that form.
        """
        name, _, ends = written.rpartition(":")
        low, dots, high = ends.partition("..")
        try:
            made = cls(name, float(low) if low else None, float(high) if high else None)
        except ValueError as error:
            raise _not_a_range(written) from error
        ends_found = [end for end in (made.low, made.high) if end is not None]
        if not name or not dots or not all(map(math.isfinite, ends_found)):
            raise _not_a_range(written)
        return made

    def __str__(self) -> str:
        low, high = ("" if end is None else f"{end:.12g}" for end in (self.low, self.high))
        return f"{self.column}:{low}..{high}"


def _not_a_range(written: str) -> DialensError:
    return DialensError(
        f"{written!r} is not a range of numbers. Write it as engagement:0.2..0.8, with one end "
        "left out for no bound."
    )


@dataclass(frozen=True)
class View:
    """A table of conversations: what its rows are, which of them, in which order, which columns.

    Attributes:
        level: Rows are turns, dialogues or agents.
        search: What is searched for in texts, as typed.
        sort: Name of the column to sort by; the order of the conversations if empty.
        descending: Whether the highest come first.
        columns: Names of the columns to show; the usual ones if empty.
        ranges: Filters on numbers.
        choices: Filters on names: column, and the values of which one has to hold.
        missing: Columns in which a row has to have no value.

    Examples:
        >>> view = View(level="dialog", sort="empathy", descending=True, search="so sorry")
        >>> view.address()
        'level=dialog&q=so+sorry&sort=-empathy'
        >>> View.parse({"level": ["dialog"], "q": ["so sorry"], "sort": ["-empathy"]}) == view
        True
    """

    level: str = "turn"
    search: str = ""
    sort: str = ""
    descending: bool = False
    columns: tuple[str, ...] = ()
    ranges: tuple[Range, ...] = ()
    choices: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    missing: tuple[str, ...] = ()

    @classmethod
    def parse(cls, asked: Mapping[str, Sequence[str]]) -> Self:
        """From the parameters of an address; unknown ones are left alone.

        Raises:
            DialensError: A level or a range that there is not.
        """
        level = _last(asked, "level") or "turn"
        if level not in LEVELS:
            raise DialensError(
                f"There is no level {level}. {did_you_mean(level, LEVELS)}Levels: turn, dialog, "
                "agent."
            )
        sort = _last(asked, "sort")
        columns = [name for part in asked.get("col", ()) for name in part.split(",") if name]
        choices = {
            name: tuple(dict.fromkeys(asked[name])) for name in CHOICES if any(asked.get(name, ()))
        }
        return cls(
            level=level,
            search=_last(asked, "q").strip(),
            sort=sort.removeprefix("-"),
            descending=sort.startswith("-"),
            columns=tuple(dict.fromkeys(columns))[:_MOST_COLUMNS],
            ranges=tuple(Range.parse(one) for one in asked.get("range", ()) if one),
            choices=choices,
            missing=tuple(one for one in asked.get("missing", ()) if one),
        )

    def pairs(self) -> list[tuple[str, str]]:
        """The parameters of the address, in a fixed order; what is usual is left out."""
        pairs = [("level", self.level)] if self.level != "turn" else []
        pairs += [("q", self.search)] if self.search else []
        pairs += [(name, value) for name in CHOICES for value in self.choices.get(name, ())]
        pairs += [("range", str(one)) for one in self.ranges]
        pairs += [("missing", one) for one in self.missing]
        pairs += [("sort", f"-{self.sort}" if self.descending else self.sort)] if self.sort else []
        return pairs + ([("col", ",".join(self.columns))] if self.columns else [])

    def address(self) -> str:
        """The query of the address that shows this view."""
        return urlencode(self.pairs())

    def without(self, column: str) -> "View":
        """The same without the filter on a column's numbers, for the histogram to brush on."""
        return replace(self, ranges=tuple(one for one in self.ranges if one.column != column))


def _last(asked: Mapping[str, Sequence[str]], name: str) -> str:
    return next(reversed(list(asked.get(name, ()))), "")


def column_of(name: str, columns: Mapping[str, Column]) -> Column:
    """A column by its name.

    Raises:
        DialensError: There is none.
    """
    if name not in columns:
        raise DialensError(
            f"There is no column {name}. {did_you_mean(name, list(columns))}"
            "The list of columns on the page has all of them."
        )
    return columns[name]
