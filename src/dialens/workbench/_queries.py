"""From a view to SQL. Names come from the list of columns, values are always passed apart."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from dialens.base import DialensError
from dialens.workbench._columns import Column, facts
from dialens.workbench._text_search import Rows
from dialens.workbench._view import View, column_of

ID: Final = {"turn": "row", "dialog": "talk", "agent": "row"}
"""The column that numbers the rows of a level."""

Place = tuple[float | str | None, int]
"""Where a page ended: what it was sorted by, and the number of its last row."""


@dataclass(frozen=True)
class Query:
    """Some rows, or a question.

    Attributes:
        source: What follows `from`, ending in a condition; or all of the question.
        values: For its marks.
        matches: Rows whose texts match, as the table `matches`; None if nothing is searched for.
    """

    source: str
    values: list[Any]
    matches: Rows | None


def quoted(name: str) -> str:
    """A name in SQL.

    Examples:
        >>> quoted('a"b')
        '"a""b"'
    """
    return '"' + name.replace('"', '""') + '"'


def escaped(text: str) -> str:
    """What stands between the quotes of a text in SQL, where no mark may stand."""
    return text.replace("'", "''")


def expression(column: Column) -> str:
    """The values of a column."""
    return f"{'l' if column.live else 't'}.{quoted(column.sql)}"


def table_of(level: str, *, live: bool) -> str:
    """The table of a level, joined with what may change where that is needed."""
    if not live:
        return f"{level}s t"
    return f"{level}s t left join live_{level} l on t.{ID[level]} = l.id"


def query_of(
    view: View, columns: Mapping[str, Column], matches: Rows | None, also: Sequence[str] = ()
) -> Query:
    """The rows of a view.

    Args:
        view: Filters and search.
        columns: Of its level.
        matches: Rows whose texts match, if anything is searched for.
        also: Further columns that will be asked for.

    Raises:
        DialensError: A filter that rows of this level cannot have.
    """
    used = [*(one.column for one in view.ranges), *view.missing, *also]
    live = any(name in view.choices for name in ("flag", "coder")) or any(
        column_of(name, columns).live for name in used
    )
    conditions, values = ["true"], []
    for one in view.ranges:
        column = column_of(one.column, columns)
        if not column.numeric:
            raise DialensError(f"{column.label} has no numbers to filter by.")
        for end, sign in ((one.low, ">="), (one.high, "<=")):
            if end is not None:
                conditions.append(f"{expression(column)} {sign} ?")
                values.append(end)
    conditions += [f"{expression(column_of(name, columns))} is null" for name in view.missing]
    for name, wanted in view.choices.items():
        condition, own = _choice(view.level, name, wanted)
        conditions.append(condition)
        values += own
    if matches is not None:
        if view.level == "agent":
            raise DialensError("Texts are searched in turns or conversations. Choose those.")
        inner = "select row from matches"
        if view.level == "dialog":
            inner = f"select talk from turns where row in ({inner})"
        conditions.append(f"t.{ID[view.level]} in ({inner})")
    source = f"{table_of(view.level, live=live)} where {' and '.join(conditions)}"
    return Query(source, values, matches)


def page_of(
    query: Query, view: View, column: Column | None, *, after: Place | None, most: int
) -> Query:
    """Number and sorting value of some rows, after a place; missing values come last."""
    key, values = f"t.{ID[view.level]}", list(query.values)
    past = ""
    if column is None:
        if after is not None:
            past, values = f" and {key} > ?", [*values, after[1]]
        asked = f"select {key}, null from {query.source}{past} order by {key} limit {most}"
        return Query(asked, values, query.matches)
    value = expression(column)
    way, beyond = ("desc", "<") if view.descending else ("asc", ">")
    if after is not None and after[0] is None:
        past, values = f" and {value} is null and {key} > ?", [*values, after[1]]
    elif after is not None:
        past = f" and ({value} {beyond} ? or ({value} = ? and {key} > ?) or {value} is null)"
        values += [after[0], *after]
    asked = (
        f"select {key}, {value} from {query.source}{past} "
        f"order by {value} {way} nulls last, {key} limit {most}"
    )
    return Query(asked, values, query.matches)


def _choice(level: str, name: str, wanted: Sequence[str]) -> tuple[str, list[Any]]:
    marks = ",".join("?" * len(wanted))
    if name in ("flag", "coder"):
        if level == "agent":
            raise DialensError("Flags are on turns and conversations. Choose those.")
        column = "flags" if name == "flag" else "coder"
        if "any" in wanted:
            return (f"l.{column} is not null", [])
        return (f"list_has_any(string_split(l.{column}, ','), [{marks}])", list(wanted))
    if name not in {column.name for column in facts(level)}:
        raise DialensError(f"Rows of this table have no {name} to filter by.")
    return (f"t.{quoted(name)} in ({marks})", list(wanted))
