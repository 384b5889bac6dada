from ._bootstrap import (
    Floats,
    Ints,
    Resampled,
    cluster_sums,
    coarsened,
    left_out_sums,
    resampled_sums,
)
from ._incremental import FOLDS, Memory, increment
from ._ratings import ITEM, LABEL, load_ratings, rated_items
from ._standouts import AgentValue, standouts
from .agreement import Agreement, measure_agreement
from .mixed import MixedFit, fit_mixed
from .power import power_curve

__all__ = [
    "FOLDS",
    "ITEM",
    "LABEL",
    "AgentValue",
    "Agreement",
    "Floats",
    "Ints",
    "Memory",
    "MixedFit",
    "Resampled",
    "cluster_sums",
    "coarsened",
    "fit_mixed",
    "increment",
    "left_out_sums",
    "load_ratings",
    "measure_agreement",
    "power_curve",
    "rated_items",
    "resampled_sums",
    "standouts",
]
