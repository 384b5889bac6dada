"""Power of a win rate: which of two replies is better."""

from collections.abc import Iterator

import numpy as np
from scipy import special, stats

from dialens.base import DialensError, Estimate
from dialens.statistics._bootstrap import Floats
from dialens.statistics.power._analysis import (
    COMPUTED,
    mean_of,
    mean_width,
    share_seen,
    verdicts,
)
from dialens.statistics.power._binary import logit_of, refuse_shares
from dialens.statistics.power._curve import SIMULATIONS
from dialens.statistics.power._design import Design, LogitParts, PlannedPower

_CELLS_AT_ONCE = 2_000_000


def power_pairwise(
    win_rate: float,
    *,
    raters: int,
    items: int,
    ties: float = 0.0,
    parts: LogitParts | None = None,
    shared_raters: bool = False,
    alpha: float = 0.05,
    simulations: int = SIMULATIONS,
    seed: int = 0,
) -> PlannedPower:
    """The chance to see that one agent wins more than half of its comparisons.

    Without variance of raters and items, comparisons are independent: the exact binomial test of
    those that are decided. Otherwise comparisons are drawn from a logistic model, a tie counts as
    half a win, and the mean is tested against one half with items, and raters who come back, as
    samples.

    Args:
        win_rate: Share of the decided comparisons that the first agent wins.
        raters: Who compare each pair of replies.
        items: That both agents answer: pairs of replies.
        ties: Share of comparisons that end in a tie.
        parts: How much raters and items differ in whom they prefer, in logits (`rater`, `item`).
        shared_raters: Whether the same raters compare all pairs, or each pair has its own.
        alpha: Of the test; the interval has confidence 1 − alpha.
        simulations: Studies to draw where comparisons are not independent.
        seed: Random seed.

    Returns:
        Power; `effect` is the win rate minus one half, `width` that of the interval of the mean
        score, in which ties are half a win; `ratings` counts comparisons.

    Examples:
        >>> found = power_pairwise(0.9, raters=1, items=10)
        >>> round(found.power.value, 4)  # 9 or 10 wins of 10 have p < .05: 10 · .9⁹ · .1 + .9¹⁰
        0.7361
        >>> alike = LogitParts(rater=0.5, item=1.0)
        >>> few = power_pairwise(0.6, raters=4, items=40, parts=alike, shared_raters=True)
        >>> few.power.value < power_pairwise(0.6, raters=4, items=40).power.value
        True
    """
    refuse_shares(win=win_rate)
    if not 0 <= ties < 1:
        raise DialensError(f"The share of ties must be at least 0 and below 1; seen: {ties:g}.")
    spread = parts or LogitParts()
    if spread.dialog or spread.rater_agent:
        raise DialensError(
            "In comparisons only raters and items differ in whom they prefer; leave the variances "
            "of dialogues and of raters' favourites out (--dialog-sd, --rater-agent-sd)."
        )
    Design(raters, items).refuse_impossible()
    n = raters * items
    if spread.total == 0:
        found = (
            Estimate(_exact(win_rate, n, ties, alpha), basis=COMPUTED),
            Estimate(_width(win_rate, n, ties, alpha), basis=COMPUTED),
        )
        method = "The exact binomial test of independent comparisons; ties are left out"
    else:
        rng = np.random.default_rng([seed, raters, items])
        results = [
            verdicts(*mean_of(scores - 0.5, crossed=shared_raters), alpha=alpha)
            for scores in _comparisons(
                win_rate, ties, spread, (raters, items), simulations, rng, shared=shared_raters
            )
        ]
        seen, widths = (np.concatenate(parts) for parts in zip(*results, strict=True))
        found = share_seen(seen), mean_width(widths)
        method = (
            f"{simulations:,} simulated studies of a logistic model; the mean score, with ties as "
            f"half a win, is tested with items{' and raters' if shared_raters else ''} as samples"
        )
    tested = found[0] if win_rate != 0.5 else Estimate()
    return PlannedPower(raters, items, n, win_rate - 0.5, tested, found[1], method)


def _exact(win_rate: float, n: int, ties: float, alpha: float) -> float:
    """Power of the exact two-sided binomial test, averaged over how many are decided."""
    decided = np.arange(n + 1)
    weights = stats.binom.pmf(decided, n, 1 - ties) if ties else (decided == n).astype(float)
    # The most wins that one tail of alpha / 2 still holds; −1 where it holds none.
    limit = stats.binom.ppf(alpha / 2, decided, 0.5)
    limit = np.where(stats.binom.cdf(limit, decided, 0.5) > alpha / 2, limit - 1, limit)
    lower = stats.binom.cdf(limit, decided, win_rate)
    upper = stats.binom.cdf(limit, decided, 1 - win_rate)
    return float(weights @ np.where(limit >= 0, lower + upper, 0.0))


def _width(win_rate: float, n: int, ties: float, alpha: float) -> float:
    """Width of the normal interval of the mean score."""
    variance = (1 - ties) * 0.25 - ((1 - ties) * (win_rate - 0.5)) ** 2
    return float(2 * stats.norm.ppf(1 - alpha / 2) * np.sqrt(variance / n))


def _comparisons(
    win_rate: float,
    ties: float,
    parts: LogitParts,
    size: tuple[int, int],
    simulations: int,
    rng: np.random.Generator,
    *,
    shared: bool,
) -> Iterator[Floats]:
    """Scores of the first agent: studies × items × raters."""
    raters, items = size
    centre = logit_of(win_rate, parts.total)
    step = max(1, _CELLS_AT_ONCE // (raters * items))
    for start in range(0, simulations, step):
        shape = (min(step, simulations - start), items, raters)
        logits = centre + rng.normal(0, parts.item, (shape[0], items, 1))
        logits = logits + rng.normal(0, parts.rater, (shape[0], 1, raters) if shared else shape)
        scores = (rng.random(shape) < special.expit(logits)).astype(np.float64)
        yield np.where(rng.random(shape) < ties, 0.5, scores)
