"""Values so rare that kappa and alpha hang on a handful of items."""

import numpy as np

from dialens.statistics.agreement._matrix import RatingMatrix

FEWEST_RARE = 3
"""Items on which half of the raters depart from the commonest value, at least."""


def rarely_said(table: RatingMatrix) -> str | None:
    """Why no interval of kappa or alpha would hold; None where one does.

    Both measure how well raters find the items that are not like most. A sample that happens to
    hold hardly any such item has a low kappa and too narrow an interval, whatever raters could do.

    Examples:
        >>> rarely_said(RatingMatrix.of_array([[0, 0, 0]] * 20 + [[1, 1, 0]]))
        'only 1 item got another answer than the commonest from half of its raters (3 are needed)'
        >>> rarely_said(RatingMatrix.of_array([[0, 0, 0]] * 9 + [[1, 1, 0]] * 9))
    """
    values, counts = np.unique(table.value, return_counts=True)
    common = values[counts.argmax()]
    other = np.bincount(table.item, table.value != common, minlength=len(table.items))
    departing = int(((table.per_item > 1) & (2 * other >= table.per_item)).sum())
    if departing >= FEWEST_RARE:
        return None
    items, whose = ("item", "its") if departing == 1 else ("items", "their")
    return (
        f"only {departing} {items} got another answer than the commonest from half of {whose} "
        f"raters ({FEWEST_RARE} are needed)"
    )
