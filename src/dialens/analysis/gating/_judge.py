"""One rule held against one agent: the effect, its interval, and what that says."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from dialens.analysis.comparison import ALIKE, TOO_FEW, GroupStatistics, Sides
from dialens.analysis.gating._few_differ import few_differ
from dialens.analysis.gating._result import Check, Outcome
from dialens.analysis.gating._rules import Rule
from dialens.metrics import MetricCard
from dialens.statistics import FEWEST, TInference

_HALVINGS = 60
_FARTHEST = 1e6
_NEAR_ZERO = (
    "the baseline's value is not far enough from 0 for a limit in percent; "
    "give the limit in the metric's own unit"
)
_SAME = "both have the same value in every dialogue"
_SAME_PAIRED = "both have the same value for every shared prompt"


class Judge:
    """Judges rules on the agents of one run, or of a run and its baseline."""

    def __init__(self, sides: Sides, confidence: float) -> None:
        """Take the agents with the metrics that rules speak of, and the intervals' confidence."""
        self.sides = sides
        self.confidence = confidence
        names = [metric.name for metric in sides.sums.metrics]
        self._places = {name: place for place, name in enumerate(names)}
        self._pairs: dict[tuple[int, int], tuple[GroupStatistics, GroupStatistics, int]] = {}
        self._inferred: dict[tuple[int, int | None], TInference] = {}

    def value(self, rule: Rule, card: MetricCard, agent: str, number: int) -> Check:
        """A rule on a value."""
        alone, at = self.sides.alone(number), self._places[rule.metric]
        check = Check(
            rule,
            card,
            agent,
            Outcome.NOT_JUDGED,
            n=len(self.sides.groups[number].rows),
        )
        value = float(alone.jackknife.value[at])
        if (why := self.sides.missing(number)[at]) is not None:
            return replace(check, reason=f"no value: {why}")
        check = replace(check, value=value, effect=value)
        if alone.jackknife.units < FEWEST:
            return replace(check, reason=TOO_FEW)
        found = self._found(number, None)
        lowest, highest = (float(ends[at]) for ends in self.sides.ranges())
        low, high = float(found.low[at]), float(found.high[at])
        if np.isnan(low):
            low, high = few_differ(alone, None, at, paired=False, confidence=self.confidence)
        return decided(check, float(np.maximum(low, lowest)), float(np.minimum(high, highest)))

    def change(self, rule: Rule, card: MetricCard, agent: str, pair: tuple[int, int]) -> Check:
        """A rule on a change; `pair` is the run's agent and the baseline's."""
        run, baseline = pair
        at = self._places[rule.metric]
        own, other, shared = self._pair(run, baseline)
        check = Check(
            rule,
            card,
            agent,
            Outcome.NOT_JUDGED,
            n=len(self.sides.groups[run].rows),
            n_baseline=len(self.sides.groups[baseline].rows),
            n_shared=shared,
        )
        values = [float(side.jackknife.value[at]) for side in (own, other)]
        for number, who in ((run, "the run"), (baseline, "the baseline")):
            if (why := self.sides.missing(number)[at]) is not None:
                return replace(check, reason=f"{who} has no value: {why}")
        effect = _effect(rule, *values)
        check = replace(check, value=values[0], baseline_value=values[1], effect=effect)
        if min(own.jackknife.units, other.jackknife.units) < FEWEST:
            return replace(check, reason=TOO_FEW)
        if _unchanged(own, other, at, paired=shared > 0):
            reason = _SAME_PAIRED if shared else _SAME
            return replace(check, outcome=Outcome.PASSED, reason=reason)

        def contrast(factor: float) -> TInference:
            other_side = other.times(np.full(len(self.sides.sums.metrics), factor))
            return own.compared(other_side, paired=shared > 0, confidence=self.confidence)

        if rule.relative:
            if values[1] == 0 or effect is None:
                return replace(check, effect=None, reason=_NEAR_ZERO)
            ratio = values[0] / values[1]
            if np.isnan(contrast(ratio).low[at]):
                return decided(check, np.nan, np.nan)
            ends = ratio_interval(contrast, at, ratio)
            if ends is None:
                return replace(check, reason=_NEAR_ZERO)
            signs = [_effect(rule, end * values[1], values[1]) for end in ends]
            low, high = sorted(np.nan if end is None else end for end in signs)
            return decided(check, low, high)
        found = self._found(run, baseline)
        low, high = float(found.low[at]), float(found.high[at])
        if np.isnan(low) and found.constant[at] and found.p[at] < 1 - self.confidence:
            low = high = values[0] - values[1]  # no dialogue says anything else
        if np.isnan(low):
            paired = shared > 0
            low, high = few_differ(own, other, at, paired=paired, confidence=self.confidence)
        if rule.kind == "drop":
            low, high = -high, -low
        return decided(check, low, high)

    def _pair(self, run: int, baseline: int) -> tuple[GroupStatistics, GroupStatistics, int]:
        if (run, baseline) not in self._pairs:
            self._pairs[run, baseline] = self.sides.pair(run, baseline)
        return self._pairs[run, baseline]

    def _found(self, run: int, baseline: int | None) -> TInference:
        """The inference on all metrics at once, of values or of differences."""
        if (run, baseline) not in self._inferred:
            other, paired = None, False
            if baseline is None:
                own = self.sides.alone(run)
            else:
                own, other, shared = self._pair(run, baseline)
                paired = shared > 0
            found = own.compared(other, paired=paired, confidence=self.confidence)
            self._inferred[run, baseline] = found
        return self._inferred[run, baseline]


def decided(check: Check, low: float, high: float) -> Check:
    """The check with its interval and what that says; undecided where there is none."""
    if np.isnan(low) or np.isnan(high):
        return replace(check, outcome=Outcome.UNDECIDED, reason=ALIKE)
    limit, kind = check.rule.limit, check.rule.kind
    if kind == "below":
        beyond, within = high < limit, low >= limit
    elif kind == "change":
        beyond, within = low > limit or high < -limit, -limit <= low and high <= limit
    else:
        beyond, within = low > limit, high <= limit
    outcome = Outcome.FAILED if beyond else Outcome.PASSED if within else Outcome.UNDECIDED
    return replace(check, low=low, high=high, outcome=outcome)


def ratio_interval(
    contrast: Callable[[float], TInference], at: int, ratio: float
) -> tuple[float, float] | None:
    """The ratios that a contrast cannot tell from the one seen (Fieller 1954).

    A ratio c is among them if the interval of run − c · baseline holds 0, so that a limit in
    percent is judged with the uncertainty of the baseline too. None where they have no end, since
    the baseline's value might be 0.

    Args:
        contrast: The inference on run − c · baseline for a c.
        at: The place of the metric.
        ratio: The one seen.
    """

    def holds(c: float) -> bool:
        found = contrast(c)
        return bool(found.low[at] <= 0 <= found.high[at])

    if not holds(ratio):
        return None
    ends = []
    for direction in (-1.0, 1.0):
        inside, step = ratio, max(abs(ratio), 1.0) / 8
        while holds(inside + direction * step):
            inside += direction * step
            step *= 2
            if step > _FARTHEST:
                return None
        outside = inside + direction * step
        for _ in range(_HALVINGS):
            middle = (inside + outside) / 2
            if holds(middle):
                inside = middle
            else:
                outside = middle
        ends.append(inside)
    return ends[0], ends[1]


def _effect(rule: Rule, value: float, baseline: float) -> float | None:
    effect = baseline - value if rule.kind == "drop" else value - baseline
    if not rule.relative:
        return effect
    return effect / abs(baseline) if baseline else None


def _unchanged(own: GroupStatistics, other: GroupStatistics, at: int, *, paired: bool) -> bool:
    """Whether nothing differs anywhere, so that there is no spread to make an interval of."""
    first, second = own.jackknife, other.jackknife
    if paired:
        apart = first - second
        return bool(apart.constant[at]) and bool(np.all(apart.left_out[at] == 0))
    constant = bool(first.constant[at]) and bool(second.constant[at])
    return constant and bool(first.value[at] == second.value[at])
