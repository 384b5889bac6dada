"""Counts of n-grams that texts share, for many texts at once.

A text is a row of numbers (words or characters). Every distinct text is counted once; pairs of
texts are then held against each other by merging sorted keys, with no loop over n-grams.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dialens.metrics._batch import Ints

_ROOM = 2**62


@dataclass(frozen=True)
class Sequences:
    """Texts as rows of numbers, one after another.

    Attributes:
        items: The numbers of all texts.
        offsets: Text i has those from offsets[i] up to offsets[i + 1].
        kinds: Above the largest number.
    """

    items: Ints
    offsets: Ints
    kinds: int

    @classmethod
    def of_words(cls, texts: Sequence[Sequence[str]]) -> "Sequences":
        """Texts that are cut into words.

        Examples:
            >>> Sequences.of_words([["a", "b"], ["b"]]).items.tolist()
            [0, 1, 1]
        """
        numbers: dict[str, int] = {}
        items = [numbers.setdefault(word, len(numbers)) for words in texts for word in words]
        return cls(np.array(items, np.int64), _offsets(list(map(len, texts))), len(numbers) or 1)

    @classmethod
    def of_characters(cls, texts: Sequence[str]) -> "Sequences":
        """Texts as they are spelled.

        Examples:
            >>> Sequences.of_characters(["ab", "b"]).items.tolist()
            [0, 1, 1]
        """
        data = "".join(texts).encode("utf-32-le", "surrogatepass")
        characters, items = np.unique(np.frombuffer(data, np.uint32), return_inverse=True)
        return cls(items.astype(np.int64), _offsets(list(map(len, texts))), len(characters) or 1)

    @property
    def lengths(self) -> Ints:
        """Numbers in each text."""
        return np.diff(self.offsets)


def _offsets(lengths: Sequence[int]) -> Ints:
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64)])


@dataclass(frozen=True)
class Counts:
    """The different n-grams of each text, and how often each stands there.

    Attributes:
        grams: Of all texts one after another, sorted within a text.
        times: How often each.
        offsets: Text i has those from offsets[i] up to offsets[i + 1].
        kinds: Above the largest n-gram.
        totals: All n-grams of each text.
    """

    grams: Ints
    times: Ints
    offsets: Ints
    kinds: int
    totals: Ints


def count_ngrams(sequences: Sequences, orders: int) -> list[Counts]:
    """N-grams of 1 up to `orders` items; none crosses texts.

    Examples:
        >>> one, two = count_ngrams(Sequences.of_words([["a", "b", "a"]]), 2)
        >>> one.times.tolist(), two.times.tolist(), two.totals.tolist()
        ([2, 1], [1, 1], [2])
    """
    texts = len(sequences.offsets) - 1
    text = np.repeat(np.arange(texts), sequences.lengths)
    last = sequences.offsets[1:][text] - np.arange(len(text))  # items from here to the text's end
    start = np.arange(len(text))
    codes, kinds = sequences.items, sequences.kinds
    result = []
    for order in range(1, orders + 1):
        if order > 1:
            kept = last[start] >= order
            start, codes = start[kept], codes[kept]
            if kinds >= _ROOM // sequences.kinds:
                codes, kinds = _renumbered(codes)
            codes = codes * sequences.kinds + sequences.items[start + order - 1]
            kinds *= sequences.kinds
        result.append(_counted(codes, kinds, text[start], texts))
    return result


def _renumbered(codes: Ints) -> tuple[Ints, int]:
    distinct, place = np.unique(codes, return_inverse=True)
    return place.astype(np.int64), len(distinct) or 1


def _counted(codes: Ints, kinds: int, text: Ints, texts: int) -> Counts:
    if kinds >= _ROOM // max(texts, 1):
        codes, kinds = _renumbered(codes)
    keys = np.sort(text * kinds + codes)
    fresh = np.ones(len(keys), bool)
    fresh[1:] = keys[1:] != keys[:-1]
    starts = np.flatnonzero(fresh)
    times = np.diff(np.append(starts, len(keys)))
    owner, grams = np.divmod(keys[starts], kinds)
    offsets = _offsets(np.bincount(owner, minlength=texts).tolist())
    return Counts(grams, times, offsets, kinds, np.bincount(text, minlength=texts))


def shared(counts: Counts, left: Ints, right: Ints) -> Ints:
    """For pairs of texts, how many n-grams stand in both, each as often as where it is rarer.

    Examples:
        >>> (one,) = count_ngrams(Sequences.of_words([["a", "a", "b"], ["a", "c"]]), 1)
        >>> shared(one, np.array([0]), np.array([1])).tolist()
        [1]
    """
    owner = np.arange(len(left))
    return shared_jointly(counts, left, right, owner)


def shared_jointly(counts: Counts, left: Ints, right: Ints, owner: Ints) -> Ints:
    """The same where several texts on the right belong to one on the left.

    An n-gram counts on the right as often as where it is most frequent there.

    Args:
        counts: Of all texts.
        left: Texts.
        right: Texts they are held against.
        owner: For each on the right the place on the left that it belongs to, not falling.
    """
    pairs = len(left)
    kinds, grams = counts.kinds, counts.grams
    if kinds >= _ROOM // max(pairs, 1):
        grams, kinds = _renumbered(grams)
    at, of = _spread(counts, left)
    keys = of * kinds + grams[at]
    entries, whose = _spread(counts, right)
    other = owner[whose] * kinds + grams[entries]
    times = counts.times[entries]
    if len(np.unique(owner)) < len(owner):
        other, times = _largest(other, times)
    if not len(other) or not len(keys):
        return np.zeros(pairs, np.int64)
    place = np.minimum(np.searchsorted(other, keys), len(other) - 1)
    hit = other[place] == keys
    both = np.minimum(counts.times[at[hit]], times[place[hit]])
    return np.bincount(of[hit], both, minlength=pairs).astype(np.int64)


def _spread(counts: Counts, texts: Ints) -> tuple[Ints, Ints]:
    """Places of the n-grams of these texts one after another, and whose of the list each is."""
    starts, ends = counts.offsets[texts], counts.offsets[texts + 1]
    lengths = ends - starts
    of: Ints = np.repeat(np.arange(len(texts)), lengths)
    before = np.cumsum(lengths) - lengths
    return np.arange(len(of)) - before[of] + starts[of], of


def _largest(keys: Ints, times: Ints) -> tuple[Ints, Ints]:
    order = np.argsort(keys, kind="stable")
    keys, times = keys[order], times[order]
    fresh = np.ones(len(keys), bool)
    fresh[1:] = keys[1:] != keys[:-1]
    starts = np.flatnonzero(fresh)
    return keys[starts], np.maximum.reduceat(times, starts) if len(starts) else times


def numbered(texts: Sequence[str]) -> tuple[dict[str, int], list[str]]:
    """Each distinct text with a number.

    Examples:
        >>> numbered(["b", "a", "b"])
        ({'b': 0, 'a': 1}, ['b', 'a'])
    """
    distinct = list(dict.fromkeys(texts))
    return {text: number for number, text in enumerate(distinct)}, distinct


def longest_common(masks: dict[int, int], length: int, other: NDArray[np.int64]) -> int:
    """The length of the longest common subsequence, one machine word of places at a time.

    After Hyyrö (2004), "Bit-parallel LCS-length computation revisited".

    Args:
        masks: For each item of the first text a number whose bits are its places.
        length: Of the first text.
        other: The second text.

    Examples:
        >>> longest_common({7: 0b101, 8: 0b010}, 3, np.array([8, 7, 7]))
        2
    """
    full = (1 << length) - 1
    row = full
    for item in other.tolist():
        hit = row & masks.get(item, 0)
        row = ((row + hit) | (row - hit)) & full
    return length - row.bit_count()


def places(items: NDArray[np.int64]) -> dict[int, int]:
    """For each item a number whose bits are its places, as `longest_common` takes them.

    Examples:
        >>> places(np.array([7, 8, 7]))
        {7: 5, 8: 2}
    """
    masks: dict[int, int] = {}
    for place, item in enumerate(items.tolist()):
        masks[item] = masks.get(item, 0) | 1 << place
    return masks
