"""What people and public systems score: the distributions that ship, and a value's place in them.

Only figures ship: quantiles of what speakers in public conversations score, by level, by group of
speakers and by how many words they wrote. `recipes/reference/` made them, and the card beside the
table names every source with its licence.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files
from typing import Any, Final

import numpy as np
import polars as pl

from dialens.metrics._state import Floats
from dialens.models import without_arithmetic
from dialens.statistics import Ints

PEOPLE: Final = "people"
SYSTEMS: Final = "systems"
ALL: Final = "all"
DIGITS: Final = 4
"""Significant digits of the quantiles; a value is rounded alike before it is looked up, so that
values that many speakers share (0, 1/2) are found again."""

_COLUMNS: dict[str, pl.DataType | type[pl.DataType]] = {
    "metric": pl.String,
    "signature": pl.String,
    "level": pl.String,
    "group": pl.String,
    "band": pl.String,
    "least_words": pl.Int64,
    "most_words": pl.Int64,
    "n": pl.Int64,
    "n_sources": pl.Int64,
    "mean": pl.Float64,
    "quantiles": pl.List(pl.Float32),
}
REFERENCE = pl.Schema(_COLUMNS)
"""One row a distribution. `group` is `people`, `systems` or the name of a source; `band` is `all`
or how many words a unit has, from `least_words` to `most_words`; `n` counts units."""


@dataclass(frozen=True)
class Distribution:
    """What the units of one group score on a metric.

    Attributes:
        quantiles: Values at the probabilities of the card.
        probabilities: From 0 to 1.
        n: How many units stand behind it.
        least_words: Of a unit; 0 where length does not matter.
        most_words: The same; None where there is no bound.
    """

    quantiles: Floats
    probabilities: Floats
    n: int
    least_words: int = 0
    most_words: int | None = None

    @cached_property
    def _steps(self) -> tuple[Floats, Ints, Ints]:
        """The distinct quantiles, and the first and the last place of each."""
        steps, first = np.unique(self.quantiles, return_index=True)
        return steps, first, np.append(first[1:], len(self.quantiles)) - 1

    def percentiles(self, values: Floats) -> Floats:
        """How many of a hundred units lie below each value; those that equal it count half.

        Examples:
            >>> known = Distribution(np.array([0, 0, 0, 1.0]), np.linspace(0, 1, 4), 30)
            >>> [round(float(p)) for p in known.percentiles(np.array([0, 0.5, 1, 2]))]
            [33, 83, 100, 100]
        """
        rounded = significant(np.asarray(values, dtype=np.float64))
        steps, first, last = self._steps
        middle = (self.probabilities[first] + self.probabilities[last]) / 2
        # Between two steps the share grows from the end of one to the start of the next.
        at = np.searchsorted(steps, rounded, side="right") - 1
        inside = (at >= 0) & (at < len(steps) - 1)
        low = np.clip(at, 0, len(steps) - 1)
        high = np.clip(low + 1, 0, len(steps) - 1)
        width = np.where(steps[high] > steps[low], steps[high] - steps[low], 1.0)
        share = (rounded - steps[low]) / width
        start, end = self.probabilities[last][low], self.probabilities[first][high]
        between = start + share * (end - start)
        exact = (at >= 0) & (steps[low] == rounded)
        placed = np.where(exact, middle[low], np.where(inside, between, np.where(at < 0, 0.0, 1.0)))
        return np.where(np.isnan(rounded), np.nan, 100 * placed)


class References:
    """The reference values of one table and its card.

    Examples:
        >>> known = reference_values()
        >>> known.card["groups"]["people"]["title"]
        'people'
        >>> known.why_not("length", "length|v0") is None
        False
    """

    def __init__(self, table: pl.DataFrame, card: Mapping[str, Any]) -> None:
        self.table = table
        self.card = card

    @cached_property
    def _probabilities(self) -> Floats:
        return np.asarray(self.card["probabilities"], dtype=np.float64)

    @cached_property
    def signatures(self) -> dict[str, str]:
        """How each metric was computed for the table."""
        return dict(self.table.select("metric", "signature").unique().iter_rows())

    @cached_property
    def _rows(self) -> dict[tuple[str, str, str], list[Distribution]]:
        made: dict[tuple[str, str, str], list[Distribution]] = {}
        every = self.table["quantiles"].explode(empty_as_null=False).to_numpy().astype(np.float64)
        ends = np.cumsum(self.table["quantiles"].list.len().to_numpy())
        quantiles = np.split(significant(every), ends[:-1])
        rows = self.table.drop("quantiles").iter_rows(named=True)
        for row, own in zip(rows, quantiles, strict=False):  # of no rows there is one empty part
            known = Distribution(
                own,
                self._probabilities,
                row["n"],
                row["least_words"] or 0,
                row["most_words"],
            )
            key = (row["metric"], row["level"], row["group"])
            whole = row["band"] == ALL
            # The distribution over all lengths comes first, the bands after it from short to long.
            made.setdefault(key, []).insert(0 if whole else len(made.get(key, [])), known)
        return made

    def fitting(self, signatures: Mapping[str, str]) -> "References":
        """Only the rows that were computed as a run's metrics were, where there are such rows.

        Metrics of models are in the table for the sizes that ship.
        """
        run = pl.DataFrame(
            {"metric": list(signatures), "run": list(signatures.values())},
            schema={"metric": pl.String, "run": pl.String},
        )
        table = self.table.join(run, on="metric", how="left", maintain_order="left")
        names = {*self.table["signature"], *signatures.values()}
        alike = {name: without_arithmetic(name) for name in names}
        asked = pl.col("run").replace(alike)
        same = (pl.col("signature").replace(alike) == asked).fill_null(value=False)
        first = pl.col("signature") == pl.col("signature").first().over("metric")
        return References(
            table.filter(same | (~same.any().over("metric") & first)).drop("run"), self.card
        )

    def why_not(self, metric: str, signature: str) -> str | None:
        """Why a metric that was computed like this cannot be held against the table, if it can't.

        The seed counts for metrics that draw; whatever else a signature names (model, lexicon,
        version) has to be the same, but for the arithmetic: what an agent's values differ by there
        is small beside what people's do.
        """
        known = self.signatures.get(metric)
        if known is None:
            return "there are no reference values for this metric"
        if without_arithmetic(known) != without_arithmetic(signature):
            return (
                f"the reference values were computed otherwise ({known}, here {signature}); they "
                "hold for the default models and lexicons"
            )
        return None

    def distributions(self, metric: str, level: str, group: str) -> list[Distribution]:
        """All lengths first, then bands of length from short to long; empty where unknown."""
        return self._rows.get((metric, level, group), [])


def bands_of(distributions: Sequence[Distribution], words: Floats) -> Ints:
    """Which of `References.distributions` each unit is held against, from the words it has.

    The band that its number of words lies in, or the nearest; all lengths together, which is the
    first, where there are no bands because length does not matter to the metric.
    """
    if len(distributions) < 2:
        return np.zeros(len(words), dtype=np.int64)
    starts = np.array([each.least_words for each in distributions[1:]])
    return np.maximum(np.searchsorted(starts, words, "right"), 1).astype(np.int64)


def significant(values: Floats) -> Floats:
    """Numbers rounded to the digits of the table.

    Examples:
        >>> [float(number) for number in significant(np.array([1 / 3, 0, -1234.56]))]
        [0.3333, 0.0, -1235.0]
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        size = np.where(values == 0, 0.0, np.floor(np.log10(np.abs(values))))
    size = np.where(np.isfinite(size), size, 0.0)
    factor = 10.0 ** (DIGITS - 1 - size)
    rounded: Floats = np.round(values * factor) / factor
    return rounded


@cache
def reference_values() -> References:
    """The reference values that ship, with their card.

    Examples:
        >>> [source["licence"] for source in reference_values().card["sources"]][-2]
        'CC BY 4.0'
    """
    place = files("dialens.metrics") / "reference"
    with (place / "quantiles.parquet").open("rb") as file:
        table = pl.read_parquet(file)
    return References(table, json.loads((place / "card.json").read_text(encoding="utf-8")))
