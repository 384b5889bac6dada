from ._bootstrap import (
    MOST_UNDEFINED,
    ClusterDraws,
    Floats,
    Ints,
    Mask,
    Resampled,
    cluster_sums,
    coarsened,
    left_out_sums,
    resampled_sums,
)
from ._corrections import corrected
from ._incremental import FOLDS, Memory, increment
from ._ratings import ITEM, LABEL, load_ratings, rated_items
from .agreement import Agreement, measure_agreement
from .mixed import MixedFit, fit_mixed
from .power import power_curve

__all__ = [
    "FOLDS",
    "ITEM",
    "LABEL",
    "MOST_UNDEFINED",
    "Agreement",
    "ClusterDraws",
    "Floats",
    "Ints",
    "Mask",
    "Memory",
    "MixedFit",
    "Resampled",
    "cluster_sums",
    "coarsened",
    "corrected",
    "fit_mixed",
    "increment",
    "left_out_sums",
    "load_ratings",
    "measure_agreement",
    "power_curve",
    "rated_items",
    "resampled_sums",
]
