from ._bootstrap import ClusterDraws, Floats, Ints, MOST_UNDEFINED, Mask, Resampled, cluster_sums, coarsened, left_out_sums, percentile_estimate, resampled_sums
from ._coefficients import area_under_curve, partial_pearson, pearson, ranks, spearman
from ._corrections import corrected
from ._few_units import BOOTSTRAP, FEW, FEWEST, T, TOO_FEW, few_units_note, jackknife_t, units
from ._incremental import FOLDS, Memory, increment
from ._profile_verdicts import Difference, DifferenceVerdict, Matching, Movement, Stability, StabilityVerdict, beyond_chance, difference_verdict, matches_its_own, matching_verdict, movement_verdict, stability_verdict, wholes
from ._ratings import ITEM, LABEL, load_ratings, rated_items
from ._standouts import AgentValue, standouts
from .agreement import Agreement, measure_agreement
from .mixed import MixedFit, fit_mixed
from .power import power_curve

__all__ = [
    "AgentValue",
    "Agreement",
    "BOOTSTRAP",
    "ClusterDraws",
    "Difference",
    "DifferenceVerdict",
    "FEW",
    "FEWEST",
    "FOLDS",
    "Floats",
    "ITEM",
    "Ints",
    "LABEL",
    "MOST_UNDEFINED",
    "Mask",
    "Matching",
    "Memory",
    "MixedFit",
    "Movement",
    "Resampled",
    "Stability",
    "StabilityVerdict",
    "T",
    "TOO_FEW",
    "area_under_curve",
    "beyond_chance",
    "cluster_sums",
    "coarsened",
    "corrected",
    "difference_verdict",
    "few_units_note",
    "fit_mixed",
    "increment",
    "jackknife_t",
    "left_out_sums",
    "load_ratings",
    "matches_its_own",
    "matching_verdict",
    "measure_agreement",
    "movement_verdict",
    "partial_pearson",
    "pearson",
    "percentile_estimate",
    "power_curve",
    "ranks",
    "rated_items",
    "resampled_sums",
    "spearman",
    "stability_verdict",
    "standouts",
    "units",
    "wholes",
]
