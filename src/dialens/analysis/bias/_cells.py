"""Means of a study's cells, drawn anew participant by participant.

The unit is the participant: each brings the mean of his or her ratings in a cell, and whole
participants are drawn with replacement within their condition. Every mean, difference and ratio
is a function of the same draws, so that intervals of related numbers belong together.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import polars as pl

from dialens.analysis.bias._data import StudyData
from dialens.base import Estimate
from dialens.statistics import ClusterDraws, Floats, Ints, Resampled


@dataclass(frozen=True)
class Resampling:
    """How participants are drawn with replacement.

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
        strata: For each participant, which condition he or she belongs to; drawn within these.
        draws: How participants are drawn.
    """

    cells: pl.DataFrame
    qualities: tuple[str, ...]
    means: Floats
    strata: Ints
    draws: Resampling

    @classmethod
    def of(
        cls,
        data: StudyData,
        factors: Sequence[str],
        *,
        groups: pl.DataFrame | None = None,
        draws: Resampling = USUAL,
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
        _, strata = np.unique(present, axis=0, return_inverse=True)
        return cls(cells, tuple(qualities), means, strata.ravel().astype(np.int64), draws)

    @cached_property
    def point(self) -> Floats:
        """Cells × qualities."""
        whole: Floats = self._weighted(np.ones((1, len(self.means))))[0]
        return whole

    @cached_property
    def replicates(self) -> Floats:
        """Resamples × cells × qualities."""
        return self._weighted(participant_draws(self.strata, self.draws).counts.astype(np.float64))

    @cached_property
    def left_out(self) -> Floats:
        """One participant left out at a time."""
        return self._weighted(1.0 - np.eye(len(self.means)))

    @cached_property
    def counts(self) -> Ints:
        """Participants of each cell."""
        present: Ints = (~np.isnan(self.means).all(axis=2)).sum(axis=0).astype(np.int64)
        return present

    def interval(
        self,
        of: Callable[[Floats], Floats],
        *,
        cells: Sequence[int] | None = None,
    ) -> Estimate:
        """A function of the cells' means with its interval.

        Args:
            of: Takes means (… × cells × qualities), gives one number each (…).
            cells: Cells the function rests on; each needs at least two participants.
        """
        with np.errstate(invalid="ignore", divide="ignore"):
            value = float(of(self.point[None])[0])
            if not np.isfinite(value):
                return Estimate(reason="a condition it needs has no ratings of this quality")
            if cells is not None and min(self.counts[list(cells)]) < 2:
                return Estimate(value, reason="no interval: a condition has one participant only")
            drawn = of(self.replicates)
            left = of(self.left_out)
        left = left[np.isfinite(left)]
        drawn = np.where(np.isfinite(drawn), drawn, np.nan)
        return Resampled(value, drawn, left.mean() - left).summary(self.draws.confidence)

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


def contrast_weights(
    cells: pl.DataFrame, factor: str, above: Sequence[str], below: Sequence[str]
) -> Floats | None:
    """Weights of `above` minus `below`, averaged evenly over the other factors.

    Only combinations of the other factors in which both sides occur count; None if there is none.

    Examples:
        >>> cells = pl.DataFrame({"anchor": ["none", "both"] * 2, "layout": ["a", "a", "b", "b"]})
        >>> contrast_weights(cells, "anchor", ["both"], ["none"]).tolist()
        [-0.5, 0.5, -0.5, 0.5]
    """
    if factor not in cells.columns:
        return None
    others = [name for name in cells.columns if name != factor]
    numbered = cells.with_row_index("cell").with_columns(
        key=pl.concat_str([pl.lit(""), *others], separator="\x1f")
    )
    total = np.zeros(cells.height)
    usable = 0
    for _, part in numbered.group_by("key", maintain_order=True):
        up = part.filter(pl.col(factor).is_in(list(above)))["cell"].to_numpy()
        down = part.filter(pl.col(factor).is_in(list(below)))["cell"].to_numpy()
        if len(up) and len(down):
            total[up] += 1 / len(up)
            total[down] -= 1 / len(down)
            usable += 1
    return total / usable if usable else None
