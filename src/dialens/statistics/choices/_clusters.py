"""Errors that allow for raters and items at once.

Choices of one person go together, and so do choices about one item: the variance of an estimate is
that between raters plus that between items minus that between cells, which was counted twice
(Cameron, Gelbach & Miller 2011). Each is a jackknife: what leaving out a cluster would change, in
one step of Newton's method (better than the usual sandwich where clusters are unequal; Bell &
McCaffrey 2002). If people and items are samples, the variance cannot be smaller than that of
independent choices, which is therefore the floor. t has degrees of freedom after Satterthwaite
(1946); clusters that carry little of what is estimated count for little (Carter, Schnepel &
Steigerwald 2017).
"""

from dataclasses import dataclass

import numpy as np
import polars as pl
from scipy import sparse, special

from dialens.base import Estimate
from dialens.statistics._bootstrap import Floats, Ints

_MOST_JACKKNIFED = 200  # clusters; with more of them the sandwich is the same
_MOST_NUMBERS = 20_000_000  # of the information of all clusters, cluster by cluster
_FEWEST = 2.5  # effective clusters: of two that differ, 12 % of the nulls have p < .05


@dataclass(frozen=True)
class Pulls:
    """How choices pull at an estimate.

    Attributes:
        score: Stages × parameters: derivative of the log-likelihood of each.
        information: Stages × parameters × parameters: the information of each.
        counts: Choices × stages: how often each choice has each of them.
        independent: Covariance of the estimate if choices were independent.
    """

    score: Floats
    information: Floats
    counts: sparse.csr_array
    independent: Floats


@dataclass(frozen=True)
class Spread:
    """The covariance of estimates over clusters of one kind.

    Attributes:
        covariance: Parameters × parameters.
        clusters: How many clusters.
        parts: Clusters × parameters × parameters: the information of each; None if very many.
    """

    covariance: Floats
    clusters: int
    parts: Floats | None

    def effective(self, weights: Floats) -> float:
        """How many equal clusters would carry as much of a combination of parameters."""
        if self.parts is None:
            return float(self.clusters)
        toward = np.linalg.solve(self.parts.sum(axis=0), weights)
        carried = np.einsum("gij,i,j->g", self.parts, toward, toward)
        return float(carried.sum() ** 2 / np.square(carried).sum())


@dataclass(frozen=True)
class ClusteredErrors:
    """Variances of linear combinations of estimates, over raters and items.

    Attributes:
        independent: Covariance if choices were independent.
        kinds: Covariances over raters and over items, as far as these group choices.
        cells: Covariance over cells of rater and item; None if nothing is known of either.
    """

    independent: Floats
    kinds: dict[str, Spread]
    cells: Spread | None

    @classmethod
    def of(cls, pulls: Pulls, clusters: dict[str, Ints]) -> "ClusteredErrors":
        """From the pulls of choices, and for each kind of cluster the number of each choice's."""
        if not clusters:
            return cls(pulls.independent, {}, None)
        places = [np.unique(place, return_inverse=True)[1] for place in clusters.values()]
        cells = np.arange(pulls.counts.shape[0])
        if len(places) > 1:
            cells = np.unique(np.stack(places), axis=1, return_inverse=True)[1].ravel()
        whole = int(cells.max()) + 1
        kinds = {
            kind: _spread(pulls, place)
            for kind, place in zip(clusters, places, strict=True)
            if 0 < int(place.max()) < whole - 1
        }
        return cls(pulls.independent, kinds, _spread(pulls, cells))

    def variance(self, weights: Floats) -> tuple[float, float]:
        """Variance of a linear combination and its degrees of freedom."""
        floor = _form(self.independent, weights)
        if self.cells is None or self.cells.clusters < 2:
            return floor, np.inf
        within = _form(self.cells.covariance, weights)
        between = {kind: _form(spread.covariance, weights) for kind, spread in self.kinds.items()}
        sizes = {kind: spread.effective(weights) for kind, spread in self.kinds.items()}
        variance = max(within + sum(v - within for v in between.values()), floor)
        uncertain = within**2 / (self.cells.clusters - 1) + sum(
            v**2 / max(sizes[kind] - 1, 0.5) for kind, v in between.items() if v > within
        )
        fewest = min([*sizes.values(), float(self.cells.clusters)]) - 1
        return variance, max(variance**2 / uncertain if uncertain > 0 else np.inf, fewest)

    def estimate(
        self, weights: Floats, value: float, *, confidence: float, n: int | None = None
    ) -> Estimate:
        """A linear combination with interval and the p-value of its being zero."""
        for kind, spread in self.kinds.items():
            if spread.effective(weights) < _FEWEST:
                return Estimate(value, n=n, reason=f"fewer than three {kind}s")
        if self.cells is not None and self.cells.clusters < 2:
            return Estimate(value, n=n, reason="rests on one choice alone")
        variance, degrees = self.variance(weights)
        error = float(np.sqrt(variance))
        reach = float(special.stdtrit(degrees, (1 + confidence) / 2)) * error
        p = 2 * float(special.stdtr(degrees, -abs(value) / error))
        return Estimate(value, value - reach, value + reach, p, n=n)

    def beyond(self, kind: str, weights: Floats) -> float:
        """Variance between clusters of a kind, beyond what chance within them makes."""
        if self.cells is None or kind not in self.kinds:
            return 0.0
        spread = self.kinds[kind]
        excess = _form(spread.covariance, weights) - _form(self.cells.covariance, weights)
        return max(excess, 0.0) * spread.clusters


def _form(covariance: Floats, weights: Floats) -> float:
    return float(weights @ covariance @ weights)


def _spread(pulls: Pulls, clusters: Ints) -> Spread:
    """Jackknife over clusters, the sandwich if there are very many of them."""
    count = int(clusters.max()) + 1
    shape = (count, len(clusters))
    member = sparse.csr_array((np.ones(len(clusters)), (clusters, np.arange(len(clusters)))), shape)
    held = member @ pulls.counts
    scores = np.asarray(held @ pulls.score)
    stages, parameters = pulls.score.shape
    flat = pulls.information.reshape(stages, parameters**2)
    total = (held.sum(axis=0) @ flat).reshape(parameters, parameters)
    parts = None
    if count * parameters**2 <= _MOST_NUMBERS:
        parts = np.asarray(held @ flat).reshape(count, parameters, parameters)
    if parts is None or count > _MOST_JACKKNIFED:
        moved = scores @ np.linalg.inv(total)
        return Spread(moved.T @ moved * count / (count - 1), count, parts)
    # Without the only cluster that has a candidate nothing is known of it: the pseudo-inverse
    # leaves it where it is, and `estimate` refuses.
    left = np.linalg.pinv(total - parts, rcond=1e-8, hermitian=True)
    moved = np.einsum("gij,gj->gi", left, scores)
    return Spread(moved.T @ moved * max(count - 1, 1) / count, count, parts)


def clusters_of(names: pl.Series) -> Ints:
    """A number for each cluster; what has no name is a cluster of its own."""
    own = pl.Series([f"\0{row}" for row in range(len(names))])
    return names.cast(pl.String).fill_null(own).rank("dense").to_numpy().astype(np.int64) - 1
