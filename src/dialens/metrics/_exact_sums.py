"""Sums that come out the same to the last bit, whatever the order and the batches they are made in.

A number is cut into multiples of 2⁻²⁰, 2⁻⁴⁶ and 2⁻⁷². Each of the three adds up without rounding,
the first up to 2³³, the others for a hundred million numbers; a sum is rounded only when the three
are added at the end. Less than 2⁻⁷² is lost of a number, nothing of one above 2⁻²⁰.
"""

import numpy as np

from dialens.metrics._batch import Ints, group_sums
from dialens.metrics._state import Floats

PIECES = 3
_CUTS = (1.5 * 2.0**32, 1.5 * 2.0**6, 1.5 * 2.0**-20)
"""A number that is added to one of these, which is then taken away, is left as a multiple of 2⁻²⁰,
2⁻⁴⁶ or 2⁻⁷²: floats of that size have no finer ones."""


def exact_sums(rows: Floats, groups: Ints, count: int) -> Floats:
    """Sums of rows by group, for `count` groups, in pieces: the first of all columns, and so on.

    Sums in pieces may be added to each other; `whole` makes numbers of them.

    Examples:
        >>> rows = np.array([[0.1], [0.2], [0.3]])
        >>> whole(exact_sums(rows, np.array([0, 0, 0]), 1)).tolist(), sum([0.1, 0.2, 0.3])
        ([[0.6]], 0.6000000000000001)
    """
    width = rows.shape[1]
    sums = np.zeros((count, PIECES * width))
    left = rows
    for number, cut in enumerate(_CUTS):
        piece = left + cut
        piece -= cut
        sums[:, number * width : (number + 1) * width] = group_sums(piece, groups, count)
        left = left - piece
        if not left.any():  # counts and weights are multiples of 2⁻²⁰ already
            break
    return sums


def whole(sums: Floats) -> Floats:
    """Numbers from sums in pieces."""
    first, second, third = np.split(sums, PIECES, axis=1)
    added: Floats = first + (second + third)
    return added
