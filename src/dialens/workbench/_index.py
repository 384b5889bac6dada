"""The index of a folder's conversations: pages, counts and histograms of any view, in an instant.

DuckDB answers from one wide Parquet file a level; texts, and which rows hold which words, come from
SQLite. A page is asked for in two steps: which rows, by the columns that decide it, then all that
is shown of these few.
"""

import json
import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import duckdb
import numpy as np
import polars as pl

from dialens.base import DialensError
from dialens.workbench._building import ABOUT, AGENTS, DIALOGS, RATED, TEXTS, TURNS
from dialens.workbench._columns import Column, facts
from dialens.workbench._live import Live, load_live
from dialens.workbench._pages import Histogram, TablePage, cursor, place_of
from dialens.workbench._queries import (
    ID,
    Query,
    escaped,
    expression,
    page_of,
    query_of,
    table_of,
)
from dialens.workbench._text_search import Rows, Search, TextIndex
from dialens.workbench._view import View, column_of

PAGE = 50
_MEMORY = "400MB"
_THREADS = 2
_CACHED = 24
_BINS = 40
_FILES: Final = {"turn": TURNS, "dialog": DIALOGS, "agent": AGENTS}
_SHOWN: Final = {
    "turn": "t.talk, t.source, t.agent, t.dialog, t.turn, t.role, t.speaker",
    "dialog": "t.talk, t.source, t.agent, t.dialog, t.opening_text",
    "agent": "t.source, t.system, t.agent",
}


class Index:
    """The index in a folder; thread-safe."""

    def __init__(self, folder: Path) -> None:
        """Open what `build_index` wrote."""
        self.folder = folder
        self._lease = _leased(folder)
        about = json.loads((folder / ABOUT).read_text("utf-8"))
        self.notes: tuple[str, ...] = tuple(about["notes"])
        self.sources: tuple[str, ...] = tuple(about["sources"])
        self._fixed = {
            level: (*facts(level), *(Column.from_json(one) for one in about["columns"][level]))
            for level in _FILES
        }
        self._live_columns: Mapping[str, tuple[Column, ...]] = {}
        self._texts = TextIndex(folder / TEXTS)
        self._database = duckdb.connect(":memory:", config={"threads": _THREADS})
        self._database.execute(f"set memory_limit = '{_MEMORY}'")
        self._database.execute("set enable_progress_bar = false")
        for level, name in _FILES.items():
            path = escaped(str(folder / name))
            self._database.execute(f"create view {level}s as select * from read_parquet('{path}')")
        for level in _FILES:
            load_live(self._database, level, pl.DataFrame(), folder)
        self._cache: OrderedDict[object, Any] = OrderedDict()
        self._lock = threading.Lock()
        self._of_text = threading.Lock()

    def columns(self, level: str) -> dict[str, Column]:
        """All columns of a level by name."""
        both = (*self._fixed[level], *self._live_columns.get(level, ()))
        return {column.name: column for column in both}

    def usual(self, level: str) -> list[str]:
        """The columns that are shown if nobody chose any."""
        every = self.columns(level).values()
        ranked = sorted((c for c in every if c.headline is not None), key=_rank)
        said = [c.name for c in every if c.kind in ("people", "judge")]
        first = {"turn": ["agent"], "dialog": ["agent", "turns"], "agent": ["dialogs"]}
        return [*first[level], *(c.name for c in ranked[:4]), *said[:2]]

    def ratings(self) -> pl.DataFrame:
        """The corpora's own ratings."""
        return pl.read_parquet(self.folder / RATED)

    def set_live(self, live: Live) -> None:
        """Take in what people, judges and coders said until now."""
        for level, table in (("turn", live.turn), ("dialog", live.dialog), ("agent", live.agent)):
            load_live(self._database, level, table, self.folder)
        self._live_columns = live.columns
        with self._lock:
            self._cache.clear()

    def page(self, view: View, *, after: str | None = None, size: int = PAGE) -> TablePage:
        """Rows of a view, from where the last page ended.

        Raises:
            DialensError: A column, a search or a place that there is not.
        """
        columns = self.columns(view.level)
        chosen = [column_of(name, columns) for name in view.columns or self.usual(view.level)]
        total = self.count(view)
        ids = self._ids(view, columns, after, size + 1) if total else []
        shown = ids[:size]
        rows = self._rows(view.level, [number for number, _ in shown], chosen)
        more = len(ids) > size
        return TablePage(rows, total, cursor(*shown[-1]) if more else None)

    def count(self, view: View) -> int:
        """How many rows a view has."""
        bare = replace(view, sort="", descending=False, columns=())
        return int(self._cached(("count", bare.address()), lambda: self._count(bare)))

    def _count(self, view: View) -> int:
        search = Search.parse(view.search)
        simple = not (view.ranges or view.choices or view.missing)
        if simple and search is not None and search.match is not None and view.level == "turn":
            with self._of_text:
                return self._texts.count(search.match)
        query = self._query(view)
        return int(self._ask(f"select count(*) from {query.source}", query)[0][0])

    def _ids(
        self, view: View, columns: Mapping[str, Column], after: str | None, most: int
    ) -> list[tuple[int, float | str | None]]:
        """Numbers of rows in the order of a view, each with what it is sorted by."""
        from_value, from_number = place_of(after)
        search = Search.parse(view.search)
        only_words = not (view.sort or view.ranges or view.choices or view.missing)
        if search is not None and search.match is not None and only_words and view.level == "turn":
            with self._of_text:
                found = self._texts.first(search.match, most, from_number)
            return [(row, None) for row in found]
        query = self._query(view, also=(view.sort,) if view.sort else ())
        column = column_of(view.sort, columns) if view.sort else None
        asked = page_of(
            query,
            view,
            column,
            after=None if after is None else (from_value, from_number),
            most=most,
        )
        return [(int(n), v) for n, v in self._ask(asked.source, asked)]

    def _rows(
        self, level: str, numbers: Sequence[int], columns: Sequence[Column]
    ) -> list[dict[str, Any]]:
        """All that is shown of some rows, in the order asked for."""
        if not numbers:
            return []
        key = ID[level]
        values = "".join(f", {expression(c)} as v{n}" for n, c in enumerate(columns))
        marks = ", l.flags, l.note" if level != "agent" else ""
        wanted = ",".join(str(int(number)) for number in numbers)
        asked = (
            f"select t.{key} as id, {_SHOWN[level]}{marks}{values} "
            f"from {table_of(level, live=True)} where t.{key} in ({wanted})"
        )
        cursor = self._database.cursor().execute(asked)
        heads = [entry[0] for entry in cursor.description or ()]
        found = {row[0]: dict(zip(heads, row, strict=True)) for row in cursor.fetchall()}
        if level == "turn":
            with self._of_text:
                texts = self._texts.texts(numbers)
            for number, row in found.items():
                row["text"] = texts.get(number, "")
        made = [found[number] for number in numbers if number in found]
        for row in made:
            row["values"] = {c.name: row.pop(f"v{n}") for n, c in enumerate(columns)}
        return made

    def histogram(self, view: View, column: str, bins: int = _BINS) -> Histogram | None:
        """How a column is spread in a view; a filter on the column itself does not count.

        None where no row has a value.
        """
        view = view.without(column)
        key = ("histogram", view.address(), column, bins)
        made: Histogram | None = self._cached(key, lambda: self._histogram(view, column, bins))
        return made

    def _histogram(self, view: View, name: str, bins: int) -> Histogram | None:
        column = column_of(name, self.columns(view.level))
        if not column.numeric:
            raise DialensError(f"{column.label} has no numbers, so there is nothing to brush.")
        query = self._query(view, also=(name,))
        value = expression(column)
        low, high, mean, there, all_rows = self._ask(
            f"select min({value}), max({value}), avg({value}), count({value}), count(*) "
            f"from {query.source}",
            query,
        )[0]
        if not there:
            return None
        width = (high - low) / bins or 1.0
        counted = self._ask(
            f"select least(floor(({value} - {low!r}) / {width!r})::int, {bins - 1}) as b, "
            f"count(*) from {query.source} and {value} is not null group by b",
            query,
        )
        counts = [0] * bins
        for place, number in counted:
            counts[max(0, place)] += number
        return Histogram(float(low), float(high), counts, int(all_rows - there), float(mean))

    def choices(
        self, view: View, names: Sequence[str], most: int = 100
    ) -> dict[str, list[tuple[str, int]]]:
        """The values of columns of names, with how many rows of a view have each, most first.

        A choice among a column's own values does not count for that column.
        """
        free = [name for name in names if name not in view.choices]
        made = self._choices(view, free, most)
        for name in names:
            if name not in free:
                kept = {other: chosen for other, chosen in view.choices.items() if other != name}
                made |= self._choices(replace(view, choices=kept), [name], most)
        return made

    def _choices(
        self, view: View, names: Sequence[str], most: int
    ) -> dict[str, list[tuple[str, int]]]:
        if not names:
            return {}
        bare = replace(view, sort="", columns=())
        columns = self.columns(view.level)
        expressions = [expression(column_of(name, columns)) for name in names]

        def asked() -> list[tuple[Any, ...]]:
            query = self._query(bare, also=names)
            sets = ", ".join(f"({one})" for one in expressions)
            return self._ask(
                f"select grouping({', '.join(expressions)}), {', '.join(expressions)}, count(*) n "
                f"from {query.source} group by grouping sets ({sets}) order by n desc",
                query,
            )

        rows = self._cached(("choices", bare.address(), tuple(names)), asked)
        made: dict[str, list[tuple[str, int]]] = {}
        for place, name in enumerate(names):
            own = (1 << len(names)) - 1 - (1 << (len(names) - 1 - place))
            found = [(row[1 + place], row[-1]) for row in rows if row[0] == own]
            made[name] = sorted(found, key=lambda one: (-one[1], str(one[0])))[:most]
        return made

    def sql(self, asked: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Ask the tables `turns`, `dialogs`, `agents`, `live_turn` and `live_dialog` anything."""
        return self._database.cursor().execute(asked, list(values)).fetchall()

    def rows(
        self, level: str, numbers: Sequence[int], columns: Sequence[str]
    ) -> list[dict[str, Any]]:
        """Some rows by number, with the values of columns, in the order asked for."""
        known = self.columns(level)
        return self._rows(level, numbers, [column_of(name, known) for name in columns])

    def numbers(self, view: View, most: int | None = None) -> list[int]:
        """Numbers of all rows of a view, in its order."""
        return [n for n, _ in self._ids(view, self.columns(view.level), None, most or 2**40)]

    def frame(self, view: View, columns: Sequence[str]) -> pl.DataFrame:
        """The values of columns in all rows of a view, by `id`; of turns with their `talk`."""
        known = self.columns(view.level)
        query = self._query(view, also=columns)
        values = [f"{expression(column_of(name, known))} as v{n}" for n, name in enumerate(columns)]
        numbers = [f"t.{ID[view.level]} as id", *(["t.talk"] if view.level == "turn" else [])]
        cursor = self._database.cursor()
        if query.matches is not None:
            cursor.register("matches", {"row": np.ascontiguousarray(query.matches)})
        asked = f"select {', '.join([*numbers, *values])} from {query.source} order by id"
        found = cursor.execute(asked, query.values).fetchnumpy()
        named = {f"v{n}": name for n, name in enumerate(columns)}
        return pl.DataFrame(
            [_series(named.get(name, name), array) for name, array in found.items()]
        )

    def texts(self, rows: Sequence[int]) -> dict[int, str]:
        """Texts of turns by their numbers."""
        with self._of_text:
            return self._texts.texts(rows)

    def talk(self, source: str, dialog: str) -> int | None:
        """The number of a dialogue; None if there is none."""
        found = self.sql(
            "select talk from dialogs where source = ? and dialog = ?", (source, dialog)
        )
        return int(found[0][0]) if found else None

    def _query(self, view: View, also: Sequence[str] = ()) -> Query:
        """The rows of a view; `also` names further columns that will be asked for."""
        search = Search.parse(view.search)
        matches = None if search is None else self._matching(search)
        return query_of(view, self.columns(view.level), matches, also)

    def _matching(self, search: Search) -> Rows:
        """The rows whose texts match, by the index of words or by a scan."""
        made: Rows = self._cached(("match", search), lambda: self._matched(search))
        return made

    def _matched(self, search: Search) -> Rows:
        if search.match is not None:
            with self._of_text:
                return self._texts.rows(search.match)
        turns = pl.scan_parquet(self.folder / TURNS).filter(
            pl.col("text").str.contains(str(search.pattern))
        )
        try:
            return turns.select("row").collect(engine="streaming")["row"].sort().to_numpy()
        except pl.exceptions.PolarsError as error:
            lines = [line.strip() for line in str(error).splitlines()]
            why = next((line[7:] for line in lines if line.startswith("error: ")), lines[0])
            raise DialensError(
                f"This regular expression cannot be searched for: {why}. Neither look-around, such "
                "as (?=…), nor references back, such as \\1, can be used."
            ) from error

    def _ask(self, asked: str, query: Query) -> list[tuple[Any, ...]]:
        cursor = self._database.cursor()
        if query.matches is not None:
            cursor.register("matches", {"row": np.ascontiguousarray(query.matches)})
        try:
            return cursor.execute(asked, query.values).fetchall()
        finally:
            cursor.close()

    def _cached(self, key: object, make: Callable[[], Any]) -> Any:
        with self._lock:
            if key in self._cache:
                self._cache.move_to_end(key)
                return self._cache[key]
        made = make()
        with self._lock:
            self._cache[key] = made
            while len(self._cache) > _CACHED:
                self._cache.popitem(last=False)
        return made

    def close(self) -> None:
        """Close the files."""
        os.close(self._lease)
        with self._of_text:
            self._texts.close()
        self._database.close()


def _series(name: str, values: "np.ndarray[Any, Any]") -> pl.Series:
    """A column as DuckDB gives it to NumPy; what is masked is missing."""
    plain = isinstance(values, np.ma.MaskedArray) or values.dtype == object
    return pl.Series(name, values.tolist() if plain else values)


def _leased(folder: Path) -> int:
    """Let others see that an index is in use; ends with the process at the latest."""
    file = os.open(folder / ABOUT, os.O_RDONLY)
    with suppress(OSError, ImportError):  # a file system without locks, or Windows
        import fcntl

        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    return file


def in_use(folder: Path) -> bool:
    """Whether somebody has the index in a folder open, as far as that can be known."""
    try:
        import fcntl

        with (folder / ABOUT).open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except (OSError, ImportError):
        return True
    return False


def _rank(column: Column) -> tuple[int, str]:
    return (column.headline if column.headline is not None else 10**6, column.name)
