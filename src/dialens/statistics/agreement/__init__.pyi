from ._battery import STATISTICS
from ._coefficients import fleiss_kappa, gwet_ac, krippendorff_alpha, percent_agreement
from ._components import two_way_moments
from ._difference import AgreementDifference, agreement_difference
from ._disagreeing import disagreeing_raters
from ._generalizability import (
    COMPONENTS,
    DECISIONS,
    GeneralizabilityStudy,
    generalizability,
)
from ._group_differences import GROUP_DIFFERENCES
from ._groups import analysed_ratings
from ._intraclass import FORMS, Icc, icc, icc_replicates, variance_parts, why_not
from ._jackknife import spreads
from ._magnitudes import log_normalised, not_positive
from ._matrix import RatingMatrix, Weights
from ._measure import AGREEMENT, Agreement, measure_agreement
from ._pairs import cohen_kappa, kendall_w, ranked
from ._pairwise import PAIRS
from ._panel import TARGETS, raters_needed
from ._per_category import CATEGORIES
from ._resampling import RESAMPLES, intervals
from ._retest import ICC, SAME, Occasions

__all__ = [
    "AGREEMENT",
    "CATEGORIES",
    "COMPONENTS",
    "DECISIONS",
    "FORMS",
    "GROUP_DIFFERENCES",
    "ICC",
    "PAIRS",
    "RESAMPLES",
    "SAME",
    "STATISTICS",
    "TARGETS",
    "Agreement",
    "AgreementDifference",
    "GeneralizabilityStudy",
    "Icc",
    "Occasions",
    "RatingMatrix",
    "Weights",
    "agreement_difference",
    "analysed_ratings",
    "cohen_kappa",
    "disagreeing_raters",
    "fleiss_kappa",
    "generalizability",
    "gwet_ac",
    "icc",
    "icc_replicates",
    "intervals",
    "kendall_w",
    "krippendorff_alpha",
    "log_normalised",
    "measure_agreement",
    "not_positive",
    "percent_agreement",
    "ranked",
    "raters_needed",
    "spreads",
    "two_way_moments",
    "variance_parts",
    "why_not",
]
