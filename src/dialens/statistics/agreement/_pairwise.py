"""Cohen's kappa of every two raters, and their mean (Light 1971)."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

from dialens.statistics.agreement._jackknife import spreads
from dialens.statistics.agreement._matrix import ONCE, Floats, RatingMatrix, Weights
from dialens.statistics.agreement._pairs import cohen_kappa, why_no_cohen
from dialens.statistics.agreement._rare import rarely_said

MOST_PAIRS = 5_000
_FEWEST_SHARED = 2

PAIRS = pl.Schema(
    {
        "quality": pl.String,
        "group": pl.String,
        "first": pl.String,
        "second": pl.String,
        "n_items": pl.Int64,
        "agreement": pl.Float64,
        "kappa": pl.Float64,
        "low": pl.Float64,
        "high": pl.Float64,
        "reason": pl.String,
    }
)
"""One row a pair of raters who share items: `agreement` is the share of items on which they say
the same, `kappa` is Cohen's with its interval over the items that both judged."""


@dataclass(frozen=True)
class RaterPairs:
    """Two raters at a time, over the items both judged.

    Examples:
        >>> pairs = RaterPairs(RatingMatrix.of_array([[1, 1, 2], [2, 2, 2], [1, 1, 1], [2, 2, 1]]))
        >>> pairs.light_kappa().round(4).tolist()
        [0.3333]
    """

    table: RatingMatrix

    @cached_property
    def places(self) -> list[tuple[int, int]]:
        """Pairs of raters who share at least two items."""
        judged = (~np.isnan(self._cells)).astype(np.float64)
        shared = np.triu(judged.T @ judged, 1)
        first, second = np.nonzero(shared >= _FEWEST_SHARED)
        return list(zip(first.tolist(), second.tolist(), strict=True))

    @cached_property
    def _cells(self) -> Floats:
        return self.table.rectangle()

    @cached_property
    def twos(self) -> list[tuple[RatingMatrix, np.ndarray]]:
        """For each pair, the table of the items both judged, and which items these are."""
        return [self._two(*pair) for pair in self.places]

    def _two(self, first: int, second: int) -> tuple[RatingMatrix, np.ndarray]:
        cells = self._cells[:, [first, second]]
        both = np.asarray(~np.isnan(cells).any(axis=1))
        return RatingMatrix.of_array(cells[both]), both

    def light_kappa(self, weights: Weights = ONCE) -> Floats:
        """The mean of the kappas of all pairs for each resample; undefined ones are left out."""
        total = np.zeros(weights.resamples)
        size = np.zeros(weights.resamples)
        for (first, second), (two, both) in zip(self.places, self.twos, strict=True):
            v = None if weights.items is None else weights.items[both]
            kappa = cohen_kappa(two, "none", Weights(items=v))
            w = weights.raters
            times = np.ones(1) if w is None else w[first] * w[second]
            times = np.where(np.isnan(kappa), 0.0, times)
            total += times * np.nan_to_num(kappa)
            size += times
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(size > 0, total / size, np.nan)

    def why_not(self) -> str | None:
        """Why there is no mean of pairs; None where there is one."""
        if self.table.rater is None:
            return "raters are not known: it is a statistic of pairs of raters"
        if len(self.table.raters) < 2:
            return f"there is only one rater ({self.table.raters[0]}): nobody to agree with"
        if not self.places:
            return "no two raters judged two items in common"
        if len(self.places) > MOST_PAIRS:
            return f"there are {len(self.places):,} pairs of raters, more than {MOST_PAIRS:,}"
        if np.isnan(self.light_kappa()[0]):
            return "all pairs of raters say the same of all items: kappa is not defined"
        return None


def pair_rows(pairs: RaterPairs, confidence: float = 0.95) -> pl.DataFrame:
    """One row a pair of raters: the columns of `PAIRS` without quality and group.

    Examples:
        >>> pairs = RaterPairs(RatingMatrix.of_array([[1, 1, 2], [2, 2, 2], [1, 1, 1], [2, 2, 1]]))
        >>> pair_rows(pairs).select("first", "second", "agreement", "kappa").rows()
        [('0', '1', 1.0, 1.0), ('0', '2', 0.5, 0.0), ('1', '2', 0.5, 0.0)]
    """
    rows = []
    for (first, second), (two, both) in zip(pairs.places, pairs.twos, strict=True):
        reason = why_no_cohen(two, "none")
        row: dict[str, object] = {
            "first": pairs.table.raters[first],
            "second": pairs.table.raters[second],
            "n_items": int(both.sum()),
            "agreement": float(np.mean(np.diff(two.rectangle(), axis=1) == 0)),
            "reason": reason,
        }
        if reason is None:
            row |= _kappa(two, confidence)
        rows.append(row)
    schema = {name: dtype for name, dtype in PAIRS.items() if name not in ("quality", "group")}
    return pl.DataFrame(rows, schema=schema)


def _kappa(two: RatingMatrix, confidence: float) -> dict[str, object]:
    found = spreads(
        lambda weights: {"kappa": cohen_kappa(two, "none", weights)}, len(two.items), 0
    )["kappa"]
    over = found.over("items", confidence)
    rare = rarely_said(two)
    if rare is not None or not over.has_interval:
        return {"kappa": found.estimate, "reason": f"no interval: {rare or over.reason}"}
    return {"kappa": found.estimate, "low": over.low, "high": over.high}
