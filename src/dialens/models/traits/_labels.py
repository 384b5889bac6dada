"""Labelled texts, put in order: who wrote what, and whether the label belongs to person or text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import sparse

from dialens.base import DialensError, did_you_mean

Vector = NDArray[np.float64]
Rows = NDArray[np.intp]
_FEWEST_PEOPLE_A_FOLD = 2


@dataclass(frozen=True, eq=False)
class Labelled:
    """Texts with a label, and the units a model is fitted on.

    Attributes:
        texts: The texts, sorted by person, so that the order of the user's rows does not matter.
        text_person: Whose text it is, as a row of ``names``.
        text_target: The label of each text (that of its person, if the unit is ``person``).
        names: The people.
        unit: ``person`` or ``text``.
        unit_person: Whose unit it is.
        unit_target: The label of each unit.
        dropped: How many rows were left out for want of a text, a label or a person.
    """

    texts: pl.Series = field(repr=False)
    text_person: Rows = field(repr=False)
    text_target: Vector = field(repr=False)
    names: pl.Series = field(repr=False)
    unit: str
    unit_person: Rows = field(repr=False)
    unit_target: Vector = field(repr=False)
    dropped: Mapping[str, int] = field(default_factory=dict)

    @property
    def n_dropped(self) -> int:
        """How many rows were left out."""
        return sum(self.dropped.values())

    def pool(self, texts: sparse.csr_array) -> sparse.csr_array:
        """Sum rows of texts to rows of units."""
        if self.unit == "text":
            return texts
        place = (self.text_person, np.arange(len(self.text_person)))
        shape = (len(self.names), len(self.text_person))
        whose = sparse.csr_array((np.ones(len(self.text_person)), place), shape=shape)
        pooled = sparse.csr_array(whose @ texts)
        pooled.sort_indices()
        return pooled

    def by_person(self, units: Vector) -> Vector:
        """Average units to people, leaving out NaN; NaN for a person with nothing else."""
        known = ~np.isnan(units)
        total = np.bincount(self.unit_person[known], units[known], minlength=len(self.names))
        n = np.bincount(self.unit_person[known], minlength=len(self.names))
        mean: Vector = np.divide(total, n, out=np.full(len(n), np.nan), where=n > 0)
        return mean

    @property
    def person_target(self) -> Vector:
        """The label of each person (mean over texts, if the unit is ``text``)."""
        return self.by_person(self.unit_target)


def labelled(table: pl.DataFrame, *, text: str, target: str, group: str, folds: int) -> Labelled:
    """Check a table and put it in order.

    Rows without text (null or blank), target or group are left out and counted by the first that
    is missing. If the target never varies within a group it is a trait and the unit is the person,
    else it is a state and the unit is the text.

    Raises:
        DialensError: A column is missing, the target is not numeric or constant, or there are fewer
            than two people a fold.

    Examples:
        >>> table = pl.DataFrame({"who": ["b", "a", "b", "c"], "says": ["x", "y", "z", None]})
        >>> data = labelled(
        ...     table.with_columns(score=pl.Series([1, 2, 1, 3])),
        ...     text="says",
        ...     target="score",
        ...     group="who",
        ...     folds=1,
        ... )
        >>> data.unit, data.names.to_list(), data.unit_target.tolist(), data.n_dropped
        ('person', ['a', 'b'], [2.0, 1.0], 1)
    """
    for column in (text, target, group):
        if column not in table.columns:
            raise DialensError(
                f"the table has no column {column!r}. {did_you_mean(column, table.columns)}"
                f"Its columns are {', '.join(table.columns)}"
            )
    kind = table.schema[target]
    if not (kind.is_numeric() or kind == pl.Boolean):
        raise DialensError(f"the target {target!r} is of type {kind}; it must be numeric")
    rows, dropped = _without_gaps(
        table.select(
            text=pl.col(text).cast(pl.String),
            target=pl.col(target).cast(pl.Float64).fill_nan(None),
            group=pl.col(group).cast(pl.String),
        )
    )
    if rows["target"].is_infinite().any():
        raise DialensError(f"the target {target!r} holds infinite values; mend or leave them out")
    rows = rows.sort("group", "text", "target")
    names = rows["group"].unique().sort()
    if len(names) < max(2, folds * _FEWEST_PEOPLE_A_FOLD):
        gaps = "".join(f", {n} rows with {what} left out" for what, n in dropped.items())
        most = len(names) // _FEWEST_PEOPLE_A_FOLD
        remedy = f"give more people or at most {most} folds" if most > 1 else "give more people"
        raise DialensError(
            f"{len(names)} people in the column {group!r} are too few for {folds} folds"
            f" ({rows.height} usable texts{gaps}); {remedy}"
        )
    if rows["target"].n_unique() < 2:
        raise DialensError(
            f"the target {target!r} is {rows['target'][0]:g} in every row: there is nothing to fit"
        )
    person = rows["group"].rank("dense").to_numpy().astype(np.intp) - 1
    values = rows["target"].to_numpy()
    varies = rows.group_by("group").agg(n=pl.col("target").n_unique())["n"].max()
    trait = varies == 1
    first = np.unique(person, return_index=True)[1]
    return Labelled(
        texts=rows["text"],
        text_person=person,
        text_target=values,
        names=names,
        unit="person" if trait else "text",
        unit_person=np.arange(len(names)) if trait else person,
        unit_target=values[first] if trait else values,
        dropped=dropped,
    )


def _without_gaps(rows: pl.DataFrame) -> tuple[pl.DataFrame, dict[str, int]]:
    """Leave out rows in which something is missing; count each by the first thing missing."""
    blank = pl.col("text").is_null() | (pl.col("text").str.strip_chars() == "")
    missing = {
        "no text": blank,
        "no target": pl.col("target").is_null(),
        "no group": pl.col("group").is_null() | (pl.col("group").str.strip_chars() == ""),
    }
    dropped = {}
    for what, gap in missing.items():
        kept = rows.filter(~gap)
        if kept.height < rows.height:
            dropped[what] = rows.height - kept.height
        rows = kept
    return rows, dropped
