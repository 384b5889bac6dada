"""Agents and systems side by side: values, differences, intervals, corrected tests."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import polars as pl

from dialens.analysis.comparison._dialog_sums import DialogSums, Group
from dialens.base import DialensError
from dialens.metrics import Scores, Values
from dialens.statistics import (
    BOOTSTRAP,
    FEW,
    FEWEST,
    TOO_FEW,
    Floats,
    Resampled,
    T,
    cluster_sums,
    coarsened,
    corrected,
    jackknife_t,
    left_out_sums,
    resampled_sums,
    units,
)

RESAMPLES = 2_000
_MOST_UNDEFINED = 0.05

INTERVALS = pl.Schema(
    {
        "level": pl.String,
        "system": pl.String,
        "agent": pl.String,
        "metric": pl.String,
        "value": pl.Float64,
        "low": pl.Float64,
        "high": pl.Float64,
        "n_dialogs": pl.Int64,
        "basis": pl.String,
        "reason": pl.String,
    }
)
"""`basis` is `pooled` (from summed features) or `mean of dialogs`."""

COMPARISONS = pl.Schema(
    {
        "level": pl.String,
        "metric": pl.String,
        "a": pl.String,
        "b": pl.String,
        "value_a": pl.Float64,
        "value_b": pl.Float64,
        "difference": pl.Float64,
        "low": pl.Float64,
        "high": pl.Float64,
        "p": pl.Float64,
        "p_adjusted": pl.Float64,
        "family": pl.Int64,
        "n_a": pl.Int64,
        "n_b": pl.Int64,
        "paired": pl.Boolean,
        "n_shared": pl.Int64,
        "basis": pl.String,
        "test": pl.String,
        "reason": pl.String,
    }
)
"""`difference` is a − b; `family` is how many tests `p_adjusted` was corrected over; `test` is
`bootstrap`, or `t` where there are few dialogues."""


@dataclass(frozen=True)
class _Draws:
    """Every metric of a group, from its dialogues drawn anew and with clusters left out."""

    replicates: Mapping[str, Floats]
    pulls: Mapping[str, Floats]

    @classmethod
    def of(
        cls, sums: DialogSums, clusters: Floats, resamples: int, rng: np.random.Generator
    ) -> "_Draws | None":
        """From the sums of clusters; None if there are fewer than two to draw from."""
        if len(clusters) < 2:
            return None
        return cls.computed(sums, resampled_sums(clusters, resamples, rng), left_out_sums(clusters))

    @classmethod
    def computed(cls, sums: DialogSums, drawn: Floats, left_out: Floats) -> "_Draws":
        """From sums drawn anew and sums with a cluster left out."""
        left = {name: values.value for name, values in sums.values(left_out).items()}
        return cls(
            {name: values.value for name, values in sums.values(drawn).items()},
            {name: _mean(values) - values for name, values in left.items()},
        )

    def of_metric(self, name: str, estimate: float) -> Resampled:
        """One metric by itself."""
        return Resampled(estimate, self.replicates[name], self.pulls[name])


def _mean(values: Floats) -> float:
    there = values[~np.isnan(values)]
    return float(there.mean()) if len(there) else float("nan")


def intervals(
    scores: Scores,
    *,
    level: str = "agent",
    resamples: int = RESAMPLES,
    seed: int = 0,
    confidence: float = 0.95,
) -> pl.DataFrame:
    """Every agent's (or system's) values with bootstrap intervals over its dialogues.

    Dialogues that answer the same context are drawn together. Metrics over sets (distinct-n) are
    given as the mean of the dialogues' values: a union cannot be resampled.
    """
    sums = DialogSums(scores)
    rows: list[dict[str, object]] = []
    for number, group in enumerate(sums.groups(level)):
        rng = np.random.default_rng([seed, number])
        point = sums.values(sums.total(group))
        draws = _alone(sums, group, resamples, rng)
        for metric in sums.metrics:
            name = metric.name
            value, reason = _estimate(point[name])
            low = high = None
            if value is not None:
                drawn = draws.of_metric(name, value) if draws else None
                low, high, _, reason = _bounds(drawn, confidence)
            rows.append(
                {
                    "level": level,
                    "system": group.system,
                    "agent": group.agent,
                    "metric": name,
                    "value": value,
                    "low": low,
                    "high": high,
                    "n_dialogs": len(group.rows),
                    "basis": sums.basis(metric),
                    "reason": reason,
                }
            )
    return pl.DataFrame(rows, schema=INTERVALS)


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
            basis=pl.lit("pooled"),
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

    Where both answered the same contexts, contexts are drawn, and both bring what they answered:
    the comparison is paired. Otherwise the dialogues of each are drawn by themselves. P-values are
    two-sided and corrected over the whole table (Benjamini & Hochberg 1995). With fewer than 20
    dialogues (or shared contexts) interval and p are Student's, with fewer than 6 there is no p.

    Args:
        scores: What `dialens.score` or `Scores.open` gives.
        level: `agent` or `system`.
        baseline: Compare everyone with this one only.
        metrics: Names of metrics or families among those scored; if not given, all without
            baselines, which would only widen the family that is corrected for.
        resamples: How many times dialogues are drawn.
        seed: Of the draw.
        confidence: Of the intervals.
    """
    sums = DialogSums(scores)
    if metrics:
        chosen = set(scores.select(metrics))
    else:
        chosen = {name for name, card in scores.cards.items() if not card.is_baseline}
    groups = sums.groups(level)
    alone = [
        _alone(sums, group, resamples, np.random.default_rng([seed, number]))
        for number, group in enumerate(groups)
    ]
    points = [sums.values(sums.total(group)) for group in groups]
    rows: list[dict[str, object]] = []
    for a, b in _pairs(groups, baseline, level):
        shared = _shared_contexts(sums, groups[a], groups[b])
        draws = alone[a], alone[b]
        if shared:
            rng = np.random.default_rng([seed, a, b])
            draws = _together(sums, groups[a], groups[b], resamples, rng)
        for metric in sums.metrics:
            name = metric.name
            if name not in chosen:
                continue
            value_a, why_a = _estimate(points[a][name])
            value_b, why_b = _estimate(points[b][name])
            gap = low = high = p = test = None
            reason = why_a or why_b
            if value_a is not None and value_b is not None:
                gap = value_a - value_b
                apart = _difference(gap, *draws, name, paired=shared > 0)
                low, high, p, reason = _bounds(apart, confidence)
                test = BOOTSTRAP if p is not None else None
                sides = _sides(*draws, name, paired=shared > 0)
                if p is not None and units(sides) < FEW:
                    low, high, p, test, reason = _of_few(value_a, value_b, sides, confidence)
            rows.append(
                {
                    "level": level,
                    "metric": name,
                    "a": groups[a].name,
                    "b": groups[b].name,
                    "value_a": value_a,
                    "value_b": value_b,
                    "difference": gap,
                    "low": low,
                    "high": high,
                    "p": p,
                    "n_a": len(groups[a].rows),
                    "n_b": len(groups[b].rows),
                    "paired": shared > 0,
                    "n_shared": shared,
                    "basis": sums.basis(metric),
                    "test": test,
                    "reason": reason,
                }
            )
    return corrected(pl.DataFrame(rows, schema=COMPARISONS))


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


def _alone(
    sums: DialogSums, group: Group, resamples: int, rng: np.random.Generator
) -> _Draws | None:
    clusters = sums.clusters(group.rows, by_context=sums.keyed(group.rows))
    totals = cluster_sums(sums.rows[group.rows], coarsened(clusters, rng))
    return _Draws.of(sums, totals, resamples, rng)


def _together(
    sums: DialogSums, a: Group, b: Group, resamples: int, rng: np.random.Generator
) -> tuple[_Draws, _Draws]:
    """Draw contexts; each brings the dialogues of both, side by side in one row."""
    both = np.concatenate([a.rows, b.rows])
    clusters = coarsened(sums.clusters(both, by_context=True), rng)
    width = sums.rows.shape[1]
    side_by_side = np.zeros((len(both), 2 * width))
    side_by_side[: len(a.rows), :width] = sums.rows[a.rows]
    side_by_side[len(a.rows) :, width:] = sums.rows[b.rows]
    totals = cluster_sums(side_by_side, clusters)
    drawn = resampled_sums(totals, resamples, rng)
    left_out = left_out_sums(totals)
    first, second = slice(None, width), slice(width, None)
    return (
        _Draws.computed(sums, drawn[:, first], left_out[:, first]),
        _Draws.computed(sums, drawn[:, second], left_out[:, second]),
    )


def _difference(
    gap: float, a: _Draws | None, b: _Draws | None, name: str, *, paired: bool
) -> Resampled | None:
    if a is None or b is None:
        return None
    pulls = np.concatenate(_sides(a, b, name, paired=paired))
    return Resampled(gap, a.replicates[name] - b.replicates[name], pulls)


def _sides(a: _Draws | None, b: _Draws | None, name: str, *, paired: bool) -> list[Floats]:
    """How much each unit pulls at the difference: both sides of a pair together, or each side."""
    if a is None or b is None:
        return []
    if paired:
        return [a.pulls[name] - b.pulls[name]]
    return [a.pulls[name], -b.pulls[name]]


def _of_few(
    a: float, b: float, sides: list[Floats], confidence: float
) -> tuple[float | None, float | None, float | None, str | None, str | None]:
    """Low, high, p, the test and why there is none, where there are few units."""
    if units(sides) < 2:
        return None, None, None, None, TOO_FEW
    kept = [pulls[~np.isnan(pulls)] for pulls in sides]
    low, high, p = (float(number) for number in jackknife_t(a, b, kept, confidence=confidence))
    if units(sides) < FEWEST:
        return low, high, None, None, TOO_FEW
    return low, high, p, T, None


def _estimate(values: Values) -> tuple[float | None, str | None]:
    if values.code[0]:
        return None, values.reasons[values.code[0] - 1]
    return float(values.value[0]), None


def _bounds(
    drawn: Resampled | None, confidence: float
) -> tuple[float | None, float | None, float | None, str | None]:
    """Low, high and p, or why there are none."""
    if drawn is None:
        return None, None, None, "needs at least two dialogs of each"
    if drawn.undefined > _MOST_UNDEFINED:
        return None, None, None, f"not defined in {drawn.undefined:.0%} of the resamples"
    low, high = drawn.interval(confidence)
    return low, high, drawn.two_sided_p(), None
