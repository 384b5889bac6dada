"""The usual block of a dump as columns at once: one kind of record, every value of its usual type.

Polars reads such lines without Python's lock, and makes no object of a record. It is strict about
numbers, but writes down as text what is no text (`"body": 5`), and half a surrogate pair as U+0000.
Rows in which that can have happened are read once more, by the strict decoder; whenever anything
is unusual there is no table, and :mod:`dialens.engagement.curation._dump_records` looks closer.
"""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Final

import numpy as np
import polars as pl

LATEST: Final = 2**53
"""Seconds beyond what a clock shows."""

_TIMES: Final = {"created_utc": "created", "retrieved_on": "retrieved"}
_COMMON: Final = {
    "id": pl.String,
    "link_id": pl.String,
    "subreddit": pl.String,
    "author": pl.String,
    "score": pl.Int64,
}
_COMMENT: Final = pl.Schema(
    {
        **_COMMON,
        "parent_id": pl.String,
        "score_hidden": pl.Boolean,
        "controversiality": pl.Int64,
        "edited": pl.String,  # a truth value or a time
        "body": pl.String,
    }
)
_SUBMISSION: Final = pl.Schema(
    {**_COMMON, "hide_score": pl.Boolean, "title": pl.String, "selftext": pl.String}
)
_NO_TEXT: Final = r'^(?:true$|false$|-?[0-9][0-9.eE+-]*$|\[(?:[\]0-9"{\[-]|true|false|null)|\{["}])'
"""What Polars makes of numbers, truth values, arrays and objects; texts may look like that, too."""
_FALSE: Final = "^(?:false|[-0.]+)$"
_IN_A_THREAD: Final = ("t1_", "t3_")
_NAMES: Final = ("id", "link_id", "parent_id", "subreddit", "author")
_HALF: Final = "\0"
_LINE_FEED: Final = 10


def comment_columns(
    data: bytes, lines: int, is_valid: Callable[[bytes], bool], *, number_times: bool = False
) -> pl.DataFrame | None:
    """Comments of a block, as dumped; None if anything is unusual in any of its lines.

    Args:
        data: Whole lines, a record each.
        lines: How many there are.
        is_valid: Whether the strict decoder reads a line.
        number_times: Times are whole numbers, which is read a little faster, and not text.

    Examples:
        >>> times = b'"created_utc": 5, "retrieved_on": 6, "edited": false'
        >>> line = b'{"id": "c", "link_id": "t3_s", "body": "Hi", "author": "a", %s}' % times
        >>> comment_columns(line, 1, lambda line: True)["body"].to_list()
        ['Hi']
        >>> comment_columns(line.replace(b'"Hi"', b'["Hi"]'), 1, lambda line: False) is None
        True
    """
    read = _read(data, lines, _COMMENT, number_times=number_times)
    if read is None or read["link_id"].null_count() or (read["link_id"] == "").any():
        return None
    if not _edit_times(read["edited"]):
        return None
    odd = ~_named_by_kind("link_id") | ~_named_by_kind("parent_id")
    unsure = _unsure(read, ("id", "subreddit", "author"), ("body",), odd)
    times = _times(read)
    if times is None or not _all_valid(data, unsure, is_valid):
        return None
    return read.select(
        "id",
        "subreddit",
        *times,
        "author",
        "parent_id",
        pl.col("link_id").alias("thread"),
        _score("score_hidden"),
        (pl.col("controversiality") != 0).alias("controversial"),
        ~pl.col("edited").str.contains(_FALSE),
        "body",
    )


def submission_columns(
    data: bytes, lines: int, is_valid: Callable[[bytes], bool], *, number_times: bool = False
) -> pl.DataFrame | None:
    """Submissions of a block, as dumped; None if anything is unusual in any of its lines.

    Args:
        data: Whole lines, a record each.
        lines: How many there are.
        is_valid: Whether the strict decoder reads a line.
        number_times: Times are whole numbers, which is read a little faster, and not text.

    Examples:
        >>> line = (
        ...     b'{"id": "s", "title": "T", "author": "a", "created_utc": "5", "retrieved_on": 6}'
        ... )
        >>> submission_columns(line, 1, lambda line: True)["created"].to_list()
        [5]
    """
    read = _read(data, lines, _SUBMISSION, number_times=number_times)
    if read is None or read["title"].null_count() or read["link_id"].count():
        return None
    unsure = _unsure(read, ("id", "subreddit", "author"), ("title", "selftext"))
    times = _times(read)
    if times is None or not _all_valid(data, unsure, is_valid):
        return None
    return read.select(
        "id", "subreddit", *times, "author", _score("hide_score"), "title", "selftext"
    )


def _read(data: bytes, lines: int, schema: pl.Schema, *, number_times: bool) -> pl.DataFrame | None:
    times = dict.fromkeys(_TIMES, pl.Int64 if number_times else pl.String)
    try:
        read = pl.read_ndjson(data, schema={**schema, **times}).rechunk()
    except pl.exceptions.PolarsError:
        return None
    # Null is how PRAW says that an account is gone, no key at all says nothing: here both are null.
    usual = read.height == lines and not read["author"].null_count()
    usual = usual and not read["id"].null_count() and not (read["id"] == "").any()
    return read if usual and not _half_characters_in_names(read) else None


def _half_characters_in_names(read: pl.DataFrame) -> bool:
    names = pl.col(name for name in _NAMES if name in read.columns)
    # All of a column together: one look at many short texts is faster than one at each.
    return any(read.select(names.str.join("").str.contains(_HALF, literal=True)).row(0))


def _unsure(
    read: pl.DataFrame, names: Sequence[str], texts: Sequence[str], odd: pl.Expr | None = None
) -> list[int]:
    """The rows in which Polars may have made a text of something else, or another text.

    Args:
        read: The columns.
        names: Those that should hold short texts
        texts: and long ones.
        odd: What else makes a row worth a look at its line.
    """
    certain = [pl.col(name).str.contains(_HALF, literal=True) for name in texts]
    certain += [] if odd is None else [odd]
    every = (*names, *texts)
    looks = read.select(
        pl.any_horizontal(*certain).alias("certain"),
        pl.any_horizontal(*map(_begins_unlike_text, every)).alias("maybe"),
    )
    rows = looks["maybe"].arg_true()
    no_text = pl.any_horizontal(pl.col(name).gather(rows).str.contains(_NO_TEXT) for name in every)
    no_texts = rows.filter(read.select(no_text).to_series()) if len(rows) else rows
    return sorted({*looks["certain"].arg_true(), *no_texts})


@cache
def _begins_unlike_text(name: str) -> pl.Expr:
    """Whether a closer look is worth it: comparing sees a few bytes, and costs next to nothing."""
    text = pl.col(name)
    begins_so = (text < ":") | ((text >= "[") & (text < "\\")) | (text >= "{")
    return begins_so | (text == "true") | (text == "false")


def _edit_times(edited: pl.Series) -> bool:
    """Whether all that is no truth value is a number."""
    times = edited.filter((edited != "false") & (edited != "true"))
    return not times.cast(pl.Float64, strict=False).has_nulls()


@cache
def _named_by_kind(name: str) -> pl.Expr:
    comment, submission = (pl.col(name).str.starts_with(kind) for kind in _IN_A_THREAD)
    return comment | submission


def _all_valid(data: bytes, rows: Sequence[int], is_valid: Callable[[bytes], bool]) -> bool:
    if not rows:
        return True
    ends = np.flatnonzero(np.frombuffer(data, np.uint8) == _LINE_FEED)
    for row in rows:
        start = int(ends[row - 1]) + 1 if row else 0
        end = int(ends[row]) if row < len(ends) else len(data)
        if not is_valid(data[start:end]):
            return False
    return True


def _times(read: pl.DataFrame) -> tuple[pl.Series, pl.Series] | None:
    """Both times as whole seconds; None where another key may hold one, or one is no number."""
    times = []
    for field, name in _TIMES.items():
        seconds = read[field].cast(pl.Int64, strict=False)
        if seconds.has_nulls() or not _shown_by_a_clock(seconds):
            return None
        times.append(seconds.alias(name))
    return times[0], times[1]


def _shown_by_a_clock(seconds: pl.Series) -> bool:
    first, last = seconds.min(), seconds.max()
    return isinstance(first, int) and isinstance(last, int) and first > -LATEST and last < LATEST


@cache
def _score(hidden: str) -> pl.Expr:
    # What is shown of a hidden score is not the score.
    return pl.when(~pl.col(hidden).fill_null(value=False)).then("score").alias("score")
