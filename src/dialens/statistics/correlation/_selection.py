"""The best of many: how strong is the winner where it was not chosen?"""

import numpy as np

from dialens.statistics._bootstrap import ClusterDraws, Floats, Ints
from dialens.statistics.correlation._correlation import pearson_replicates, standard_scores

SPLITS = 200


def chosen_elsewhere(
    x: Floats, y: Floats, clusters: Ints, *, seed: int = 0, splits: int = SPLITS
) -> float | None:
    """The coefficient of the strongest of many columns on units that did not choose it.

    The largest of many coefficients is too large: chance chose it, too. So clusters are split into
    halves many times; the column that is strongest in one half, with the sign it has there, is
    measured in the other, and the mean over all splits is given. None where nothing can be split.

    Args:
        x: Units × columns; NaN where missing.
        y: The same units.
        clusters: Of each unit; clusters stay whole.
        seed: Random seed of the splits.
        splits: How many.

    Examples:
        >>> rng = np.random.default_rng(0)
        >>> x, y = rng.normal(size=(100, 30)), rng.normal(size=100)
        >>> largest = max(abs(float(np.corrcoef(column, y)[0, 1])) for column in x.T)
        >>> round(largest, 2), abs(chosen_elsewhere(x, y, np.arange(100))) < 0.1
        (0.2, True)
    """
    names, place = np.unique(clusters, return_inverse=True)
    if len(names) < 4:
        return None
    rng = np.random.default_rng(seed)
    half = (np.arange(len(names)) < len(names) // 2).astype(np.uint16)
    one = rng.permuted(np.tile(half, (splits, 1)), axis=1)
    halves = [ClusterDraws(place.astype(np.int64), counts, own=False) for counts in (one, 1 - one)]
    r = np.full((2, splits, x.shape[1]), np.nan)
    missing = np.isfinite(x) & np.isfinite(y)[:, None]
    patterns, pattern = np.unique(missing, axis=1, return_inverse=True)
    for number, present in enumerate(patterns.T):
        columns = np.flatnonzero(pattern.ravel() == number)
        if present.sum() < 4:
            continue
        a, b = standard_scores(x[present][:, columns]), standard_scores(y[present][:, None])
        for side, draws in enumerate(halves):
            r[side][:, columns] = pearson_replicates(a, b, present, draws)[:, :, 0]
    strength = np.where(np.isfinite(r).all(axis=0), np.abs(r[0]), -1.0)
    best = strength.argmax(axis=1)
    rows = np.arange(splits)
    known = strength[rows, best] >= 0
    if known.mean() < 0.5:
        return None
    held = np.sign(r[0][rows, best]) * r[1][rows, best]
    return float(held[known].mean())
