"""How far raters agree, with an interval on every number, whatever the table looks like.

`measure_agreement` does a whole table of ratings. The statistics by themselves take a
`RatingMatrix`, items × raters with holes:

    table = RatingMatrix.of_array([[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, np.nan]])
    icc(table)["ICC(2,k)"].value
    krippendorff_alpha(table, "ordinal")
"""

from dialens.stats.agreement.battery import STATISTICS
from dialens.stats.agreement.categories import ValueCounts
from dialens.stats.agreement.disagreeing import RATERS, disagreeing_raters
from dialens.stats.agreement.intraclass import FORMS, Icc, icc, icc_replicates, variance_parts
from dialens.stats.agreement.magnitudes import log_normalised, not_positive
from dialens.stats.agreement.matrix import RatingMatrix, Weights
from dialens.stats.agreement.measure import (
    AGREEMENT,
    Agreement,
    measure_agreement,
)
from dialens.stats.agreement.pairs import cohen_kappa, kendall_w, ranked
from dialens.stats.agreement.panel import PANEL, TARGETS, raters_needed
from dialens.stats.agreement.resampling import RESAMPLES, intervals


def krippendorff_alpha(table: RatingMatrix, level: str) -> float:
    """Krippendorff's alpha; NaN where all ratings are the same.

    Args:
        table: The ratings; raters need not be known.
        level: `nominal`, `ordinal`, `interval` or `ratio`.

    Examples:
        >>> table = RatingMatrix.of_array([[1, 1], [2, 2], [3, 3], [3, 4]])
        >>> round(krippendorff_alpha(table, "nominal"), 4)
        0.6957
    """
    return float(ValueCounts.of(table).alpha(level)[0])


def fleiss_kappa(table: RatingMatrix) -> float:
    """Fleiss' kappa; NaN where all ratings are the same.

    Examples:
        >>> round(fleiss_kappa(RatingMatrix.of_array([[1, 1, 1], [2, 2, 1], [2, 2, 2]])), 4)
        0.55
    """
    return float(ValueCounts.of(table).fleiss_kappa()[0])


__all__ = [
    "AGREEMENT",
    "FORMS",
    "PANEL",
    "RATERS",
    "RESAMPLES",
    "STATISTICS",
    "TARGETS",
    "Agreement",
    "Icc",
    "RatingMatrix",
    "Weights",
    "cohen_kappa",
    "disagreeing_raters",
    "fleiss_kappa",
    "icc",
    "icc_replicates",
    "intervals",
    "kendall_w",
    "krippendorff_alpha",
    "log_normalised",
    "measure_agreement",
    "not_positive",
    "ranked",
    "raters_needed",
    "variance_parts",
]
