"""Orders that depend on a key and nothing else: shuffles, Latin squares, lists.

Python's and NumPy's generators may change what a seed means from one version to the next. A
participation has to survive an upgrade of the server, so orders come from SHA-256 instead.
"""

import hashlib
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


def shuffled(things: Sequence[T], *key: object) -> list[T]:
    """The things in an order that the key decides; every order is equally likely over keys.

    Examples:
        >>> shuffled("abc", "study", 1) == shuffled("abc", "study", 1)
        True
        >>> sorted(shuffled("abc", "study", 2))
        ['a', 'b', 'c']
    """
    name = "\x1f".join(str(part) for part in key)

    def rank(place: int) -> bytes:
        return hashlib.sha256(f"{name}\x1e{place}".encode()).digest()

    return [things[place] for place in sorted(range(len(things)), key=rank)]


def latin_square(size: int) -> list[tuple[int, ...]]:
    """A square in which everything stands once in every place, and neighbours are balanced.

    Williams (1949): with an even size every ordered pair of neighbours occurs once; an odd size
    needs a second square, the first mirrored, and then has every pair twice.

    Examples:
        >>> latin_square(4)
        [(0, 1, 3, 2), (1, 2, 0, 3), (2, 3, 1, 0), (3, 0, 2, 1)]
        >>> len(latin_square(3))
        6
    """
    if size < 1:
        return []
    first = [0]
    for step in range(1, size):
        first.append((step + 1) // 2 if step % 2 else size - step // 2)
    rows = [tuple((place + shift) % size for place in first) for shift in range(size)]
    return rows if size % 2 == 0 or size == 1 else rows + [tuple(reversed(row)) for row in rows]


def arranged(things: Sequence[T], order: str, seed: int, *key: object) -> list[T]:
    """The things in the order a study asks for: `random`, `latin_square` or `fixed`.

    Args:
        things: In the order of the study file.
        order: One of the three.
        seed: Of the participant; the row of the Latin square is the remainder.
        key: What else a random order depends on.

    Examples:
        >>> arranged("ab", "latin_square", 0), arranged("ab", "latin_square", 1)
        (['a', 'b'], ['b', 'a'])
    """
    if order == "fixed" or len(things) < 2:
        return list(things)
    if order == "random":
        return shuffled(things, *key, seed)
    rows = latin_square(len(things))
    return [things[place] for place in rows[seed % len(rows)]]


def dealt(things: Sequence[T], length: int, *key: object) -> list[list[T]]:
    """Things dealt into lists of about equal length, none longer than `length`.

    Examples:
        >>> [len(part) for part in dealt(range(7), 3, "study")]
        [3, 2, 2]
    """
    count = -(-len(things) // length)
    mixed = shuffled(things, *key, "lists")
    return [mixed[start::count] for start in range(count)]
