"""Tables for spreadsheets, in which no name is run as a formula."""

from typing import TypeVar

import polars as pl

Table = TypeVar("Table", pl.DataFrame, pl.LazyFrame)
_FORMULA = r"^[=+\-@\t\r＝＋－＠]."
_NUMBER = r"^[+-]?[\d.,]*\d[\d.,]*(e[+-]?\d+)?%?$"


def for_spreadsheet(table: Table) -> Table:
    """The table with an apostrophe before texts that a spreadsheet would take for formulas.

    Spreadsheets run a cell that begins with =, +, - or @ even where it stands in quotes, and a name
    such as `=HYPERLINK(…)` may come from anybody's file. The apostrophe is what OWASP advises; it
    changes the name, so this is for tables of results, which stand beside exact ones in Parquet.
    Tables of data, which are read again, are written as they are.

    Examples:
        >>> table = pl.DataFrame({"agent": ["=cmd|' /C calc'!A0", "bot", "-5", "-x"], "n": 1})
        >>> for_spreadsheet(table)["agent"].to_list()
        ["'=cmd|' /C calc'!A0", 'bot', '-5', "'-x"]
    """
    schema = table.collect_schema()
    texts = [name for name, kind in schema.items() if kind in (pl.String, pl.Categorical, pl.Enum)]
    return table.with_columns(map(_guarded, texts))


def _guarded(name: str) -> pl.Expr:
    text = pl.col(name).cast(pl.String)
    formula = text.str.contains(_FORMULA) & ~text.str.contains(_NUMBER)
    return pl.when(formula).then(pl.lit("'") + text).otherwise(text).alias(name)
