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
    percentile_estimate,
    resampled_sums,
)
from ._coefficients import (
    area_under_curve,
    partial_pearson,
    pearson,
    ranks,
    spearman,
    spearman_rows,
)
from ._corrections import TESTED, corrected
from ._few_units import FEWEST, jackknife_t
from ._incremental import FOLDS, Memory, increment
from ._jackknife import Jackknife, TInference, hedges_g, skewed_t
from ._ratings import ITEM, LABEL, load_ratings, parsed_scale, rated_items
from ._sequential import gains, mixture_size, sequence_reach
from ._standouts import AgentValue, standouts
from .agreement import Agreement, measure_agreement
from .mixed import LatentFit, MixedFit, fit_binomial, fit_mixed, fit_ordinal
from .power import power_curve

__all__ = [
    "FEWEST",
    "FOLDS",
    "ITEM",
    "LABEL",
    "MOST_UNDEFINED",
    "TESTED",
    "AgentValue",
    "Agreement",
    "ClusterDraws",
    "Floats",
    "Ints",
    "Jackknife",
    "LatentFit",
    "Mask",
    "Memory",
    "MixedFit",
    "Resampled",
    "TInference",
    "area_under_curve",
    "cluster_sums",
    "coarsened",
    "corrected",
    "fit_binomial",
    "fit_mixed",
    "fit_ordinal",
    "gains",
    "hedges_g",
    "increment",
    "jackknife_t",
    "left_out_sums",
    "load_ratings",
    "measure_agreement",
    "mixture_size",
    "parsed_scale",
    "partial_pearson",
    "pearson",
    "percentile_estimate",
    "power_curve",
    "ranks",
    "rated_items",
    "resampled_sums",
    "sequence_reach",
    "skewed_t",
    "spearman",
    "spearman_rows",
    "standouts",
]
