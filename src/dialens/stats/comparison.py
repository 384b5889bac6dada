"""Agents and systems side by side: values, differences, intervals, corrected tests."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import polars as pl
from scipy import stats

from dialens.errors import DialensError
from dialens.metrics import Metric, Resources, Scores, Values, make_plan, state_of
from dialens.stats.bootstrap import (
    Floats,
    Ints,
    cluster_sums,
    coarsened,
    interval,
    resampled_sums,
    two_sided_p,
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
        "reason": pl.String,
    }
)
"""`difference` is a − b; `family` is how many tests `p_adjusted` was corrected over."""


@dataclass(frozen=True)
class _Group:
    """The dialogues of one agent or system."""

    system: str
    agent: str | None
    rows: Ints

    @property
    def name(self) -> str:
        return self.system if self.agent is None else f"{self.system} / {self.agent}"


class _Sums:
    """The dialogues of a run as rows of numbers that may be added, and the metrics over them."""

    def __init__(self, scores: Scores) -> None:
        self.frame = scores.states.collect()
        plan = make_plan(list(scores.signatures), Resources())
        self.metrics = plan.metrics
        names = [name for name in self.frame.columns if name == "other_turns" or "|" in name]
        self._names = names
        numbers = self.frame.select(names).to_numpy().astype(np.float64)
        state = state_of(dict(zip(names, numbers.T, strict=True)))
        self._mean_columns: dict[str, int] = {}
        extra = []
        for metric in self.metrics:
            if not adds_up(metric):
                self._mean_columns[metric.name] = len(names) + len(extra)
                values = metric.definition.compute(state)
                extra += [np.nan_to_num(values.value), (values.code == 0).astype(np.float64)]
        self.rows = np.column_stack([numbers, *extra]) if extra else numbers

    def values(self, sums: Floats) -> dict[str, Values]:
        """Every metric from sums of rows (one row a group or a resample)."""
        state = state_of(dict(zip(self._names, sums.T, strict=False)))
        made = {}
        for metric in self.metrics:
            at = self._mean_columns.get(metric.name)
            if at is None:
                made[metric.name] = metric.definition.compute(state)
            else:
                total, n = sums[:, at], sums[:, at + 1]
                mean = np.divide(total, n, out=np.zeros_like(total), where=n > 0)
                made[metric.name] = Values.where(mean, no_dialog_with_a_value=n == 0)
        return made

    def basis(self, metric: Metric) -> str:
        return "mean of dialogs" if metric.name in self._mean_columns else "pooled"

    def groups(self, level: str) -> list[_Group]:
        keys = ["system"] if level == "system" else ["system", "agent"]
        frame = self.frame.select(*keys).with_row_index("row")
        return [
            _Group(key[0], key[1] if len(key) > 1 else None, part["row"].to_numpy().astype(np.int64))
            for key, part in frame.group_by(keys, maintain_order=True)
        ]

    def keyed(self, rows: Ints) -> bool:
        """Whether contexts tell these dialogues apart, so that they can be drawn by context.

        Chat logs that all begin with "hi" share an opening but not a context: keys count only if
        there are at least half as many as dialogues.
        """
        keys = self.frame["context"].gather(rows)
        return not keys.null_count() and keys.n_unique() * 2 >= len(rows)

    def clusters(self, rows: Ints, *, by_context: bool) -> Ints:
        """A number for each dialogue; those with the same number are drawn together."""
        if not by_context:
            return rows
        return self.frame["context"].gather(rows).rank("dense").cast(pl.Int64).to_numpy()


def adds_up(metric: Metric) -> bool:
    """Whether a metric's sums may be resampled.

    Sets of n-grams may not: drawing a dialogue twice adds nothing to a union.
    """
    return all(feature.adds_up for feature in metric.definition.features)


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
    sums = _Sums(scores)
    rows: list[dict[str, object]] = []
    for number, group in enumerate(sums.groups(level)):
        rng = np.random.default_rng([seed, number])
        point = sums.values(sums.rows[group.rows].sum(axis=0, keepdims=True))
        drawn = _replicates(sums, group, resamples, rng)
        for metric in sums.metrics:
            estimate = _estimate(point[metric.name])
            low, high, reason = _bounds(drawn, metric.name, estimate, confidence)
            rows.append(
                {
                    "level": level,
                    "system": group.system,
                    "agent": group.agent,
                    "metric": metric.name,
                    "value": estimate[0],
                    "low": low,
                    "high": high,
                    "n_dialogs": len(group.rows),
                    "basis": sums.basis(metric),
                    "reason": reason,
                }
            )
    return pl.DataFrame(rows, schema=INTERVALS)


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
    two-sided and corrected over the whole table (Benjamini & Hochberg 1995).

    Args:
        scores: What `dialens.score` or `Scores.open` gives.
        level: `agent` or `system`.
        baseline: Compare everyone with this one only.
        metrics: Only these.
        resamples: How many times dialogues are drawn.
        seed: Of the draw.
        confidence: Of the intervals.
    """
    sums = _Sums(scores)
    groups = sums.groups(level)
    chosen = [metric for metric in sums.metrics if metrics is None or metric.name in metrics]
    alone = [
        _replicates(sums, group, resamples, np.random.default_rng([seed, number]))
        for number, group in enumerate(groups)
    ]
    points = [sums.values(sums.rows[group.rows].sum(axis=0, keepdims=True)) for group in groups]
    rows: list[dict[str, object]] = []
    for a, b in _pairs(groups, baseline, level):
        shared = _shared_contexts(sums, groups[a], groups[b])
        if shared:
            rng = np.random.default_rng([seed, a, b])
            drawn_a, drawn_b = _paired_replicates(sums, groups[a], groups[b], resamples, rng)
        else:
            drawn_a, drawn_b = alone[a], alone[b]
        for metric in chosen:
            name = metric.name
            value_a, why_a = _estimate(points[a][name])
            value_b, why_b = _estimate(points[b][name])
            gap = None if value_a is None or value_b is None else value_a - value_b
            apart: dict[str, Floats] | None = None
            if drawn_a is not None and drawn_b is not None:
                apart = {name: drawn_a[name] - drawn_b[name]}
            low, high, reason = _bounds(apart, name, (gap, why_a or why_b), confidence)
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
                    "p": None if low is None or apart is None else two_sided_p(apart[name]),
                    "n_a": len(groups[a].rows),
                    "n_b": len(groups[b].rows),
                    "paired": shared > 0,
                    "n_shared": shared,
                    "basis": sums.basis(metric),
                    "reason": reason,
                }
            )
    return _corrected(pl.DataFrame(rows, schema=COMPARISONS))


def _corrected(table: pl.DataFrame) -> pl.DataFrame:
    tested = table["p"].is_not_null()
    adjusted = np.full(table.height, np.nan)
    if tested.any():
        adjusted[tested.to_numpy()] = stats.false_discovery_control(table["p"].drop_nulls())
    return table.with_columns(
        p_adjusted=pl.Series(adjusted, nan_to_null=True),
        family=pl.when(tested).then(pl.lit(int(tested.sum()))).cast(pl.Int64),
    )


def _pairs(groups: list[_Group], baseline: str | None, level: str) -> list[tuple[int, int]]:
    if len(groups) < 2:
        raise DialensError(
            f"There is only one {level} in these scores ({groups[0].name}): nothing to compare. "
            "Score a corpus with several, or look at `--level`."
        )
    if baseline is None:
        return list(combinations(range(len(groups)), 2))
    matching = [i for i, g in enumerate(groups) if baseline in (g.name, g.agent, g.system)]
    if len(matching) != 1:
        names = ", ".join(group.name for group in groups)
        raise DialensError(f"The baseline {baseline!r} must name one {level} of: {names}.")
    return [(i, matching[0]) for i in range(len(groups)) if i != matching[0]]


def _shared_contexts(sums: _Sums, a: _Group, b: _Group) -> int:
    """How many contexts both answered; 0 if they are not the better part of either's dialogues."""
    if not (sums.keyed(a.rows) and sums.keyed(b.rows)):
        return 0
    keys_a = sums.frame["context"].gather(a.rows).unique()
    keys_b = sums.frame["context"].gather(b.rows).unique()
    shared = int(keys_a.is_in(keys_b.implode()).sum())
    return shared if 2 * shared >= max(len(keys_a), len(keys_b)) and shared > 1 else 0


def _replicates(
    sums: _Sums, group: _Group, resamples: int, rng: np.random.Generator
) -> dict[str, Floats] | None:
    clusters = sums.clusters(group.rows, by_context=sums.keyed(group.rows))
    clusters = coarsened(clusters, rng)
    if len(np.unique(clusters)) < 2:
        return None
    drawn = resampled_sums(cluster_sums(sums.rows[group.rows], clusters), resamples, rng)
    return {name: values.value for name, values in sums.values(drawn).items()}


def _paired_replicates(
    sums: _Sums, a: _Group, b: _Group, resamples: int, rng: np.random.Generator
) -> tuple[dict[str, Floats], dict[str, Floats]]:
    """Draw contexts; each brings the dialogues of both, side by side in one row."""
    both = np.concatenate([a.rows, b.rows])
    clusters = coarsened(sums.clusters(both, by_context=True), rng)
    width = sums.rows.shape[1]
    side_by_side = np.zeros((len(both), 2 * width))
    side_by_side[: len(a.rows), :width] = sums.rows[a.rows]
    side_by_side[len(a.rows) :, width:] = sums.rows[b.rows]
    drawn = resampled_sums(cluster_sums(side_by_side, clusters), resamples, rng)
    first, second = (sums.values(half) for half in (drawn[:, :width], drawn[:, width:]))
    return (
        {name: values.value for name, values in first.items()},
        {name: values.value for name, values in second.items()},
    )


def _estimate(values: Values) -> tuple[float | None, str | None]:
    if values.code[0]:
        return None, values.reasons[values.code[0] - 1]
    return float(values.value[0]), None


def _bounds(
    drawn: Mapping[str, Floats] | None,
    name: str,
    estimate: tuple[float | None, str | None],
    confidence: float,
) -> tuple[float | None, float | None, str | None]:
    """Low, high, or why there is no interval."""
    if estimate[0] is None:
        return None, None, estimate[1]
    if drawn is None:
        return None, None, "needs at least two dialogs of each"
    undefined = float(np.isnan(drawn[name]).mean())
    if undefined > _MOST_UNDEFINED:
        return None, None, f"not defined in {undefined:.0%} of the resamples"
    low, high = interval(drawn[name], confidence)
    return low, high, None
