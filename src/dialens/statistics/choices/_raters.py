"""Whether raters differ in what they prefer."""

import numpy as np
import polars as pl

from dialens.statistics._bootstrap import Floats, Ints
from dialens.statistics.choices._clusters import clusters_of

_PERMUTATIONS = 999


def raters_differ(
    shown: pl.DataFrame, scores: Floats, metric: Floats, *, seed: int
) -> float | None:
    """The p-value of raters having the same preferences, by permutation.

    Raters are exchanged among the choices about the same candidates and item, where it should not
    matter who chose.

    Args:
        shown: The choices, one row a candidate that was shown.
        scores: How each choice pulls at the abilities.
        metric: The inverse information, in which the pulls of raters are measured.
        seed: Random seed.

    Returns:
        None if no two people chose about the same candidates and item.
    """
    table = (
        shown.sort("choice", "candidate")
        .group_by("choice", maintain_order=True)
        .agg(pl.first("rater", "item"), pl.col("candidate").str.join("\n"))
    )
    numbered = table.select(pl.struct("item", "candidate").rank("dense")).to_series().to_numpy()
    order = np.argsort(numbered, kind="stable")
    stratum, place, pulls = numbered[order], clusters_of(table["rater"])[order], scores[order]
    rng = np.random.default_rng(seed)
    observed = _between(pulls, place, metric)
    shuffled = np.array(
        [
            _between(pulls, place[np.lexsort((rng.random(len(stratum)), stratum))], metric)
            for _ in range(_PERMUTATIONS)
        ]
    )
    if np.ptp(shuffled) <= 1e-9 * observed:
        return None
    return float((1 + np.count_nonzero(shuffled >= observed * (1 - 1e-9))) / (_PERMUTATIONS + 1))


def _between(scores: Floats, place: Ints, metric: Floats) -> float:
    """How far the pulls of raters lie from zero, all together."""
    sums = np.zeros((int(place.max()) + 1, scores.shape[1]))
    np.add.at(sums, place, scores)
    return float(np.einsum("gi,ij,gj->", sums, metric, sums))
