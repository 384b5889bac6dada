"""Intervals by drawing items, raters, or both anew.

- over **items**: these raters, other items. The usual interval of alpha and kappa.
- over **raters**: these items, other raters.
- over **both**: other items and other raters (the pigeonhole bootstrap, Owen 2007); it errs on the
  side of width.

A rater drawn twice agrees with its copy perfectly. Statistics here never compare copies, so that
replicates are not pushed upwards (Brennan 2007 corrects the same for variance components).
Intervals are bias-corrected and accelerated, see `dialens.statistics._bootstrap.Resampled`.
"""

from collections.abc import Callable, Iterator, Mapping

import numpy as np

from dialens.base import Estimate
from dialens.statistics._bootstrap import MOST_UNDEFINED, Resampled, cluster_counts
from dialens.statistics.agreement._matrix import ONCE, Floats, RatingMatrix, Weights

OVER = ("items", "raters", "both")
RESAMPLES = 1_000
_MOST_LEFT_OUT = 200
_CELLS_AT_ONCE = 4_000_000

Statistics = Callable[[Weights], Mapping[str, Floats]]
"""Every statistic of a table as a function of how often items and raters count."""


def intervals(
    table: RatingMatrix,
    statistics: Statistics,
    over: str,
    *,
    resamples: int = RESAMPLES,
    seed: int | list[int] = 0,
    confidence: float = 0.95,
) -> dict[str, Estimate]:
    """Bootstrap intervals of all statistics of a table, from the same draws.

    Args:
        table: The ratings.
        statistics: What is computed from weights.
        over: `items`, `raters` or `both`.
        resamples: How many draws.
        seed: Random seed.
        confidence: Confidence level of the intervals.

    Examples:
        >>> rng = np.random.default_rng(0)
        >>> table = RatingMatrix.of_array(rng.normal(size=(30, 1)) + rng.normal(size=(30, 8)))
        >>> from dialens.statistics.agreement._intraclass import icc_replicates
        >>> found = intervals(table, lambda w: icc_replicates(table, w), "items")["ICC(2,1)"]
        >>> bool(found.low < 0.5 < found.high)
        True
    """
    n, k = len(table.items), len(table.raters)
    reason = _too_few(n, k, over)
    estimates = statistics(ONCE)
    if reason:
        return dict.fromkeys(estimates, Estimate(reason=reason))
    rng = np.random.default_rng(seed)
    replicates = _gathered(statistics, drawn(n, k, over, resamples, rng))
    left: list[Mapping[str, Floats]] = []
    if over in ("items", "both"):
        left.append(_gathered(statistics, [Weights(items=_left_out(n))]))
    if over in ("raters", "both"):
        left.append(_gathered(statistics, [Weights(raters=_left_out(k))]))
    result = {}
    for name, estimate in estimates.items():
        influence = np.concatenate([_mean(part[name]) - part[name] for part in left])
        result[name] = _interval(
            Resampled(float(estimate[0]), replicates[name], influence), confidence, over
        )
    return result


def _too_few(items: int, raters: int, over: str) -> str | None:
    if over != "raters" and items < 3:
        return f"{items} items are too few to be drawn anew"
    if over != "items" and raters == 0:
        return "raters are not known: they cannot be drawn anew"
    if over != "items" and raters < 4:
        return f"{raters} raters are too few to be drawn anew"
    return None


def drawn(n: int, k: int, over: str, resamples: int, rng: np.random.Generator) -> Iterator[Weights]:
    """Draws in blocks; the numbers drawn do not depend on where the blocks end."""
    items = _counts(n, resamples, rng) if over != "raters" else None
    raters = _counts(k, resamples, rng) if over != "items" else None
    step = max(1, _CELLS_AT_ONCE // max(n, k))
    for start in range(0, resamples, step):
        part = slice(start, start + step)
        yield Weights(
            None if items is None else items[:, part], None if raters is None else raters[:, part]
        )


def _counts(size: int, resamples: int, rng: np.random.Generator) -> Floats:
    """How often each of `size` is drawn, one column a resample."""
    return np.ascontiguousarray(cluster_counts(size, resamples, rng).T, dtype=np.float64)


def _left_out(size: int) -> Floats:
    """Weights without each in turn; of many, without one of two hundred groups in turn."""
    groups = min(size, _MOST_LEFT_OUT)
    weights = np.ones((size, groups))
    weights[np.arange(size), np.arange(size) % groups] = 0
    return weights


def _gathered(
    statistics: Statistics, parts: "Iterator[Weights] | list[Weights]"
) -> dict[str, Floats]:
    found = [statistics(part) for part in parts]
    return {name: np.concatenate([part[name] for part in found]) for name in found[0]}


def _mean(values: Floats) -> float:
    present = values[~np.isnan(values)]
    return float(present.mean()) if len(present) else float("nan")


def _interval(drawn: Resampled, confidence: float, over: str) -> Estimate:
    if np.isnan(drawn.estimate):
        return Estimate(reason="the statistic itself is not defined")
    if drawn.undefined > MOST_UNDEFINED:
        what = "items and raters" if over == "both" else over
        return Estimate(
            drawn.estimate, reason=f"not defined for {drawn.undefined:.0%} of the draws of {what}"
        )
    return Estimate(drawn.estimate, *drawn.interval(confidence))
