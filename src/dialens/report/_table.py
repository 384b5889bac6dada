"""Tables of a page: as HTML, as CSV and as LaTeX, from one description."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import ClassVar
from urllib.parse import quote

import polars as pl

from dialens.base import atomic_file, capitalised, for_spreadsheet

_LATEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_",
    "{": r"\{", "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "−": "$-$", "×": r"$\times$", "<": "$<$", ">": "$>$", "“": "``", "”": "''", "’": "'",
    "–": "--", "²": "$^2$",
}  # fmt: skip


_REASONS = ("Why not", "Note")
"""Columns that explain missing numbers: for the page and the CSV, not for a paper."""


@dataclass(frozen=True)
class Column:
    """The head of a column.

    Attributes:
        title: What it says.
        sort: `text` or `number` where a reader can sort by it; empty where not.
        hint: Shown on demand.
        group: A head above it, shared with its neighbours of the same group.
    """

    title: str
    sort: str = ""
    hint: str = ""
    group: str = ""


@dataclass(frozen=True)
class Place:
    """Where a value and its interval lie along their column, in percent of its width.

    Attributes:
        at: The value.
        low: Low end of the interval.
        high: High end.
    """

    at: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Cell:
    """One cell.

    Attributes:
        text: What it says.
        sort: What its column is sorted by; None comes last.
        small: A second line, such as the interval.
        hint: Shown on demand, such as the reason for a missing value.
        label: What the hint hangs on; the text itself if empty.
        place: Drawn as a dot with its interval.
        agent: Number of the agent whose dialogues the text leads to.
    """

    text: str
    sort: float | str | None = None
    small: str = ""
    hint: str = ""
    label: str = ""
    place: Place | None = None
    agent: int | None = None


def explained(text: str, sort: float | str | None, reason: str | None, label: str = "why?") -> Cell:
    """A cell that says on demand why its value is missing or incomplete, where it is.

    Examples:
        >>> explained("–", None, "only 2 items").hint, explained("0.5", 0.5, None).label
        ('Only 2 items.', '')
    """
    return (
        Cell(text, sort, hint=f"{capitalised(reason)}.", label=label)
        if reason
        else Cell(text, sort)
    )


@dataclass(frozen=True)
class Table:
    """A table.

    Attributes:
        key: For file names and links; unique on the page.
        title: What it shows.
        heads: Columns; a text is a column that cannot be sorted.
        rows: Cells; a text is a cell with nothing but that text.
        note: Below the table.
        data: The numbers as they are, for CSV; None if the table is for the page only.
        file: What the CSV on the page is called, where not by the key.
    """

    key: str
    title: str
    heads: Sequence[Column | str]
    rows: Sequence[Sequence[Cell | str]]
    note: str = ""
    data: pl.DataFrame | None = None
    file: str = ""
    kind: ClassVar[str] = "table"

    @property
    def columns(self) -> list[Column]:
        """The heads."""
        return [Column(head) if isinstance(head, str) else head for head in self.heads]

    @property
    def groups(self) -> list[tuple[str, int]]:
        """Heads above the heads and how many columns each spans; empty if there are none."""
        if not any(column.group for column in self.columns):
            return []
        runs = groupby(column.group for column in self.columns)
        return [(name, len(list(run))) for name, run in runs]

    @property
    def cells(self) -> list[list[Cell]]:
        """The rows."""
        return [
            [Cell(cell) if isinstance(cell, str) else cell for cell in row] for row in self.rows
        ]

    @property
    def drawn(self) -> bool:
        """Whether cells are drawn as dots with intervals."""
        return any(cell.place for row in self.cells for cell in row)

    def for_paper(self) -> "Table":
        """The same without columns that say why, and without rows that hold no number."""
        kept = [n for n, column in enumerate(self.columns) if column.title not in _REASONS]
        rows = [
            [row[n] for n in kept]
            for row in self.cells
            if not (
                sum(cell.text in ("–", "") for cell in row) > 1
                and not any(any(map(str.isdigit, row[n].text)) for n in kept)
            )
        ]
        return replace(self, heads=[self.heads[n] for n in kept], rows=rows)

    @property
    def download(self) -> str:
        """The numbers as a link that holds them; empty where there are none."""
        if self.data is None or not self.data.height:
            return ""
        sheet = for_spreadsheet(self.data.drop(self._nested)).write_csv()
        return f"data:text/csv;charset=utf-8,{quote(sheet)}"

    def latex(self) -> str:
        r"""The table for a paper that uses `booktabs`.

        Examples:
            >>> table = Table("t", "A_b", ("x", "y"), [("a & b", "−1")])
            >>> print(table.latex().splitlines()[8])
            a \& b & $-$1 \\
        """
        heads = [_line(column.title for column in self.columns)]
        if self.groups:
            heads.insert(0, " & ".join(_span(*group) for group in self.groups) + r" \\")
        note = f" {latex_text(self.note)}" if self.note else ""
        return "\n".join(
            [
                r"\begin{table}",
                r"\centering",
                rf"\caption{{{latex_text(self.title)}.{note}}}",
                rf"\label{{tab:{self.key}}}",
                rf"\begin{{tabular}}{{l{'r' * (len(self.heads) - 1)}}}",
                r"\toprule",
                *heads,
                r"\midrule",
                *(_line(cell.text for cell in row) for row in self.cells),
                r"\bottomrule",
                r"\end{tabular}",
                r"\end{table}",
                "",
            ]
        )

    @property
    def _nested(self) -> list[str]:
        schema = {} if self.data is None else self.data.schema
        return [name for name, kind in schema.items() if isinstance(kind, pl.List | pl.Struct)]

    def write(self, folder: Path) -> None:
        """Write the numbers as CSV and what of them belongs into a paper as LaTeX."""
        if self.data is None or not self.data.height:
            return
        with atomic_file(folder / f"{self.key}.csv") as scratch:
            for_spreadsheet(self.data.drop(self._nested)).write_csv(scratch)
        paper = self.for_paper()
        if not paper.rows:
            return
        with atomic_file(folder / f"{self.key}.tex") as scratch:
            scratch.write_text(paper.latex(), encoding="utf-8")


def latex_text(text: str) -> str:
    r"""Text that LaTeX prints as it stands.

    Examples:
        >>> latex_text("50 % of a_b")
        '50 \\% of a\\_b'
    """
    return "".join(_LATEX.get(character, character) for character in text)


def _span(name: str, width: int) -> str:
    """A head over several columns; where it has no name, as many empty cells."""
    if not name:
        return " & ".join([""] * width)
    return rf"\multicolumn{{{width}}}{{c}}{{{latex_text(name)}}}"


def _line(cells: Iterable[str]) -> str:
    return " & ".join(latex_text(cell) for cell in cells) + r" \\"
