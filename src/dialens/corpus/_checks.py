"""The rules of the hierarchy for whole tables of turns, checked column by column.

A table comes from a CSV or a Parquet file, with the line (or row) each turn stood on. What is
wrong is wrong with a dialogue: one that lacks a turn is no longer the dialogue that was held.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import polars as pl

from dialens.corpus._intake import RecordError
from dialens.corpus._tables import ROLES

LINE = "_line"
FLAW = "_flaw"
"""Whether a row could not even be taken apart; its error is known by its line."""
MARKS = pl.Schema({LINE: pl.Int64, FLAW: pl.Boolean})
"""What a table of text has beside its own columns."""
SEEN = "_seen_"
"""Prefix of the columns that keep what stood in the file, where that could not be understood."""

_SKIP = "or leave such dialogs out with --on-error skip."


@dataclass(frozen=True)
class Check:
    """A rule about one column: the rows that break it, and what to say of them."""

    field: str
    what: str
    broken: pl.Expr
    seen: pl.Expr
    remedy: str = ""


@dataclass(frozen=True)
class Problem:
    """A broken rule: where, and in which dialog (None where the row does not say)."""

    line: int
    dialog: str | None
    error: RecordError


def _odd(field: str, what: str, remedy: str) -> Check:
    """A value stood in the file and could not be understood."""
    seen = pl.col(SEEN + field)
    return Check(field, what, pl.col(field).is_null() & seen.is_not_null(), seen, remedy)


ROWS = (
    Check(FLAW, "cannot be read", pl.col(FLAW), pl.lit("nothing")),
    Check(
        "dialog",
        "is missing: every row needs the id of its conversation",
        pl.col("dialog").is_null() | (pl.col("dialog") == ""),
        pl.lit("nothing"),
    ),
    Check("text", "is missing", pl.col("text").is_null(), pl.lit("nothing")),
    _odd("turn", "is not a whole number", f"Number the turns of a dialog 0, 1, 2 …, {_SKIP}"),
    _odd(
        "created_at",
        "is not a time",
        f"Write times as 2024-05-01T10:30:00+00:00, {_SKIP}",
    ),
    _odd("meta", "is not a JSON object", f"Mend it, leave it empty, {_SKIP}"),
    Check(
        "role",
        "is not a role",
        pl.col("role").is_null() | ~pl.col("role").is_in(ROLES),
        pl.coalesce(SEEN + "role", pl.lit("nothing")),
        "Use `agent` for the one under study and `partner` for the other side (`assistant`, "
        "`bot`, `user` and `human` are understood too), say who is who with --role agent=NAME, "
        + _SKIP,
    ),
)
"""Rules about a row by itself."""


def _one(field: str) -> Check:
    first = pl.col(field).first().over("dialog")
    return Check(
        field,
        f"changes within the dialog: a dialog belongs to one {field}",
        pl.col(field) != first,
        pl.format("{} after {}, in dialog {}", field, first, "dialog"),
        f"Give every {field}'s conversation a dialog id of its own, {_SKIP}",
    )


_EXPECTED = pl.int_range(pl.len()).over("dialog")
DIALOGS = (
    Check(
        "turn",
        "is out of sequence: the turns of a dialog count 0, 1, 2 … without gap or repetition",
        pl.col("turn") != _EXPECTED,
        pl.format("{} where {} was expected, in dialog {}", "turn", _EXPECTED, "dialog"),
        "Mend the numbers, drop the column (the order of the rows counts then), " + _SKIP,
    ),
    _one("system"),
    _one("agent"),
)
"""Rules about a dialog as a whole; the rows stand together and in order."""


def problems(turns: pl.DataFrame, checks: Iterable[Check]) -> list[Problem]:
    """The first broken rule of every dialog that breaks one, in the order of their lines.

    Examples:
        >>> frame = pl.DataFrame(
        ...     {"dialog": ["d", "d"], "turn": [0, 2], "system": "s", "agent": "b", LINE: [2, 3]}
        ... )
        >>> [(found.line, found.error.seen) for found in problems(frame, DIALOGS)]
        [(3, '2 where 1 was expected, in dialog d')]
    """
    checks = list(checks)
    failed = [
        turns.with_columns(check.seen.cast(pl.String).alias("_seen"))
        .filter(check.broken.fill_null(value=False))
        .select(LINE, "dialog", "_seen", pl.lit(number).alias("_check"))
        for number, check in enumerate(checks)
        if turns.select(check.broken.any()).item()
    ]
    if not failed:
        return []
    rows = pl.concat(failed).sort(LINE, "_check", maintain_order=True)
    nameless = rows.filter(pl.col("dialog").is_null() | (pl.col("dialog") == ""))
    named = rows.filter(pl.col("dialog").is_not_null() & (pl.col("dialog") != ""))
    rows = pl.concat(
        [nameless.unique(LINE, keep="first"), named.unique("dialog", keep="first")]
    ).sort(LINE)
    return [
        Problem(line, dialog, _error(checks[number], seen))
        for line, dialog, seen, number in rows.iter_rows()
    ]


def _error(check: Check, seen: str) -> RecordError:
    return RecordError(check.what, field=check.field, seen=seen, remedy=check.remedy)
