from ._bootstrap import (
    Floats,
    Ints,
    Resampled,
    cluster_sums,
    coarsened,
    left_out_sums,
    resampled_sums,
)
from ._few_units import BOOTSTRAP, FEW, FEWEST, TOO_FEW, T, few_units_note, jackknife_t, units
from ._incremental import FOLDS, Memory, increment
from ._ratings import ITEM, LABEL, load_ratings, rated_items
from .agreement import Agreement, measure_agreement
from .mixed import MixedFit, fit_mixed
from .power import power_curve

__all__ = [
    "BOOTSTRAP",
    "FEW",
    "FEWEST",
    "FOLDS",
    "ITEM",
    "LABEL",
    "TOO_FEW",
    "Agreement",
    "Floats",
    "Ints",
    "Memory",
    "MixedFit",
    "Resampled",
    "T",
    "cluster_sums",
    "coarsened",
    "few_units_note",
    "fit_mixed",
    "increment",
    "jackknife_t",
    "left_out_sums",
    "load_ratings",
    "measure_agreement",
    "power_curve",
    "rated_items",
    "resampled_sums",
    "units",
]
