"""What generated replies are like: how much of them is new."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dialens.text import tokenise_texts


@dataclass(frozen=True)
class Distinct:
    """Distinct-n: different n-grams among all n-grams of all replies (Li et al. 2016)."""

    n: int
    value: float | None
    of: int


def distinct(replies: Sequence[str], n: int) -> Distinct:
    """How many of the n-grams of some replies are different; None where there is none.

    Args:
        replies: Texts; punctuation counts.
        n: Tokens of an n-gram.

    Examples:
        >>> distinct(["i do not know", "i do"], 2)
        Distinct(n=2, value=0.75, of=4)
    """
    grams = [
        tuple(tokens[at : at + n])
        for tokens in tokenise_texts(replies)
        for at in range(len(tokens) - n + 1)
    ]
    return Distinct(n, len(set(grams)) / len(grams) if grams else None, len(grams))
