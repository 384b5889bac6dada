"""Agents that are no systems: human references, gold answers, planted checks.

People write differently from every system, and better: one human among the agents lets any metric
that tells people from machines look valid. So what people wrote is left out by default.
"""

import re

import polars as pl

_WORDS = frozenset(
    (
        "human",
        "humans",
        "reference",
        "references",
        "gold",
        "golden",
        "original",
        "groundtruth",
    )
)
_PHRASES = ("ground truth", "attention check")


def is_reference(agent: str) -> bool:
    """Whether an agent's name says that people wrote its words, or that it was planted.

    Examples:
        >>> [is_reference(name) for name in ("Original Ground Truth", "convai2/human", "Seq2Seq")]
        [True, True, False]
        >>> is_reference("attention_check"), is_reference("humanlike-bot")
        (True, False)
    """
    words = re.split(r"[^a-z0-9]+", agent.casefold())
    text = " ".join(words)
    return bool(_WORDS & set(words)) or any(phrase in text for phrase in _PHRASES)


def without_references(ratings: pl.DataFrame) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """Ratings of systems, and the names of the references that were left out.

    Where nothing but references was rated, all of it stays.

    Examples:
        >>> table = pl.DataFrame({"agent": ["human", "bot", None]})
        >>> without_references(table)[1], without_references(table.head(1))[1]
        (('human',), ())
    """
    names = [name for name in ratings["agent"].unique().drop_nulls().sort() if is_reference(name)]
    rest = ratings.filter(~pl.col("agent").is_in(names).fill_null(False))
    return (rest, tuple(names)) if names and rest.height else (ratings, ())
