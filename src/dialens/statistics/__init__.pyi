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
from ._profile_verdicts import (
    Difference,
    DifferenceVerdict,
    Matching,
    Movement,
    Stability,
    StabilityVerdict,
    beyond_chance,
    difference_verdict,
    matches_its_own,
    matching_verdict,
    movement_verdict,
    stability_verdict,
    wholes,
)
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
    "Difference",
    "DifferenceVerdict",
    "Floats",
    "Ints",
    "Matching",
    "Memory",
    "MixedFit",
    "Movement",
    "Resampled",
    "Stability",
    "StabilityVerdict",
    "beyond_chance",
    "cluster_sums",
    "coarsened",
    "difference_verdict",
    "fit_mixed",
    "increment",
    "left_out_sums",
    "load_ratings",
    "matches_its_own",
    "matching_verdict",
    "measure_agreement",
    "movement_verdict",
    "power_curve",
    "rated_items",
    "resampled_sums",
    "stability_verdict",
    "standouts",
    "wholes",
]
