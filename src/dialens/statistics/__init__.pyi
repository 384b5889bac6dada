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
from ._corrections import corrected
from ._few_units import BOOTSTRAP, FEW, FEWEST, TOO_FEW, T, few_units_note, jackknife_t, units
from ._incremental import FOLDS, Memory, increment
from ._ratings import ITEM, LABEL, load_ratings, rated_items
from ._standouts import AgentValue, standouts
from .agreement import Agreement, measure_agreement
from .mixed import LatentFit, MixedFit, fit_binomial, fit_mixed, fit_ordinal
from .power import power_curve

__all__ = [
    "BOOTSTRAP",
    "FEW",
    "FEWEST",
    "FOLDS",
    "ITEM",
    "LABEL",
    "MOST_UNDEFINED",
    "TOO_FEW",
    "AgentValue",
    "Agreement",
    "ClusterDraws",
    "Floats",
    "Ints",
    "LatentFit",
    "Mask",
    "Memory",
    "MixedFit",
    "Resampled",
    "T",
    "area_under_curve",
    "cluster_sums",
    "coarsened",
    "corrected",
    "few_units_note",
    "fit_binomial",
    "fit_mixed",
    "fit_ordinal",
    "increment",
    "jackknife_t",
    "left_out_sums",
    "load_ratings",
    "measure_agreement",
    "partial_pearson",
    "pearson",
    "percentile_estimate",
    "power_curve",
    "ranks",
    "rated_items",
    "resampled_sums",
    "spearman",
    "spearman_rows",
    "standouts",
    "units",
]
