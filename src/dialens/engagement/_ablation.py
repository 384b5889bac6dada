"""Which reactions carry the signal: positives by one dimension alone (Figure 2 of EnDex).

All sets have the same negatives, those of the aggregate score, and as many positives; they differ
in what picked the positives. What the paper leaves open is read like this:

* A dimension is standardised as the score is: z over all accepted posts in which it is known, of
  the values that enter the score (normalised reply, attention and behaviour; emotion as it is).
* A post that one dimension finds engaging and the aggregate not (z < −κ) is a negative already and
  is left out of the positives; the counts say how many.
* All sets have the size of the smallest, so that no dimension wins by having more data.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import polars as pl

from dialens.base import DialensError, did_you_mean
from dialens.engagement._labelled import in_draw_order, is_held_out
from dialens.statistics import pearson, spearman

AGGREGATE = "score"
DIMENSIONS: Mapping[str, str] = {
    "re": "re_norm",
    "ae": "ae_norm",
    "ee": "ee",
    "be": "be_norm",
    AGGREGATE: "score",
}
"""What picks the positives, and the column of posts.parquet it goes by."""

WORDS: Mapping[str, str] = {
    "re": "reply engagement",
    "ae": "attentional engagement",
    "ee": "emotional engagement",
    "be": "behavioural engagement",
    AGGREGATE: "aggregate score",
}
ABLATION_COLUMNS = (
    "id",
    "parent_id",
    "thread",
    "context",
    "text",
    "z",
    "label",
    *DIMENSIONS.values(),
)
HELD_OUT = 0.2


@dataclass(frozen=True)
class Pick:
    """What one dimension picks.

    Attributes:
        dimension: Of `DIMENSIONS`.
        known: Posts in which it is known.
        mean: Over those.
        sd: Their standard deviation (population).
        above: The value a post must exceed: mean + κ·sd.
        positives: Posts above it, negatives left out.
        also_negative: Posts above it that the aggregate takes for not engaging.
        reason: Why there is no set; None where there is one.
    """

    dimension: str
    known: int
    mean: float | None
    sd: float | None
    above: float | None
    positives: int
    also_negative: int
    reason: str | None = None


@dataclass(frozen=True)
class Ablation:
    """Training sets by dimension, and how much the dimensions share.

    Attributes:
        picks: By dimension.
        negatives: Posts that the aggregate takes for not engaging.
        sizes: Positives (and negatives) of every set, by part.
        smallest: By part, what set that size: a dimension or `negatives`.
        sets: By dimension and part, rows with the columns of posts.
        pairs: One row a pair of dimensions, over posts in which both are known: Jaccard index of
            what they pick, correlations.
    """

    picks: Mapping[str, Pick]
    negatives: int
    sizes: Mapping[str, int]
    smallest: Mapping[str, str]
    sets: Mapping[str, Mapping[str, pl.DataFrame]]
    pairs: pl.DataFrame

    def to_dict(self) -> dict[str, Any]:
        """As `ablation.json` holds it."""
        return {
            "negatives": self.negatives,
            "sizes": dict(self.sizes),
            "smallest": dict(self.smallest),
            "dimensions": {name: asdict(pick) for name, pick in self.picks.items()},
            "pairs": self.pairs.to_dicts(),
        }


def chosen_dimensions(given: Sequence[str] | None) -> tuple[str, ...]:
    """Return dimensions by name, all if none is given; the aggregate is always among them.

    Examples:
        >>> chosen_dimensions(["EE"])
        ('ee', 'score')
    """
    wanted = [name.casefold() for name in given or DIMENSIONS]
    for name in wanted:
        if name not in DIMENSIONS:
            hint = did_you_mean(name, DIMENSIONS)
            known = ", ".join(DIMENSIONS)
            raise DialensError(f"There is no dimension {name!r}. {hint}Dimensions: {known}.")
    return tuple(name for name in DIMENSIONS if name in wanted or name == AGGREGATE)


def ablate(
    posts: pl.DataFrame,
    *,
    dimensions: Sequence[str] | None = None,
    kappa: float = 1.0,
    seed: int = 0,
    held_out: Mapping[str, bool] | None = None,
) -> Ablation:
    """Pick positives by each dimension against the same negatives.

    Args:
        posts: All accepted posts, columns as in `posts.parquet`.
        dimensions: Of `DIMENSIONS`; the aggregate is always among them.
        kappa: How many standard deviations a post must stand out by.
        seed: Of the draw where a set is larger than the smallest.
        held_out: By thread, whether it belongs to validation; other threads are split by the rule
            of `dialens engagement label`.

    Raises:
        DialensError: If the aggregate has no set, or there are no negatives.
    """
    if kappa <= 0:
        raise DialensError(f"--kappa is {kappa:g}; it must be above 0.")
    posts = posts.sort("id")
    part = _parts(posts["thread"], held_out or {}, seed)
    negative = (posts["z"] < -kappa).fill_null(value=False).to_numpy()
    picked: dict[str, np.ndarray] = {}
    picks: dict[str, Pick] = {}
    values: dict[str, np.ndarray] = {}
    for name in chosen_dimensions(dimensions):
        column = posts[DIMENSIONS[name]].cast(pl.Float64).fill_null(np.nan).to_numpy()
        values[name] = column
        picked[name], picks[name] = _pick(name, column, posts["z"], negative, part, kappa)
    usable = [name for name, pick in picks.items() if pick.reason is None]
    _check(posts, picks, negative, part, kappa)
    sizes, smallest = {}, {}
    for side in ("train", "validation"):
        counts = {name: int((picked[name] & (part == side)).sum()) for name in usable}
        counts["negatives"] = int((negative & (part == side)).sum())
        smallest[side] = min(counts, key=counts.__getitem__)
        sizes[side] = counts[smallest[side]]
    sets: dict[str, dict[str, pl.DataFrame]] = {name: {} for name in usable}
    for side, size in sizes.items():
        here = part == side
        for name in usable:
            sets[name][side] = _balanced(posts, picked[name] & here, negative & here, size, seed)
    pairs = _pairs(values, picked)
    return Ablation(picks, int(negative.sum()), sizes, smallest, sets, pairs)


def _parts(threads: pl.Series, held_out: Mapping[str, bool], seed: int) -> np.ndarray:
    known = dict(held_out)
    for thread in threads.unique():
        if thread not in known:
            known[thread] = is_held_out(thread, seed, HELD_OUT)
    return np.array(["validation" if known[thread] else "train" for thread in threads])


def _pick(
    name: str,
    values: np.ndarray,
    score_z: pl.Series,
    negative: np.ndarray,
    part: np.ndarray,
    kappa: float,
) -> tuple[np.ndarray, Pick]:
    there = np.isfinite(values)
    none = np.zeros(len(values), dtype=bool)
    known = int(there.sum())
    if not known:
        why = "no post has a value" + (": the data has no votes" if name == "be" else "")
        return none, Pick(name, 0, None, None, None, 0, 0, why)
    mean, sd = float(values[there].mean()), float(values[there].std())
    if sd <= 1e-12:
        return none, Pick(name, known, mean, sd, None, 0, 0, "all posts have the same value")
    if name == AGGREGATE:  # the z of the labels, to the last bit
        above = (score_z > kappa).fill_null(value=False).to_numpy()
    else:
        above = np.zeros(len(values), dtype=bool)
        above[there] = (values[there] - mean) / sd > kappa
    picked = above & ~negative
    also = int((above & negative).sum())
    reason = None
    for side in ("train", "validation"):
        if not (picked & (part == side)).any():
            reason = f"no post of the {side} part is {kappa:g} standard deviations above the mean"
            break
    pick = Pick(name, known, mean, sd, mean + kappa * sd, int(picked.sum()), also, reason)
    return picked, pick


def _check(
    posts: pl.DataFrame,
    picks: Mapping[str, Pick],
    negative: np.ndarray,
    part: np.ndarray,
    kappa: float,
) -> None:
    remedy = "Label more data, or take a smaller --kappa."
    for side in ("train", "validation"):
        if not (negative & (part == side)).any():
            raise DialensError(
                f"None of {int((part == side).sum()):,} posts of the {side} part has z below "
                f"-{kappa:g}: there are no negatives. {remedy}"
            )
    reason = picks[AGGREGATE].reason
    if reason is not None:
        raise DialensError(f"The aggregate score of {posts.height:,} posts: {reason}. {remedy}")


def _balanced(
    posts: pl.DataFrame, positive: np.ndarray, negative: np.ndarray, size: int, seed: int
) -> pl.DataFrame:
    kind = posts.schema["label"]
    halves = [
        in_draw_order(posts.filter(chosen), seed)
        .head(size)
        .with_columns(pl.lit(label).cast(kind).alias("label"))
        for label, chosen in ((1, positive), (0, negative))
    ]
    return pl.concat(halves).sort("id")


def _pairs(values: Mapping[str, np.ndarray], picked: Mapping[str, np.ndarray]) -> pl.DataFrame:
    """Every two dimensions, over posts in which both are known: what they pick, correlations."""
    names = list(values)
    rows = []
    for place, one in enumerate(names):
        for other in names[place + 1 :]:
            both = np.isfinite(values[one]) & np.isfinite(values[other])
            left, right = values[one][both], values[other][both]
            common = int((picked[one] & picked[other] & both).sum())
            either = int(((picked[one] | picked[other]) & both).sum())
            rows.append(
                {
                    "dimension": one,
                    "other": other,
                    "common": common,
                    "either": either,
                    "jaccard": common / either if either else None,
                    "n": int(both.sum()),
                    "pearson": _known(pearson(left, right)) if both.any() else None,
                    "spearman": _known(spearman(left, right)) if both.any() else None,
                }
            )
    kinds = {"dimension": pl.String, "other": pl.String, "common": pl.Int64, "either": pl.Int64}
    numbers = {"jaccard": pl.Float64, "n": pl.Int64, "pearson": pl.Float64, "spearman": pl.Float64}
    return pl.DataFrame(rows, schema={**kinds, **numbers})


def _known(value: float) -> float | None:
    return None if np.isnan(value) else value
