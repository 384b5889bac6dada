"""Delimited files of ratings: their columns, decimal commas, and why a file is none."""

from collections.abc import Mapping, Sequence

import polars as pl

from dialens.base import DialensError, listed
from dialens.corpus import RATINGS, Source

NEEDED = "item (or dialog) and value, and for most questions rater, agent and quality as well"
"""Columns of a table of ratings, in words."""

_ENDINGS = (".csv", ".tsv")
_DECIMAL = r"^\s*([+-]?\d*),(\d+(?:[eE][+-]?\d+)?)\s*$"
_PERHAPS_THOUSANDS = r"^\s*[+-]?[1-9]\d{0,2},\d{3}\s*$"


def header_of(source: Source) -> tuple[str, list[str]]:
    """The delimiter of a file and the columns that its first line names."""
    header = source.head.split(b"\n", 1)[0].decode(errors="replace").strip()
    delimiter = max(",;\t", key=header.count)
    return delimiter, [cell.strip().strip('"') for cell in header.split(delimiter)]


def is_wrong_table(source: Source) -> bool:
    """Whether a file that nothing could read was meant as a table, and not of turns."""
    meant = set(_ENDINGS) & {suffix.lower() for suffix in source.path.suffixes}
    return bool(meant) and "text" not in {name.lower() for name in header_of(source)[1]}


def no_table(source: Source) -> str:
    """What a table of ratings needs, and what was found instead."""
    columns = [name for name in header_of(source)[1] if name]
    found = f"found: {listed(columns)}" if columns else "the file is empty"
    return f"{source.path} is no table of ratings: it needs the columns {NEEDED}; {found}."


def without_decimal_commas(
    table: pl.DataFrame, names: Mapping[str, str], source: Source
) -> pl.DataFrame:
    """Numbers such as `3,7` with a point, in the columns that hold numbers with decimals.

    Args:
        table: Cells as text, from a file that is not delimited by commas.
        names: Our name for every column.
        source: The file, for messages.
    """
    decimals = [name for name, dtype in RATINGS.items() if dtype.is_float()]
    columns = [column for column in table.columns if names[column] in decimals]
    return table.with_columns(_pointed(table[column], source) for column in columns)


def _pointed(column: pl.Series, source: Source) -> pl.Series:
    with_comma = column.filter(column.str.contains(_DECIMAL).fill_null(value=False))
    if len(with_comma) and with_comma.str.contains(_PERHAPS_THOUSANDS).all():
        raise DialensError(
            f"{source.path}, field `{column.name}`: {with_comma[0].strip()!r} may be a number with "
            "decimals or one with thousands set apart. Write numbers without the comma, or with a "
            "point."
        )
    return column.str.replace(_DECIMAL, "${1}.${2}")


def no_rows(source: Source, columns: Sequence[str]) -> str:
    """Why a table or a corpus without ratings is refused."""
    found = f"found: {listed(list(columns))}, and no row below them" if columns else "found: none"
    return (
        f"{source.path} holds no ratings. A table of ratings needs the columns {NEEDED}; {found}."
    )
