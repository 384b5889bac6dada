"""Means of a study's cells, with Student's t over participants.

The unit is the participant: each brings the mean of his or her ratings in a cell. Intervals are
those of t on the jackknife, conditions with a variance of their own (Welch), which hold with five
participants in a condition, where a bootstrap is too narrow.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

import numpy as np
import polars as pl

from dialens.analysis.bias._data import StudyData
from dialens.base import Estimate
from dialens.statistics import ClusterDraws, Floats, Ints, jackknife_t

FEWEST_RATERS: Final = 5
"""With fewer participants in a condition, a number gets no interval and no test."""
TOO_FEW_RATERS: Final = f"no interval: a condition has fewer than {FEWEST_RATERS} participants"


@dataclass(frozen=True)
class Resampling:
    """How units are drawn with replacement, where they are, and the level of all intervals.

    Attributes:
        resamples: How many times.
        seed: Random seed.
        confidence: Confidence level of the intervals.
    """

    resamples: int = 2_000
    seed: int = 0
    confidence: float = 0.95


USUAL = Resampling()


@dataclass(frozen=True)
class CellMeans:
    """Participants' means in each cell and quality.

    Attributes:
        cells: One row a cell, one column a factor.
        qualities: Names.
        means: Participants × cells × qualities; NaN where a participant was not there.
        strata: For each participant, which condition he or she belongs to.
        confidence: Confidence level of the intervals.
    """

    cells: pl.DataFrame
    qualities: tuple[str, ...]
    means: Floats
    strata: Ints
    confidence: float

    @classmethod
    def of(
        cls,
        data: StudyData,
        factors: Sequence[str],
        *,
        groups: pl.DataFrame | None = None,
        confidence: float = 0.95,
    ) -> "CellMeans":
        """Cells by factors, and by a grouping of raters (`rater`, `group`) if one is given."""
        table = data.ratings
        names = list(factors)
        if groups is not None:
            table = table.join(groups, on="rater", how="inner", maintain_order="left")
            names = [*names, "group"]
        table = table.drop_nulls(names) if names else table.with_columns(everyone=pl.lit("all"))
        names = names or ["everyone"]
        cells = table.select(names).unique()
        orders = [{level: at for at, level in enumerate(data.levels(name))} for name in factors]
        rows = sorted(
            cells.iter_rows(),
            key=lambda row: [*(o[v] for o, v in zip(orders, row, strict=False)), *row],
        )
        cells = pl.DataFrame(rows, schema=dict.fromkeys(names, pl.String), orient="row")
        per = table.group_by("rater", "quality", *names).agg(pl.col("value").mean())
        raters = table["rater"].unique(maintain_order=True)
        qualities = data.qualities
        means = np.full((len(raters), cells.height, len(qualities)), np.nan)
        place = {rater: at for at, rater in enumerate(raters)}
        spot = {row: at for at, row in enumerate(cells.iter_rows())}
        column = {quality: at for at, quality in enumerate(qualities)}
        for rater, quality, *cell, value in per.iter_rows():
            means[place[rater], spot[tuple(cell)], column[quality]] = value
        present = ~np.isnan(means).all(axis=2)
        strata, sizes = np.unique(present, axis=0, return_inverse=True, return_counts=True)[1:]
        if sizes.min() < FEWEST_RATERS:  # too few for a variance of their own: all together
            strata = np.zeros_like(strata)
        return cls(cells, tuple(qualities), means, strata.ravel().astype(np.int64), confidence)

    @cached_property
    def point(self) -> Floats:
        """Cells × qualities."""
        whole: Floats = self._weighted(np.ones((1, len(self.means))))[0]
        return whole

    @cached_property
    def left_out(self) -> Floats:
        """One participant left out at a time."""
        return self._weighted(1.0 - np.eye(len(self.means)))

    @cached_property
    def counts(self) -> Ints:
        """Participants of each cell."""
        present: Ints = (~np.isnan(self.means).all(axis=2)).sum(axis=0).astype(np.int64)
        return present

    def raters_in(self, cells: Sequence[int] | Ints) -> int:
        """Participants of these cells, each once, in however many of them he or she was."""
        return int((~np.isnan(self.means[:, list(cells)]).all(axis=(1, 2))).sum())

    def interval(
        self,
        of: Callable[[Floats], Floats],
        *,
        cells: Sequence[int],
    ) -> Estimate:
        """A function of the cells' means with its interval.

        Args:
            of: Takes means (… × cells × qualities), gives one number each (…).
            cells: Cells the function rests on; each needs enough participants.
        """
        with np.errstate(invalid="ignore", divide="ignore"):
            value = float(of(self.point[None])[0])
            if not np.isfinite(value):
                return Estimate(reason="a condition it needs has no ratings of this quality")
            if min(self.counts[list(cells)]) < FEWEST_RATERS:
                return Estimate(value, reason=TOO_FEW_RATERS)
            left = of(self.left_out)
        there = ~np.isnan(self.means[:, list(cells)]).all(axis=(1, 2))
        if not np.isfinite(left[there]).all():
            return Estimate(value, reason="no interval: a quality rests on one participant only")
        groups = [left[there & (self.strata == stratum)] for stratum in np.unique(self.strata)]
        sides = [group.mean() - group for group in groups if len(group)]
        ends = jackknife_t(value, 0.0, sides, confidence=self.confidence)
        low, high, p = (float(end) for end in ends)
        if low == high:
            return Estimate(value, reason="no interval: participants do not differ")
        return Estimate(value, low, high, p)

    def mean(self, cell: int, quality: int | None) -> Estimate:
        """The mean of one cell; of all qualities together if none is named."""
        mean = self.interval(lambda means: _quality(means, quality)[..., cell], cells=[cell])
        return replace(mean, p=None)

    def _weighted(self, weights: Floats) -> Floats:
        flat = self.means.reshape(len(self.means), -1)
        present = ~np.isnan(flat)
        total = weights @ np.where(present, flat, 0.0)
        count = weights @ present.astype(np.float64)
        with np.errstate(invalid="ignore", divide="ignore"):
            result = np.where(count > 0, total / count, np.nan)
        return np.asarray(result.reshape(len(weights), *self.means.shape[1:]), dtype=np.float64)


def participant_draws(strata: Ints, draws: Resampling) -> ClusterDraws:
    """Participants drawn with replacement within their strata.

    Examples:
        >>> drawn = participant_draws(np.array([0, 0, 1]), Resampling(resamples=2))
        >>> drawn.counts.sum(axis=1).tolist()
        [3, 3]
    """
    return ClusterDraws.within(strata, draws.resamples, np.random.default_rng([draws.seed, 77]))


def _quality(means: Floats, quality: int | None) -> Floats:
    """One quality, or the mean of those that are there."""
    picked = means.mean(axis=-1) if quality is None else means[..., quality]
    return np.asarray(picked, dtype=np.float64)
