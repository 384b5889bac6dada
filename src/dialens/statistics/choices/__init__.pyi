from ._covariates import FIRST, PairFit, fit_pair_covariates
from ._fit import ABILITIES, DIFFERENCES, ChoiceFit
from ._models import fit_bradley_terry, fit_plackett_luce, pairs_shown
from ._ranks import holm, rank_intervals
from ._scores import (
    SCORES,
    WIN_MATRIX,
    best_worst_scores,
    clustered_share,
    win_matrix,
    win_shares,
)
from ._stages import groups_of

__all__ = [
    "ABILITIES",
    "DIFFERENCES",
    "FIRST",
    "SCORES",
    "WIN_MATRIX",
    "ChoiceFit",
    "PairFit",
    "best_worst_scores",
    "clustered_share",
    "fit_bradley_terry",
    "fit_pair_covariates",
    "fit_plackett_luce",
    "groups_of",
    "holm",
    "pairs_shown",
    "rank_intervals",
    "win_matrix",
    "win_shares",
]
