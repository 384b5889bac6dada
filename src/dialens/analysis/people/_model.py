"""What raters think of agents: one mixed model a quality, raters and items both random.

Raters and items are samples: another study would have others. A difference between agents counts
only if it is larger than what other raters and other items would bring about (Clark 1973; Baayen,
Davidson & Bates 2008; Westfall, Kenny & Judd 2014), so that the model lets raters differ in how
they like an agent, and items in how well an agent does with them.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, Final

import polars as pl
from scipy import stats

from dialens.analysis.people._ranks import ranks
from dialens.analysis.people._ratings import (
    RatedQuality,
    no_variance,
    rare_answers,
    small_design,
    thin_agents,
    too_few,
)
from dialens.analysis.people._scales import LIKERT, MAGNITUDE, YES_NO
from dialens.base import DialensError, counted
from dialens.statistics import MixedFit, fit_mixed
from dialens.statistics.mixed import LatentFit, fit_binomial, fit_ordinal

UNITS: Final = {YES_NO: "share", MAGNITUDE: "magnitude"}
_INTERCEPT = "(intercept)"
_MOST_LATENT = 6_000  # ratings beyond which a model of categories takes minutes
Row = dict[str, Any]


@dataclass(frozen=True)
class Judged:
    """What raters said of the agents on one quality.

    Attributes:
        agents: Rows of `AGENTS`.
        differences: Rows of `AGENT_DIFFERENCES`, not corrected yet.
        notes: What was left out, and why.
    """

    agents: list[Row]
    differences: list[Row]
    notes: list[str]


@dataclass(frozen=True)
class _Estimate:
    """An estimate of the model with what a t test needs."""

    value: float
    error: float
    degrees: float

    def p(self, null: float = 0.0) -> float | None:
        """Two-sided p; None where the error is not known."""
        if not self.error > 0:
            return None
        return float(2 * stats.t.sf(abs(self.value - null) / self.error, self.degrees))

    def equivalent(self, smallest: float) -> float | None:
        """The p of two one-sided tests that the value lies within ±`smallest`."""
        if not self.error > 0:
            return None
        below = stats.t.cdf((self.value - smallest) / self.error, self.degrees)
        above = stats.t.sf((self.value + smallest) / self.error, self.degrees)
        return float(max(below, above))

    def ends(self, confidence: float) -> tuple[float, float]:
        """The interval."""
        reach = float(stats.t.ppf(0.5 + confidence / 2, self.degrees)) * self.error
        return self.value - reach, self.value + reach


def judge(quality: RatedQuality, *, smallest: float | None, confidence: float) -> Judged:
    """Means, differences and ranks of the agents on one quality.

    Args:
        quality: The ratings.
        smallest: The smallest difference that matters, in the unit of the differences: points,
            share, or for magnitudes a ratio such as 1.2.
        confidence: Of the intervals.
    """
    notes = [
        f"{counted(n, 'rating')} without {what}, left out of the comparison of agents"
        for what, n in quality.left_out.items()
    ]
    usable, zeros = _on_its_scale(quality)
    if zeros:
        notes.append(f"{counted(zeros, 'rating')} of 0 or less have no logarithm and are left out")
    if not usable.ratings.height:
        return Judged([], [], notes)
    thin = thin_agents(usable)
    known = [agent for agent in usable.agents if agent not in thin]
    if not known or len(known) < min(2, len(usable.agents)):
        return _without_test(usable, too_few(usable) or "", notes)
    kept = usable.only(known)
    flat = no_variance(kept.ratings)
    if flat is not None:
        return _without_test(usable, flat, notes)
    try:
        fit = _fitted(kept, confidence)
    except DialensError as error:
        return _without_test(usable, str(error), notes)
    notes += [note for note in (small_design(kept), rare_answers(kept)) if note]
    judged = _with_test(kept, fit, smallest, confidence, notes)
    return _with_thin_agents(usable, judged, thin) if thin else judged


def _with_thin_agents(quality: RatedQuality, judged: Judged, thin: Mapping[str, str]) -> Judged:
    """Adds agents that too few judged: their plain means, and no test against the others."""
    plain = _without_test(quality, "", [])
    agents = [row | {"reason": thin[row["agent"]]} for row in plain.agents if row["agent"] in thin]
    pairs = []
    for row in plain.differences:
        named = [name for name in (row["first"], row["second"]) if name in thin]
        if named:
            pairs.append(row | {"reason": thin[named[0]]})
    return Judged([*judged.agents, *agents], [*judged.differences, *pairs], judged.notes)


def _on_its_scale(quality: RatedQuality) -> tuple[RatedQuality, int]:
    """Magnitudes as logarithms; how many have none."""
    if quality.scale.kind != MAGNITUDE:
        return quality, 0
    kept = quality.ratings.filter(pl.col("value") > 0).with_columns(pl.col("value").log())
    lost = quality.ratings.height - kept.height
    return replace(quality, ratings=kept), lost


def _fitted(quality: RatedQuality, confidence: float) -> MixedFit:
    fixed = ["agent"] if len(quality.agents) > 1 else []
    return fit_mixed(quality.ratings, "value", fixed, quality.random, confidence=confidence)


def _with_test(
    quality: RatedQuality,
    fit: MixedFit,
    smallest: float | None,
    confidence: float,
    notes: list[str],
) -> Judged:
    agents = quality.agents
    means = {agent: _mean(quality, fit, agent) for agent in agents}
    latent = _latent(quality, confidence)
    method = _method(quality, fit, latent)
    pairs = list(combinations(agents, 2))
    rows = []
    for first, second in pairs:
        gap = _estimate(quality, fit, _weights(quality, first, second))
        rows.append(
            _pair(quality, first, second, gap.value, _gap_ends(quality, gap, confidence))
            | (
                _effect(gap, fit, confidence)
                if latent is None
                else _odds(quality, latent, gap, first, second)
            )
            | {"p_equivalence": _equivalence(quality, gap, smallest), "method": method}
        )
    places = ranks(
        {agent: mean.value for agent, mean in means.items()}, pairs, [row["p"] for row in rows]
    )
    told = []
    for agent in agents:
        rank, best, worst = places[agent] if len(agents) > 1 else (None, None, None)
        low, high = _mean_ends(quality, means[agent], confidence)
        told.append(
            _agent(quality, agent, means[agent].value, (low, high))
            | {"rank": rank, "rank_low": best, "rank_high": worst, "method": method}
        )
    return Judged(told, rows, notes)


def _without_test(quality: RatedQuality, reason: str, notes: list[str]) -> Judged:
    """Plain means where there is too little for intervals."""
    means = dict(quality.ratings.group_by("agent").agg(pl.col("value").mean()).iter_rows())
    told = [
        _agent(quality, agent, means[agent], (None, None))
        | {"method": "plain mean", "reason": reason}
        for agent in quality.agents
    ]
    rows = [
        _pair(quality, first, second, means[first] - means[second], (None, None))
        | {"method": "plain means", "reason": reason}
        for first, second in combinations(quality.agents, 2)
    ]
    return Judged(told, rows, notes)


def _mean(quality: RatedQuality, fit: MixedFit, agent: str) -> _Estimate:
    weights = {_INTERCEPT: 1.0}
    if agent != quality.agents[0]:
        weights[f"agent[{agent}]"] = 1.0
    return _estimate(quality, fit, weights)


def _gap_ends(quality: RatedQuality, gap: _Estimate, confidence: float) -> tuple[float, float]:
    """The interval of a difference; shares differ by no more than 1."""
    low, high = gap.ends(confidence)
    return (max(low, -1.0), min(high, 1.0)) if quality.scale.kind == YES_NO else (low, high)


def _weights(quality: RatedQuality, first: str, second: str) -> dict[str, float]:
    """The difference of two agents in terms of the model, whose reference is the first of all."""
    signs = {first: 1.0, second: -1.0}
    return {f"agent[{name}]": s for name, s in signs.items() if name != quality.agents[0]}


def _effect(gap: _Estimate, fit: MixedFit, confidence: float) -> Row:
    """The p, and d: the difference by the spread of all ratings (Westfall, Kenny & Judd 2014)."""
    spread = math.sqrt(sum(part.variance for part in fit.components))
    low, high = gap.ends(confidence)
    return {
        "p": gap.p(),
        "effect_size": gap.value / spread,
        "effect_low": low / spread,
        "effect_high": high / spread,
        "effect": "d",
    }


def _odds(quality: RatedQuality, latent: LatentFit, gap: _Estimate, first: str, second: str) -> Row:
    """The p and the log odds of a model of categories, on the linear model's degrees of freedom."""
    found = latent.contrast(_weights(quality, first, second), degrees=gap.degrees)
    return {
        "p": found.p if math.isfinite(found.p) else None,
        "effect_size": found.value,
        "effect_low": found.low,
        "effect_high": found.high,
        "effect": "log odds",
    }


def _latent(quality: RatedQuality, confidence: float) -> LatentFit | None:
    """The model of categories; None for other answers, where it cannot be, or takes too long."""
    fits = {LIKERT: fit_ordinal, YES_NO: fit_binomial}
    fit = fits.get(quality.scale.kind)
    if fit is None or len(quality.agents) < 2 or quality.ratings.height > _MOST_LATENT:
        return None
    try:
        return fit(quality.ratings, "value", ["agent"], quality.random, confidence=confidence)
    except DialensError:
        return None  # the linear model stands alone then, and `method` says so


def _estimate(quality: RatedQuality, fit: MixedFit, weights: dict[str, float]) -> _Estimate:
    found = fit.contrast(weights)
    if math.isnan(found.degrees):  # a flat likelihood: as many as the fewer units have
        fewest = min(quality.ratings[name].n_unique() for name in ("rater", "dialog"))
        return _Estimate(found.value, found.error, float(max(fewest - 1, 1)))
    return _Estimate(found.value, found.error, max(1.0, found.degrees))


def _mean_ends(quality: RatedQuality, mean: _Estimate, confidence: float) -> tuple[float, float]:
    """The interval of a mean; of a share Wilson's, which stays between 0 and 1.

    The error of a share tells how many independent answers it is worth: as many as would have that
    error at the share of all answers together, since the model has one error for all agents.
    """
    if quality.scale.kind != YES_NO:
        return mean.ends(confidence)
    share = min(max(mean.value, 0.0), 1.0)
    overall = float(quality.ratings["value"].mean())  # type: ignore[arg-type]
    worth = overall * (1 - overall) / mean.error**2
    squared = float(stats.t.ppf(0.5 + confidence / 2, mean.degrees)) ** 2 / worth
    centre = (share + squared / 2) / (1 + squared)
    reach = math.sqrt(squared * share * (1 - share) + squared**2 / 4) / (1 + squared)
    return max(centre - reach, 0.0), min(centre + reach, 1.0)


def _equivalence(quality: RatedQuality, gap: _Estimate, smallest: float | None) -> float | None:
    if smallest is None:
        return None
    if quality.scale.kind != MAGNITUDE:
        return gap.equivalent(smallest)
    return gap.equivalent(math.log(smallest)) if smallest > 1 else None


def _agent(
    quality: RatedQuality, agent: str, mean: float, ends: tuple[float | None, float | None]
) -> Row:
    counts = quality.units().filter(pl.col("agent") == agent).row(0, named=True)
    values: tuple[float | None, ...] = (mean, *ends)
    if quality.scale.kind == YES_NO:
        values = (min(max(mean, 0.0), 1.0), *ends)
    if quality.scale.kind == MAGNITUDE:
        values = tuple(_exp(value) for value in values)
    return {
        "quality": quality.quality,
        "scale": quality.scale.kind,
        **counts,
        **dict(zip(("mean", "low", "high"), values, strict=True)),
        "unit": UNITS.get(quality.scale.kind, "points"),
    }


def _pair(
    quality: RatedQuality,
    first: str,
    second: str,
    gap: float,
    ends: tuple[float | None, float | None],
) -> Row:
    values: tuple[float | None, ...] = (gap, *ends)
    if quality.scale.kind == MAGNITUDE:
        values = tuple(_exp(value) for value in values)
    part = quality.ratings.filter(pl.col("agent").is_in([first, second]))
    return {
        "quality": quality.quality,
        "scale": quality.scale.kind,
        "first": first,
        "second": second,
        **dict(zip(("difference", "low", "high"), values, strict=True)),
        "unit": "ratio"
        if quality.scale.kind == MAGNITUDE
        else UNITS.get(quality.scale.kind, "points"),
        "n_raters": part["rater"].n_unique(),
        "n_items": part["dialog"].n_unique(),
    }


def _exp(value: float | None) -> float | None:
    return None if value is None else math.exp(value)


def _method(quality: RatedQuality, fit: MixedFit, latent: LatentFit | None) -> str:
    groups = list(dict.fromkeys(part.term for part in fit.components if part.term != "residual"))
    what = {
        LIKERT: "points of an ordinal scale",
        YES_NO: "yes and no as 1 and 0",
        MAGNITUDE: "magnitudes as logarithms",
    }.get(quality.scale.kind, "answers as they are")
    linear = (
        f"linear mixed model ({what}, {quality.scale.why}), random: {', '.join(groups) or 'none'}; "
        "t with Satterthwaite’s degrees of freedom"
    )
    if latent is None:
        return linear
    name = "cumulative-link" if quality.scale.kind == LIKERT else "binomial"
    return f"means and differences: {linear}; p and log odds: {name} mixed model, same degrees"
