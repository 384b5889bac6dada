"""Tables with several ratings in a row: a column a rater, a column an item, or a column a quality.

Which of them a table is, its column names say. Where they do not, the table is refused with the
option that settles it, since rows taken for columns give numbers that look right and are not.
"""

from collections.abc import Mapping, Sequence

import polars as pl

from dialens.base import DialensError, counted, listed
from dialens.statistics.rating_files._column_names import (
    FACTS,
    ITEM_NAMES,
    RATER_NAMES,
    NamedColumn,
    crossed,
    is_quality,
    items_in,
    plain,
    raters_in,
)
from dialens.statistics.rating_files._taken import PLACE, Cells, Taken, renamed
from dialens.statistics.rating_files._values import readable_columns

ONLY_QUALITY = "rating"
"""What a quality is called that nobody named."""

_FEWEST = 2
_MOST_CATEGORIES = 20
_ROW_NAMES = ("", "unnamed:_0", "column_1", "...1", "x")


def laid_out(
    cells: Cells,
    layout: str | None,
    *,
    mapping: Mapping[str, str],
    scale: Sequence[str] | None = None,
) -> Taken | None:
    """Ratings from a table with several of them in a row; None if it is no such table.

    Args:
        cells: The table.
        layout: `wide`, `matrix` or `qualities` where somebody said so.
        mapping: Our name and theirs, from `--column`.
        scale: Words that answers may be.

    Examples:
        >>> frame = pl.DataFrame({"item": ["a", "b"], "rater1": ["1", "2"], "rater2": ["2", "4"]})
        >>> taken = laid_out(Cells(frame, "r.csv"), None, mapping={})
        >>> taken.said
        'a row an item (column item), a column a rater (rater1 and rater2)'
        >>> taken.table.select("dialog", "rater", "value").rows()
        [('a', 'rater1', '1'), ('a', 'rater2', '2'), ('b', 'rater1', '2'), ('b', 'rater2', '4')]
    """
    names = _ids(cells, mapping)
    item = next((c for c, ours in names.items() if ours == "dialog"), None)
    rater = next((c for c, ours in names.items() if ours == "rater"), None)
    rated = _rated(cells, names, mapping, scale)
    if layout is None and cells.frame.height < _FEWEST:
        return None
    if len(rated) < (1 if layout == "qualities" or (item and rater) else _FEWEST):
        if layout is None:
            return None
        raise DialensError(_nothing(cells, layout))
    chosen = layout or _guessed(cells, item, rater, rated)
    if chosen is None:
        return None
    if chosen == "qualities":
        return _by_quality(cells, names, rated)
    rows = "dialog" if chosen == "wide" else "rater"
    first = item if chosen == "wide" else rater
    if first is None:
        first = _row_names(cells, rated)
    named = _columns_of(chosen, [name for name in rated if name != first])
    return _melted(cells, names, rows, first, named)


def _ids(cells: Cells, mapping: Mapping[str, str]) -> dict[str, str]:
    """Our name for the columns that say who, what and under which condition."""
    names = renamed(cells.columns, mapping)
    for ours, known in (("rater", RATER_NAMES), ("dialog", ITEM_NAMES)):
        if ours in names.values():
            continue
        found = [c for known_name in known for c in cells.columns if plain(c) == known_name]
        if found:
            names.setdefault(found[0], ours)
    for column in cells.columns:
        if plain(column) in FACTS:
            names.setdefault(column, plain(column))
    if "dialog" not in names.values():
        lone = next((c for c in cells.columns if plain(c) == "id" and c not in names), None)
        if lone is not None and "rater" in names.values():
            names[lone] = "dialog"
    return names


def _rated(
    cells: Cells, names: Mapping[str, str], mapping: Mapping[str, str], scale: Sequence[str] | None
) -> list[str]:
    """The columns that hold ratings."""
    asked = [name.strip() for name in mapping.get("value", "").split(",") if name.strip()]
    if asked:
        return [c for c in cells.columns if c in asked]
    free = [c for c in cells.columns if c not in names and plain(c) not in _ROW_NAMES]
    free = [c for c in free if plain(c) != "id" or len(cells.given(c).unique()) < len(cells.frame)]
    people = {column.column for column in raters_in(free)}
    answers = readable_columns(cells.frame, free, scale)
    return [
        c
        for c in free
        if c in answers or (c in people and 0 < cells.given(c).n_unique() <= _MOST_CATEGORIES)
    ]


def _guessed(cells: Cells, item: str | None, rater: str | None, rated: list[str]) -> str | None:
    """The layout that the names of the columns tell, None if it is no table of ratings at all."""
    if item is not None and rater is not None:
        return "qualities"
    raters, items = len(raters_in(rated)), len(items_in(rated))
    if rater is None and raters == len(rated):
        return "wide"
    if item is None and items == len(rated) and raters < items:
        return "matrix"
    if rater is not None:
        return "matrix" if not all(map(is_quality, rated)) else _unsure(cells, rated, "matrix")
    if item is not None:
        if cells.given(item).n_unique() == cells.frame.height:
            if crossed(rated) or not any(map(is_quality, rated)):
                return "wide"
            return _unsure(cells, rated, "wide")
        return "qualities"
    if crossed(rated):
        return "wide"
    first = next((c for c in cells.columns if c not in rated), None)
    if first is not None and (plain(first) in _ROW_NAMES or plain(first) == "id"):
        rows = cells.given(first).to_list()
        if rows and len(raters_in(rows)) == len(rows) and not items:
            return "matrix"
        if rows and len(items_in(rows)) == len(rows):
            return "wide"
        return _unsure(cells, rated, "both")
    if len(rated) == len(cells.columns):
        return _unsure(cells, rated, "both")
    return None


def _unsure(cells: Cells, rated: list[str], between: str) -> str:
    """Refuse a table that can be read in two ways, with both of them to paste."""
    some = listed([repr(name) for name in rated[:4]]) if cells.has_header else "without names"
    ways = {
        "wide": ("--format wide if the columns are raters", "--format qualities if they are what "
                 "was rated"),
        "matrix": ("--format matrix if the columns are items", "--format qualities if they are "
                   "what was rated and --column item=COLUMN names the item"),
        "both": ("--format wide if a row is an item and a column a rater", "--format matrix if a "
                 "row is a rater and a column an item"),
    }[between]  # fmt: skip
    raise DialensError(
        f"{cells.name} is a table of {cells.frame.height:,} rows and {len(rated):,} columns of "
        f"numbers ({some}) that can be read in two ways: {ways[0]}; {ways[1]}."
    )


def _row_names(cells: Cells, rated: list[str]) -> str | None:
    """The column that names the rows where none is called so: the first, if nobody rated there."""
    first = cells.columns[0]
    unique = cells.given(first).n_unique() == cells.frame.height
    if first not in rated:
        return first if unique else None
    lone = plain(first) in ("id", *_ROW_NAMES) and cells.has_header
    return first if lone and unique else None


def _columns_of(layout: str, rated: Sequence[str]) -> list[NamedColumn]:
    """Who stands in which column, and for which quality."""
    found = raters_in(rated) if layout == "wide" else items_in(rated)
    if len(found) == len(rated):
        return found
    return crossed(rated) or [NamedColumn(column, column.strip(), None) for column in rated]


def _melted(
    cells: Cells,
    names: Mapping[str, str],
    rows: str,
    first: str | None,
    named: Sequence[NamedColumn],
) -> Taken:
    """One row a cell: rows are items and columns raters, or the other way round."""
    across = "rater" if rows == "dialog" else "dialog"
    numbered = pl.Series([str(n + 1) for n in range(cells.frame.height)])
    frame = cells.frame.with_columns(cells.places())
    ids = frame[first] if first is not None else numbered
    facts = {c: ours for c, ours in names.items() if ours not in ("dialog", "rater", "value")}
    known = [frame[c].alias(ours) for c, ours in facts.items()]
    base = pl.DataFrame([*known, ids.alias(rows), frame[PLACE]])
    parts = [
        base.with_columns(
            frame[column.column].alias("value"),
            pl.lit(column.who).alias(across),
            pl.lit(column.quality or ONLY_QUALITY).alias("quality"),
            pl.lit(number).alias("_column"),
            (pl.col(PLACE) + f", column {column.column}").alias(PLACE),
        ).with_row_index("_row")
        for number, column in enumerate(named)
    ]
    table = pl.concat(parts).sort("_row", "_column").drop("_row", "_column")
    whose, what = ("item", "rater") if rows == "dialog" else ("rater", "item")
    by = "numbered as they stand" if first is None else f"column {first}"
    people = list(dict.fromkeys(column.who for column in named))
    qualities = list(dict.fromkeys(column.quality for column in named if column.quality))
    each = f"a column {'an' if what == 'item' else 'a'} {what}"
    if qualities:
        each += f" and quality ({counted(len(people), what)}; {_some(qualities)})"
    else:
        each += f" ({_some(people)})"
    article = "an" if whose == "item" else "a"
    return Taken(table, f"a row {article} {whose} ({by}), {each}{_also(facts)}")


def _by_quality(cells: Cells, names: Mapping[str, str], rated: Sequence[str]) -> Taken:
    """A row a rater and item, a column a quality."""
    frame = cells.frame.with_columns(cells.places())
    kept = {c: ours for c, ours in names.items() if ours != "value" and c not in rated}
    base = frame.select([pl.col(c).alias(ours) for c, ours in kept.items()] + [pl.col(PLACE)])
    if "dialog" not in base.columns:
        raise DialensError(
            f"{cells.name}: no column says what was rated. Name it: --column item=COLUMN. "
            f"Columns: {listed(cells.columns)}."
        )
    parts = [
        base.with_columns(
            frame[column].alias("value"),
            pl.lit(column.strip()).alias("quality"),
            pl.lit(number).alias("_column"),
            (pl.col(PLACE) + f", column {column}").alias(PLACE),
        ).with_row_index("_row")
        for number, column in enumerate(rated)
    ]
    table = pl.concat(parts).sort("_row", "_column").drop("_row", "_column")
    theirs = {ours: column for column, ours in kept.items()}
    who = f"a rater ({theirs['rater']}) and an item" if "rater" in theirs else "a rating of an item"
    facts = {c: ours for c, ours in kept.items() if ours not in ("dialog", "rater")}
    return Taken(
        table,
        f"a row {who} ({theirs['dialog']}), a column a quality ({_some(rated)}){_also(facts)}",
    )


def _also(facts: Mapping[str, str]) -> str:
    return f"; {_some(list(facts))} beside them" if facts else ""


def _some(names: Sequence[str]) -> str:
    """A few names; the rest is counted."""
    if len(names) <= 5:
        return listed(list(names))
    return listed([*names[:3], f"{len(names) - 3} more"])


def _nothing(cells: Cells, layout: str) -> str:
    return (
        f"{cells.name} has no columns of ratings to be read with --format {layout}: no column "
        "holds nothing but numbers, numbers with labels, or words of one scale. Columns: "
        f"{listed(cells.columns)}. Name them with --column value=COLUMN,COLUMN."
    )
