"""What a file of ratings was taken for: its rows, and one line that says so."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import polars as pl

PLACE = "_place"
"""Column that says where in the file a rating stands, for messages."""

LAYOUTS = {
    "long": "a row a rating",
    "qualities": "a row a rater and item, a column a quality",
    "wide": "a row an item, a column a rater",
    "matrix": "a row a rater, a column an item",
    "qualtrics": "a survey export, a row a respondent",
    "label_studio": "an export of Label Studio",
    "potato": "the output of Potato",
}
"""Shapes of files of ratings, besides the formats of conversations."""


@dataclass(frozen=True)
class Taken:
    """Ratings out of a file that somebody else laid out.

    Attributes:
        table: A row a rating: dialog, rater, quality, value as text, other columns; `PLACE`.
        said: What was taken for what, in one line without its end stop.
        notes: What was left out and why, a sentence each.
    """

    table: pl.DataFrame
    said: str
    notes: tuple[str, ...] = field(default=())


@dataclass(frozen=True)
class Cells:
    """A table as it stands in a file: every cell as text, empty ones null.

    Attributes:
        frame: The cells, under the names of the file.
        name: What the file is called in messages.
        first: The line on which the first row stands.
        unit: What `first` counts: lines of a text, rows of a table.
        has_header: Whether the file names its columns.
    """

    frame: pl.DataFrame
    name: str
    first: int = 2
    unit: str = "line"
    has_header: bool = True

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return self.frame.columns

    def given(self, column: str) -> pl.Series:
        """The cells of a column that are not empty, without the blanks around them."""
        texts = self.frame[column].str.strip_chars()
        return texts.filter(texts.is_not_null() & (texts != ""))

    def places(self) -> pl.Series:
        """Where each row stands: `line 2`."""
        numbers = range(self.first, self.first + self.frame.height)
        return pl.Series(PLACE, [f"{self.unit} {n}" for n in numbers], pl.String)


def renamed(columns: list[str], mapping: Mapping[str, str]) -> dict[str, str]:
    """Ours for theirs: what `--column NAME=THEIRS` says, as far as the columns are there.

    Examples:
        >>> renamed(["Conv", "Score"], {"value": "Score", "item": "Conv", "rater": "x"})
        {'Score': 'value', 'Conv': 'dialog'}
    """
    ours = {theirs: "dialog" if name == "item" else name for name, theirs in mapping.items()}
    return {theirs: name for theirs, name in ours.items() if theirs in columns}
