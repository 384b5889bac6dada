"""N-grams of up to three words as integers, so that known ones are found by a sorted search."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]

NGRAM_BITS = 21
"""Of a word's number in an n-gram's; numbers begin with 1."""

LONGEST_NGRAM = 3
"""Words of an n-gram that fit into one integer."""


def ngram_keys(numbers: Ints, unit: Ints) -> tuple[Ints, Ints]:
    """Every n-gram of known words as one number, with its unit; none crosses units.

    Args:
        numbers: Of words, one after another; 0 for one that is not known.
        unit: Of each word.

    Returns:
        Single words first, then pairs, then three; within these in the order of the words.

    Examples:
        >>> keys, units = ngram_keys(np.array([5, 7, 0, 9]), np.array([0, 0, 0, 1]))
        >>> [key if key < 2**21 else (key % 2**21, key >> 21) for key in keys.tolist()]
        [5, 7, 9, (5, 7)]
        >>> units.tolist()
        [0, 0, 1, 0]
    """
    known = numbers > 0
    keys, units = [numbers[known]], [unit[known]]
    whole, key = known, numbers
    for n in range(1, LONGEST_NGRAM):
        follows = (unit[n:] == unit[:-n]) & known[n:] & whole[: len(whole) - 1]
        key = key[:-1] | numbers[n:] << (NGRAM_BITS * n)
        keys.append(key[follows])
        units.append(unit[:-n][follows])
        whole = follows
    return np.concatenate(keys), np.concatenate(units)


def known_ngrams(keys: Ints, units: Ints, vocabulary: Ints) -> tuple[Ints, Ints]:
    """The units of those keys that are in a sorted vocabulary, and their places there.

    Examples:
        >>> found = known_ngrams(np.array([5, 7, 9]), np.array([0, 0, 1]), np.array([5, 9]))
        >>> [part.tolist() for part in found]
        [[0, 1], [0, 1]]
    """
    place = np.minimum(np.searchsorted(vocabulary, keys), len(vocabulary) - 1)
    hit = vocabulary[place] == keys
    return units[hit], place[hit]
