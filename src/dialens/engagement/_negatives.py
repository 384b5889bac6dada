"""Negatives made by rule and mixed into class 0 (EnDex+NS).

Each is made from an engaging post: its context stays, its text is spoiled by random insertion,
random deletion, copying of the context or a generic reply (Xu et al. 2022), on request also by
loops, shuffled words or a reply from another thread. The reactions of such a row are null: nobody
reacted to it. What the paper leaves open: how many; here a share of class 0, the rules in equal
parts.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
import polars as pl

from dialens.base import DialensError, did_you_mean
from dialens.engagement._labelled import draw_key, in_draw_order
from dialens.models.training import ALL_RULES, GENERIC, PAPER_RULES, common_replies, spoil

RANDOM = "random"
RULES = (*ALL_RULES, RANDOM)
MADE_BY = "made_by"

_KEPT = ("id", "parent_id", "thread", "subreddit", "context", "text", "label")
_TEXTS_FOR_WORDS = 4000
_ATTEMPTS = 8


@dataclass(frozen=True)
class Recipe:
    """How negatives are made and how many.

    Attributes:
        rules: Of `RULES`, each as often as the others.
        share: Of class 0 that is made by rule.
        seed: Of every draw.
        keep_all: Keep every real row and add to class 0, which then is the larger one; else class
            0 stays as large as class 1, and real negatives give way.

    Examples:
        >>> Recipe(rules=("copy",), share=0.5).rules
        ('copy',)
    """

    rules: tuple[str, ...] = PAPER_RULES
    share: float = 0.4
    seed: int = 0
    keep_all: bool = False

    def __post_init__(self) -> None:
        if not self.rules:
            raise DialensError(f"No rule to make negatives by. Rules: {', '.join(RULES)}.")
        for rule in self.rules:
            if rule not in RULES:
                hint = did_you_mean(rule, RULES)
                raise DialensError(f"There is no rule {rule!r}. {hint}Rules: {', '.join(RULES)}.")
        most = 0.95 if self.keep_all else 1.0
        if not 0 < self.share <= most:
            raise DialensError(
                f"The share of made negatives is {self.share:g}; it must be above 0 and at most "
                f"{most:g}."
            )

    def counts(self, engaging: int, real: int) -> tuple[int, int, int]:
        """How many engaging, real negative and made negative rows the result has.

        Examples:
            >>> Recipe(share=0.4).counts(10, 10)
            (10, 6, 4)
            >>> Recipe(share=0.4).counts(10, 3)
            (5, 3, 2)
            >>> Recipe(share=0.4, keep_all=True).counts(10, 6)
            (10, 6, 4)
        """
        if self.keep_all:
            return engaging, real, round(real * self.share / (1 - self.share))
        size = engaging
        if self.share < 1:  # the largest size that leaves both classes equal
            size = min(engaging, int(real / (1 - self.share) + 1e-9))
        made = round(size * self.share)
        return size, size - made, made


def mix_negatives(table: pl.DataFrame, recipe: Recipe) -> pl.DataFrame:
    """Return labelled posts with made negatives among class 0, in the order of ids.

    Args:
        table: Rows of one part (training or validation) of a RED folder. Parts are mixed apart,
            so that no text crosses from one to the other.
        recipe: Rules, share and seed.

    Returns:
        The same columns and `made_by`: the rule, null for real rows.

    Raises:
        DialensError: If the rules cannot make as many as asked for, or the table has made
            negatives already.

    Examples:
        >>> table = pl.DataFrame(
        ...     {
        ...         "id": ["a", "b"],
        ...         "parent_id": ["x", "y"],
        ...         "thread": ["t", "u"],
        ...         "context": ["Hello there", "Why?"],
        ...         "text": ["Who is it?", "Because."],
        ...         "label": [1, 0],
        ...     }
        ... )
        >>> mixed = mix_negatives(table, Recipe(rules=("copy",), share=1.0))
        >>> mixed.select("id", "text", "label", "made_by").rows()
        [('a', 'Who is it?', 1, None), ('a-copy', 'Hello there', 0, 'copy')]
    """
    if MADE_BY in table.columns:
        raise DialensError(
            f"The data has made negatives already (column {MADE_BY}): begin with the folder that "
            "`dialens engagement label` wrote, or leave the rules away."
        )
    table = table.filter(pl.col("label").is_not_null()).sort("id")
    engaging = in_draw_order(table.filter(pl.col("label") == 1), recipe.seed)
    real = in_draw_order(table.filter(pl.col("label") == 0), recipe.seed)
    ones, zeros, wanted = recipe.counts(engaging.height, real.height)
    negatives = _made(table, engaging, wanted, recipe)
    unknown = pl.lit(None, pl.String).alias(MADE_BY)
    parts = [engaging.head(ones), real.head(zeros)]
    return pl.concat([*(part.with_columns(unknown) for part in parts), negatives]).sort("id")


def count_made(table: pl.DataFrame) -> dict[str, int]:
    """Return how many rows there are of each kind: engaging, not engaging, and by rule.

    Examples:
        >>> count_made(pl.DataFrame({"label": [1, 0, 0], "made_by": [None, None, "copy"]}))
        {'engaging': 1, 'not engaging': 1, 'copy': 1}
    """
    real = table.filter(pl.col(MADE_BY).is_null())
    kinds = Counter(table[MADE_BY].drop_nulls().to_list())
    return {
        "engaging": int((real["label"] == 1).sum()),
        "not engaging": int((real["label"] == 0).sum()),
        **dict(sorted(kinds.items())),
    }


class _Maker:
    """Spoils posts of one part of the data."""

    def __init__(self, table: pl.DataFrame, recipe: Recipe) -> None:
        texts = table["text"].fill_null("").to_list()
        self.recipe = recipe
        self.generic = [*GENERIC, *common_replies(texts)]
        sample = in_draw_order(table, recipe.seed).head(_TEXTS_FOR_WORDS)
        self.words = [word for text in sample["text"].fill_null("") for word in text.split()]
        self.texts = texts
        self.threads = table["thread"].to_list()
        contexts = table["context"].fill_null("").to_list()
        self.taken = set(zip(contexts, texts, strict=True))

    def make(self, row: dict[str, str], turn: int, around: int) -> tuple[str, str] | None:
        """Return (rule, text) for a post; None where no rule gives anything new.

        A one-word text cannot lose a word, a copy of an empty context is empty: the next rule of
        the list then has its turn. A pair that exists as a real one is never given the label 0.
        """
        rules = self.recipe.rules
        context, text = row["context"] or "", row["text"] or ""
        key = draw_key(self.recipe.seed, f"{row['id']}:{around}")
        generator = np.random.default_rng(int(key, 16))
        for place in range(len(rules)):
            rule = rules[(turn + place) % len(rules)]
            for _ in range(_ATTEMPTS):
                spoilt = self._spoilt(rule, text, context, row["thread"], generator).strip()
                if spoilt and (context, spoilt) not in self.taken:
                    self.taken.add((context, spoilt))
                    return rule, spoilt
        return None

    def _spoilt(
        self, rule: str, text: str, context: str, thread: str, generator: np.random.Generator
    ) -> str:
        if rule == RANDOM:
            other = int(generator.integers(len(self.texts)))
            return "" if self.threads[other] == thread else self.texts[other]
        if rule == "insert" and not self.words:
            return ""
        return spoil(rule, text, context, self.words, self.generic, generator)


def _made(table: pl.DataFrame, engaging: pl.DataFrame, wanted: int, recipe: Recipe) -> pl.DataFrame:
    maker = _Maker(table, recipe)
    sources: list[int] = []
    rules: list[str] = []
    texts: list[str] = []
    names: list[str] = []
    rows = engaging.select("id", "thread", "context", "text")
    around = 0
    while len(texts) < wanted:
        before = len(texts)
        for source, row in enumerate(rows.iter_rows(named=True)):
            if len(texts) == wanted:
                break
            negative = maker.make(row, len(texts), around)
            if negative is None:
                continue
            sources.append(source)
            rules.append(negative[0])
            texts.append(negative[1])
            names.append(f"{row['id']}-{negative[0]}" + (f"-{around + 1}" if around else ""))
        if len(texts) == before:
            raise DialensError(
                f"The rules {', '.join(recipe.rules)} made only {len(texts):,} of {wanted:,} "
                f"negatives from {rows.height:,} engaging posts. Take more rules, or a smaller "
                "--share."
            )
        around += 1
    nulls = [
        pl.lit(None, kind).alias(name) for name, kind in table.schema.items() if name not in _KEPT
    ]
    return engaging[sources].with_columns(
        pl.Series("id", names, dtype=pl.String),
        pl.Series("text", texts, dtype=pl.String),
        pl.lit(0, table.schema["label"]).alias("label"),
        *nulls,
        pl.Series(MADE_BY, rules, dtype=pl.String),
    )
