"""Predicted power against studies drawn anew and analysed by another program.

Each line plans one study with a function of `dialens.statistics.power`, writes the prediction into
the design, then draws such studies and analyses them by scipy's tests over the means of raters or
items. `p<.05` is the power that these have; without an effect it is the level, and should be .05.
Ten times as many studies are drawn as asked for: they cost nothing. Where raters and items are both
samples, see `power_models`.
"""

from collections.abc import Iterator

import numpy as np
from scipy import special, stats

from dialens.statistics import Floats
from dialens.statistics.power import (
    Design,
    LogitParts,
    PlannedPower,
    VarianceParts,
    icc_precision,
    power_between,
    power_binary,
    power_equivalence,
    power_pairwise,
    power_within,
)
from inference_parts.lines import Line

SIMULATIONS = 10_000


def line_of(method: str, what: str, units: str, plan: PlannedPower, p: Floats) -> Line:
    """Predicted and simulated power of one study."""
    power = plan.power.value
    said = "no effect" if power is None else f"predicted {power:.2f}"
    seen = float((p < 0.05).mean())
    return Line(method, f"{what}, {said}", units, len(p), seen, None, 0, null=power is None)


def logit(share: float, sd: float) -> float:
    """The logit whose shares average to a share, by bisection on a fine sample."""
    normal = stats.norm.ppf((np.arange(20_000) + 0.5) / 20_000) * sd
    low, high = -20.0, 20.0
    for _ in range(60):
        middle = (low + high) / 2
        below = special.expit(middle + normal).mean() < share
        low, high = (middle, high) if below else (low, middle)
    return low


def cells(runs: int, rng: np.random.Generator) -> Iterator[Line]:
    """Two cells; a t-test over the means of raters."""
    for raters, items, rater, effect in (
        (12, 10, 0.5, 0.6),
        (12, 10, 0.5, 0.0),
        (5, 20, 0.5, 0.9),
        (40, 5, 1.0, 0.7),
    ):
        parts = VarianceParts(rater=rater, item=0.8, residual=0.9)
        y = rng.normal(0, 0.9, (runs, 2, raters, items)) + rng.normal(0, 0.8, (runs, 1, 1, items))
        y += rng.normal(0, rater, (runs, 2, raters, 1))
        means = y.mean(axis=3)
        yield line_of(
            "power_between, t-test of raters",
            f"effect {effect:g}",
            f"{raters} × {items}",
            power_between(parts, effect, raters=raters, items=items),
            stats.ttest_ind(means[:, 0], means[:, 1] + effect, axis=1).pvalue,
        )


def agents(runs: int, rng: np.random.Generator) -> Iterator[Line]:
    """Two agents on the same items; a t-test over items, and two one-sided ones."""
    parts = VarianceParts(rater=0.5, item=0.5, dialog=0.3, residual=0.8)
    y = rng.normal(0, 0.8, (runs, 2, 40, 5)) + rng.normal(0, 0.3, (runs, 2, 40, 1))
    gaps = y.mean(axis=3)[:, 1] - y.mean(axis=3)[:, 0]  # raters and items cancel
    design = Design(5, 40, shared_raters=True)
    yield line_of(
        "power_within, t-test of items",
        "effect 0.3",
        "5 × 40",
        power_within(parts, 0.3, design),
        np.asarray(stats.ttest_1samp(gaps + 0.3, 0.0, axis=1).pvalue),
    )
    for margin, true in ((0.3, 0.0), (0.4, 0.1)):
        above = stats.ttest_1samp(gaps + true, -margin, axis=1, alternative="greater").pvalue
        below = stats.ttest_1samp(gaps + true, margin, axis=1, alternative="less").pvalue
        yield line_of(
            "power_equivalence, two t-tests",
            f"margin {margin:g}, true difference {true:g}",
            "5 × 40",
            power_equivalence(parts, margin, design, effect=true),
            np.maximum(above, below),
        )


def shares(runs: int, rng: np.random.Generator) -> Iterator[Line]:
    """Yes or no: a t-test over items, over raters, or the test of two proportions."""
    spread = LogitParts(rater=0.8, item=0.8)
    for between, raters, items, pair in (
        (False, 5, 40, (0.5, 0.62)),
        (False, 2, 40, (0.05, 0.15)),
        (True, 20, 15, (0.5, 0.65)),
        (True, 20, 15, (0.1, 0.2)),
        (True, 20, 15, (0.1, 0.1)),
    ):
        centres = np.array([logit(share, spread.total) for share in pair])
        logits = centres[:, None, None] + rng.normal(0, 0.8, (runs, 1, 1, items))
        logits = logits + rng.normal(0, 0.8, (runs, 2 if between else 1, raters, 1))
        said = rng.random((runs, 2, raters, items)) < special.expit(logits)
        if between:
            means = said.mean(axis=3)
            p = stats.ttest_ind(means[:, 0], means[:, 1], axis=1).pvalue
        else:
            means = said.mean(axis=2)
            p = stats.ttest_rel(means[:, 0], means[:, 1], axis=1).pvalue
        design = Design(raters, items, shared_raters=not between, between=between)
        yield line_of(
            f"power_binary, {'cells' if between else 'agents'}",
            f"shares {pair[0]:g} and {pair[1]:g}",
            f"{raters} × {items}",
            power_binary(*pair, design, parts=spread, simulations=SIMULATIONS),
            np.nan_to_num(p, nan=1.0),
        )
    counts = rng.binomial(80, [0.5, 0.7], (runs, 2))
    yield line_of(
        "power_binary, independent",
        "shares 0.5 and 0.7",
        "80",
        power_binary(0.5, 0.7, Design(1, 80)),
        np.array(
            [
                stats.chi2_contingency([[a, 80 - a], [b, 80 - b]], correction=False).pvalue
                for a, b in counts
            ]
        ),
    )


def comparisons(runs: int, rng: np.random.Generator) -> Iterator[Line]:
    """Win rates: a t-test over items whose raters are their own, and the exact binomial test."""
    spread = LogitParts(rater=0.4, item=0.8)
    for win_rate, ties in ((0.62, 0.0), (0.65, 0.3), (0.5, 0.0)):
        logits = logit(win_rate, spread.total) + rng.normal(0, 0.8, (runs, 40, 1))
        logits = logits + rng.normal(0, 0.4, (runs, 40, 3))
        won = (rng.random(logits.shape) < special.expit(logits)).astype(np.float64)
        score = np.where(rng.random(logits.shape) < ties, 0.5, won).mean(axis=2)
        yield line_of(
            "power_pairwise, own raters",
            f"win rate {win_rate:g}, ties {ties:g}",
            "3 × 40",
            power_pairwise(
                win_rate, raters=3, items=40, ties=ties, parts=spread, simulations=SIMULATIONS
            ),
            np.asarray(stats.ttest_1samp(score, 0.5, axis=1).pvalue),
        )
    decided = rng.binomial(100, 0.8, runs)
    wins = rng.binomial(decided, 0.65)
    yield line_of(
        "power_pairwise, binomial test",
        "win rate 0.65, ties 0.2",
        "100",
        power_pairwise(0.65, raters=1, items=100, ties=0.2),
        np.array([stats.binomtest(*pair).pvalue for pair in zip(wins, decided, strict=True)]),
    )


def reliability(runs: int, rng: np.random.Generator) -> Iterator[Line]:
    """Here `p<.05` is the share of intervals no wider than wanted, against the assurance."""
    for icc, raters, items, width in ((0.6, 3, 60, 0.25), (0.85, 4, 20, 0.2), (0.3, 5, 10, 0.55)):
        y = rng.normal(0, np.sqrt(icc), (runs, items, 1))
        y = y + rng.normal(0, np.sqrt(1 - icc), (runs, items, raters))
        f = stats.f_oneway(*np.moveaxis(y, 1, 0), axis=1).statistic
        free = items - 1, items * (raters - 1)
        ratios = f / stats.f.ppf(0.975, *free), f * stats.f.ppf(0.975, *free[::-1])
        low, high = ((ratio - 1) / (ratio + raters - 1) for ratio in ratios)
        assured = icc_precision(icc, raters=raters, items=items, width=width).power.value
        yield Line(
            "icc_precision, width as wanted",
            f"ICC {icc:g}, width {width:g}, predicted {assured:.2f}",
            f"{raters} × {items}",
            runs,
            float((high - low <= width).mean()),
            float(((low <= icc) & (icc <= high)).mean()),
            0,
            null=False,
        )


def lines(runs: int, seed: int) -> Iterator[Line]:
    """Every function that plans a study."""
    rng = np.random.default_rng([seed, 15])
    for part in (cells, agents, shares, comparisons, reliability):
        yield from part(10 * runs, rng)
