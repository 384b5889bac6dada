"""How far raters agree, with an interval on every number, whatever the table looks like.

`measure_agreement` does a whole table of ratings. The statistics by themselves take a
`RatingMatrix`, items × raters with holes:

    table = RatingMatrix.of_array([[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, np.nan]])
    icc(table)["ICC(2,k)"].value
    krippendorff_alpha(table, "ordinal")
"""

from dialens.statistics.agreement._categories import ValueCounts
from dialens.statistics.agreement._matrix import RatingMatrix


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


def percent_agreement(table: RatingMatrix) -> float:
    """The share of pairs of ratings of an item that are the same, averaged over items.

    Examples:
        >>> percent_agreement(RatingMatrix.of_array([[1, 1, 1], [2, 2, 1]]))
        0.6666666666666666
    """
    return float(ValueCounts.of(table).of_all(["percent_agreement"])["percent_agreement"][0])


def gwet_ac(table: RatingMatrix, weights: str = "none") -> float:
    """Gwet's AC1, or with weights AC2.

    Args:
        table: The ratings; raters need not be known.
        weights: `none`, `ordinal`, `linear` or `quadratic`.

    Examples:
        >>> said = RatingMatrix.of_array([[1, 1, 1], [1, 1, 1], [1, 1, 1], [1, 1, 2]])
        >>> round(gwet_ac(said), 3), round(fleiss_kappa(said), 3)
        (0.803, -0.091)
    """
    name = "gwet_ac1" if weights == "none" else f"gwet_ac2_{weights}"
    return float(ValueCounts.of(table).of_all([name])[name][0])
