"""Agents and systems side by side: values, differences, intervals, corrected tests."""

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import polars as pl

from dialens.analysis.comparison._dialog_sums import DialogSums, Group
from dialens.analysis.comparison._group_statistics import GroupStatistics, GroupStatisticsOf
from dialens.analysis.comparison._tables import (
    ALIKE,
    BOOTSTRAP,
    COMPARISONS,
    CONSTANT,
    EXCHANGE,
    INTERVALS,
    LARGEST_SIZE,
    POOLED,
    TOO_FEW,
    T,
)
from dialens.base import DialensError
from dialens.metrics import Scores
from dialens.statistics import FEWEST, Floats, TInference, corrected, hedges_g

RESAMPLES = 2_000


def intervals(
    scores: Scores,
    *,
    level: str = "agent",
    resamples: int = RESAMPLES,
    seed: int = 0,
    confidence: float = 0.95,
) -> pl.DataFrame:
    """Every agent's (or system's) values with intervals over its dialogues.

    Intervals are Student's on the jackknife over dialogues, corrected for skewness; dialogues that
    answer the same context are left out together. Metrics over sets (distinct-n) are given as the
    mean of the dialogues' values: a union cannot be resampled.

    Args:
        scores: What `dialens.score` or `Scores.open` gives.
        level: `agent` or `system`.
        resamples: How many times dialogues are drawn, for metrics in steps such as rank
            correlations, which the jackknife cannot judge.
        seed: Of the draw.
        confidence: Of the intervals.
    """
    sums = DialogSums(scores)
    groups = sums.groups(level)
    statistics = GroupStatisticsOf(sums, groups, resamples, seed)
    lowest, highest = _ranges(scores, sums)
    parts = []
    for number, group in enumerate(groups):
        alone = statistics.alone(group, number)
        found = alone.compared(None, paired=False, confidence=confidence)
        few = alone.jackknife.units < FEWEST
        parts.append(
            pl.DataFrame(
                {
                    "level": level,
                    "system": group.system,
                    "agent": group.agent,
                    "metric": [metric.name for metric in sums.metrics],
                    "value": alone.jackknife.value,
                    "low": np.clip(found.low, lowest, highest),
                    "high": np.clip(found.high, lowest, highest),
                    "n_dialogs": len(group.rows),
                    "basis": [sums.basis(metric) for metric in sums.metrics],
                    "reason": _missing(sums, group),
                },
                schema=INTERVALS,
                nan_to_null=True,
            ).with_columns(_why("low", few=few))
        )
    return pl.concat(parts)


def values_only(scores: Scores, *, level: str = "agent") -> pl.DataFrame:
    """The same table without intervals, for scores that cannot be resampled here.

    `Scores.why_not_resampled` stands as the reason.
    """
    keys = ["system", "agent"] if level == "agent" else ["system"]
    counts = scores.dialogs.group_by(keys).agg(n_dialogs=pl.len().cast(pl.Int64)).collect()
    rows = scores.table.filter(pl.col("level") == level).collect(engine="streaming")
    return (
        rows.join(counts, on=keys, how="left", maintain_order="left")
        .with_columns(
            low=None,
            high=None,
            basis=pl.lit(POOLED),
            reason=pl.lit(scores.why_not_resampled, pl.String),
        )
        .select(pl.col(name).cast(dtype) for name, dtype in INTERVALS.items())
    )


def compare(
    scores: Scores,
    *,
    level: str = "agent",
    baseline: str | None = None,
    metrics: Sequence[str] | None = None,
    resamples: int = RESAMPLES,
    seed: int = 0,
    confidence: float = 0.95,
) -> pl.DataFrame:
    """Differences between agents (or systems), every pair or each against a baseline.

    Where both answered the same contexts the comparison is paired: contexts are the units, and
    both bring what they answered. Otherwise the dialogues of each are. Interval and p are
    Student's on the jackknife over units, corrected for skewness; with fewer than six units a side
    or fewer than six that differ from the rest there are none. P-values are two-sided and corrected
    after Benjamini & Hochberg (1995), headline metrics as one family and the others as another.

    Args:
        scores: What `dialens.score` or `Scores.open` gives.
        level: `agent` or `system`.
        baseline: Compare everyone with this one only.
        metrics: Names of metrics or families among those scored; if not given, all without
            baselines, which would only widen the family that is corrected for.
        resamples: How many times dialogues are drawn, for metrics in steps such as rank
            correlations, which the jackknife cannot judge.
        seed: Of the draw.
        confidence: Of the intervals.
    """
    if metrics:
        chosen = scores.select(metrics)
    else:
        chosen = [name for name, card in scores.cards.items() if not card.is_baseline]
    sums = DialogSums(scores, chosen)
    groups = sums.groups(level)
    pairs = _pairs(groups, baseline, level)
    statistics = GroupStatisticsOf(sums, groups, resamples, seed)
    alone: dict[int, GroupStatistics] = {}
    missing = [_missing(sums, group) for group in groups]
    headline = [scores.cards[metric.name].headline is not None for metric in sums.metrics]
    lowest, highest = _ranges(scores, sums)
    parts = []
    for a, b in pairs:
        shared = _shared_contexts(sums, groups[a], groups[b])
        if shared:
            first, second = statistics.together(groups[a], groups[b], (a, b))
        else:
            for each in (a, b):
                alone[each] = alone.get(each) or statistics.alone(groups[each], each)
            first, second = alone[a], alone[b]
        found = first.compared(second, paired=shared > 0, confidence=confidence)
        sides = (first, second)
        frame = _compared(sums, (groups[a], groups[b]), sides, found, shared, highest - lowest)
        why = [one or other for one, other in zip(missing[a], missing[b], strict=True)]
        few = min(first.jackknife.units, second.jackknife.units) < FEWEST
        parts.append(
            frame.with_columns(
                pl.lit(level).alias("level"),
                pl.Series("headline", headline),
                pl.Series("reason", why, pl.String),
            )
            .with_columns(reason=pl.when(test=EXCHANGE).then(pl.lit(CONSTANT)).otherwise("reason"))
            .with_columns(_why("p", few=few))
        )
    table = corrected(pl.concat(parts), by=["headline"])
    return table.select(pl.col(name).cast(dtype) for name, dtype in COMPARISONS.items())


def _compared(
    sums: DialogSums,
    groups: tuple[Group, Group],
    sides: tuple[GroupStatistics, GroupStatistics],
    found: TInference,
    shared: int,
    widest: Floats,
) -> pl.DataFrame:
    """The rows of one pair, a row a metric; no difference is wider than its metric's range."""
    a, b = (side.jackknife for side in sides)
    test = np.full(len(sums.metrics), T, dtype=object)
    test[sides[0].steps] = BOOTSTRAP
    test[found.constant] = EXCHANGE
    test[np.isnan(found.p)] = None
    effect = hedges_g(a, b)
    effect[sides[0].steps] = np.nan
    effect[np.abs(effect) > LARGEST_SIZE] = np.nan  # a spread of nothing says nothing of size
    return pl.DataFrame(
        {
            "metric": [metric.name for metric in sums.metrics],
            "a": groups[0].name,
            "b": groups[1].name,
            "value_a": a.value,
            "value_b": b.value,
            "difference": a.value - b.value,
            "low": np.clip(found.low, -widest, widest),
            "high": np.clip(found.high, -widest, widest),
            "standard_error": found.error,
            "effect_size": effect,
            "p": found.p,
            "n_a": len(groups[0].rows),
            "n_b": len(groups[1].rows),
            "paired": shared > 0,
            "n_shared": shared,
            "basis": [sums.basis(metric) for metric in sums.metrics],
            "test": pl.Series(test.tolist(), dtype=pl.String),
        },
        nan_to_null=True,
    )


def _ranges(scores: Scores, sums: DialogSums) -> tuple[Floats, Floats]:
    """The lowest and the highest value that each metric can have; infinite where it has no end."""
    ranges = [scores.cards[metric.name].range for metric in sums.metrics]
    lowest = [-np.inf if low is None else low for low, _ in ranges]
    highest = [np.inf if high is None else high for _, high in ranges]
    return np.array(lowest, dtype=np.float64), np.array(highest, dtype=np.float64)


def _missing(sums: DialogSums, group: Group) -> list[str | None]:
    """Why a group has no value, a metric after the other; None where it has one."""
    values = sums.values(sums.total(group))
    return [
        each.reasons[each.code[0] - 1] if each.code[0] else None
        for each in (values[metric.name] for metric in sums.metrics)
    ]


def _why(column: str, *, few: bool) -> pl.Expr:
    """The reason of each row: that of its missing value, or why it has no interval or p."""
    known = pl.col("reason").is_not_null() | pl.col(column).is_not_null()
    none = pl.lit(TOO_FEW if few else ALIKE)
    return pl.when(known).then("reason").otherwise(none).alias("reason")


def _pairs(groups: list[Group], baseline: str | None, level: str) -> list[tuple[int, int]]:
    if len(groups) < 2:
        raise DialensError(
            f"There is only one {level} in these scores ({groups[0].name}): nothing to compare. "
            "Score a corpus with several, or choose another --level."
        )
    if baseline is None:
        return list(combinations(range(len(groups)), 2))
    matching = [i for i, g in enumerate(groups) if baseline in (g.name, g.agent or g.system)]
    if len(matching) != 1:
        names = ", ".join(group.name for group in groups)
        raise DialensError(f"The baseline {baseline!r} must name one {level} of: {names}.")
    return [(i, matching[0]) for i in range(len(groups)) if i != matching[0]]


def _shared_contexts(sums: DialogSums, a: Group, b: Group) -> int:
    """How many contexts both answered; 0 if they are not the better part of either's dialogues."""
    if not (sums.keyed(a.rows) and sums.keyed(b.rows)):
        return 0
    keys_a = sums.frame["context"].gather(a.rows).unique()
    keys_b = sums.frame["context"].gather(b.rows).unique()
    shared = int(keys_a.is_in(keys_b.implode()).sum())
    return shared if 2 * shared >= max(len(keys_a), len(keys_b)) and shared > 1 else 0
