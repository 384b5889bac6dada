"""Agents and systems side by side: values, differences, intervals, corrected tests."""

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np
import polars as pl

from dialens.analysis.comparison._dialog_sums import DialogSums, Group
from dialens.analysis.comparison._group_statistics import GroupStatistics
from dialens.analysis.comparison._runs import join_runs
from dialens.analysis.comparison._sides import Sides
from dialens.analysis.comparison._tables import (
    ALIKE,
    BOOTSTRAP,
    COMPARISONS,
    CONSTANT,
    EXCHANGE,
    INTERVALS,
    LARGEST_SIZE,
    NEARLY,
    POOLED,
    SIGNS,
    TOO_FEW,
    T,
)
from dialens.base import MEMORY, DialensError
from dialens.metrics import MetricCard, Scores
from dialens.statistics import FEWEST, TInference, corrected, hedges_g

RESAMPLES = 2_000


def intervals(
    scores: Scores,
    *,
    level: str = "agent",
    resamples: int = RESAMPLES,
    seed: int = 0,
    confidence: float = 0.95,
    memory: int = MEMORY,
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
        memory: Bytes that may be taken.
    """
    sums = DialogSums(scores, memory=memory)
    sides = Sides(sums, sums.groups(level), resamples=resamples, seed=seed)
    lowest, highest = sides.ranges()
    parts = []
    for number, group in enumerate(sides.groups):
        alone = sides.alone(number)
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
                    "reason": sides.missing(number),
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
    counts = (
        scores.dialogs.group_by(keys)
        .agg(n_dialogs=pl.len().cast(pl.Int64))
        .collect(engine="streaming")
    )
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
    scores: Scores | Mapping[str, Scores],
    *,
    level: str = "agent",
    baseline: str | None = None,
    metrics: str | Sequence[str] | None = None,
    resamples: int = RESAMPLES,
    seed: int = 0,
    confidence: float = 0.95,
    memory: int = MEMORY,
) -> pl.DataFrame:
    """Differences between agents (or systems), every pair or each against a baseline.

    Where both answered the same contexts the comparison is paired: contexts are the units, and
    both bring what they answered. Otherwise the dialogues of each are. Interval and p are
    Student's on the jackknife over units, corrected for skewness; with fewer than six units a side
    or where nearly all have the same value there are none; pairs that nearly all differ by the same
    amount are tested by flipping signs. P-values are two-sided and corrected
    after Benjamini & Hochberg (1995), headline metrics as one family and the others as another.

    Args:
        scores: What `dialens.score` or `Scores.open` gives; or several runs by name, oldest first,
            whose agents are compared from run to run. A metric that was not scored in the same way
            in all of them has rows without values, and the reason.
        level: `agent` or `system`.
        baseline: Compare everyone with this one only; of several runs also the name of a run.
        metrics: Names of metrics or families among those scored; if not given, all without
            baselines, which would only widen the family that is corrected for.
        resamples: How many times dialogues are drawn, for metrics in steps such as rank
            correlations, which the jackknife cannot judge.
        seed: Of the draw.
        confidence: Of the intervals.
        memory: Bytes that may be taken.
    """
    metrics = [metrics] if isinstance(metrics, str) else metrics
    if isinstance(scores, Scores):
        left_out: Mapping[str, str] = {}
        cards: Mapping[str, MetricCard] = scores.cards
        if metrics:
            chosen = scores.select(metrics)
        else:
            chosen = [name for name, card in cards.items() if not card.is_baseline]
        sums = DialogSums(scores, chosen, memory=memory)
        groups = sums.groups(level)
        pairs = _pairs(groups, baseline, level)
    else:
        joined = join_runs(scores)
        left_out, cards = joined.different, joined.cards
        chosen = joined.select(metrics)
        sums = DialogSums(joined.scores, _comparable(chosen, left_out), memory=memory)
        groups = joined.called(sums.groups(level))
        pairs = joined.pairs(groups, baseline)
    sides = Sides(sums, groups, resamples=resamples, seed=seed)
    table = compared_pairs(
        sides, pairs, [name for name in chosen if name in left_out], left_out, cards, confidence
    )
    return table.select(
        pl.lit(level).cast(dtype).alias(name) if name == "level" else pl.col(name).cast(dtype)
        for name, dtype in COMPARISONS.items()
    )


def compared_pairs(
    sides: Sides,
    pairs: Sequence[tuple[int, int]],
    not_compared: Sequence[str],
    left_out: Mapping[str, str],
    cards: Mapping[str, MetricCard],
    confidence: float,
) -> pl.DataFrame:
    """The rows of all pairs, with p corrected over them.

    Args:
        sides: The groups.
        pairs: Which of them are held against each other, by their numbers.
        not_compared: Metrics that have rows without values.
        left_out: Why they have none.
        cards: Of all metrics.
        confidence: Of the intervals.
    """
    sums = sides.sums
    headline = [cards[metric.name].headline is not None for metric in sums.metrics]
    parts = []
    for a, b in pairs:
        first, second, shared = sides.pair(a, b)
        found = first.compared(second, paired=shared > 0, confidence=confidence)
        frame = _compared(sides, (a, b), (first, second), found, shared)
        reasons = zip(sides.missing(a), sides.missing(b), strict=True)
        few = min(first.jackknife.units, second.jackknife.units) < FEWEST
        parts.append(
            frame.with_columns(
                pl.Series("headline", headline),
                pl.Series("reason", [one or other for one, other in reasons], pl.String),
            )
            .with_columns(
                reason=pl.when(test=EXCHANGE)
                .then(pl.lit(CONSTANT))
                .when(test=SIGNS)
                .then(pl.lit(NEARLY))
                .otherwise("reason")
            )
            .with_columns(_why("p", few=few))
        )
        parts.append(_not_compared(parts[-1], not_compared, left_out, cards))
    return corrected(pl.concat(parts, how="diagonal_relaxed"), by=["headline"])


def _compared(
    sides: Sides,
    numbers: tuple[int, int],
    statistics: tuple[GroupStatistics, GroupStatistics],
    found: TInference,
    shared: int,
) -> pl.DataFrame:
    """The rows of one pair, a row a metric; no difference is wider than its metric's range."""
    sums = sides.sums
    lowest, highest = sides.ranges()
    widest = highest - lowest
    groups = [sides.groups[number] for number in numbers]
    steps = statistics[0].steps
    a, b = (side.jackknife for side in statistics)
    test = np.full(len(sums.metrics), T, dtype=object)
    test[steps] = BOOTSTRAP
    test[found.constant] = EXCHANGE
    test[found.flipped] = SIGNS
    test[np.isnan(found.p)] = None
    effect = hedges_g(a, b)
    effect[steps] = np.nan
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


def _comparable(chosen: Sequence[str], left_out: Mapping[str, str]) -> list[str]:
    """Those of the metrics that may be compared.

    Raises:
        DialensError: None may.
    """
    kept = [name for name in chosen if name not in left_out]
    if not kept:
        raise DialensError(
            f"Nothing is left to compare: {chosen[0]} {left_out[chosen[0]]}. "
            "Score the runs again with the same options."
        )
    return kept


def _not_compared(
    rows: pl.DataFrame,
    names: Sequence[str],
    why: Mapping[str, str],
    cards: Mapping[str, MetricCard],
) -> pl.DataFrame:
    """Rows without values for metrics that may not be compared between these runs."""
    same = rows.select("a", "b", "n_a", "n_b", "paired", "n_shared").head(1)
    left_out = {
        "metric": list(names),
        "headline": [cards[name].headline is not None for name in names],
        "reason": [why[name] for name in names],
    }
    schema = {"metric": pl.String, "headline": pl.Boolean, "reason": pl.String}
    return pl.DataFrame(left_out, schema=schema).join(same, how="cross")


def _why(column: str, *, few: bool) -> pl.Expr:
    """The reason of each row: that of its missing value, or why it has no interval or p."""
    known = pl.col("reason").is_not_null() | pl.col(column).is_not_null()
    none = pl.lit(TOO_FEW if few else ALIKE)
    return pl.when(known).then("reason").otherwise(none).alias("reason")


def _pairs(groups: list[Group], baseline: str | None, level: str) -> list[tuple[int, int]]:
    if len(groups) < 2:
        raise DialensError(
            f"There is only one {level} in these scores ({groups[0].name}): nothing to compare. "
            "Name a second run beside it, or score a corpus with several."
        )
    if baseline is None:
        return list(combinations(range(len(groups)), 2))
    matching = [i for i, g in enumerate(groups) if baseline in (g.name, g.agent or g.system)]
    if len(matching) != 1:
        names = ", ".join(group.name for group in groups)
        raise DialensError(f"The baseline {baseline!r} must name one {level} of: {names}.")
    return [(i, matching[0]) for i in range(len(groups)) if i != matching[0]]
