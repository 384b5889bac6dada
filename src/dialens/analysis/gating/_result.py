"""What a gate found: a check a rule and agent, in numbers and in sentences."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from dialens.analysis.comparison import note_on_pairs, rests_on
from dialens.analysis.gating._rules import Rule
from dialens.base import counted, listed, number
from dialens.metrics import MetricCard

DECISIONS: Final = ("shown", "excluded")
"""`shown` fails what is shown to be beyond its limit, `excluded` whatever is not shown to be
within."""
_FINE = 0.1
_MOST_NEEDED = 100_000
_OF_CHANGE = {"drop": "a drop of", "rise": "a rise of", "change": "a change of"}

_NAMED = 2


class Outcome(StrEnum):
    """What an interval says of a rule."""

    PASSED = "passed"
    FAILED = "failed"
    UNDECIDED = "undecided"
    NOT_JUDGED = "not judged"


@dataclass(frozen=True)
class Check:
    """One rule held against one agent.

    Attributes:
        rule: The rule.
        card: Of its metric.
        agent: The agent's name, empty where the run has one only.
        outcome: What the interval says.
        value: Of the run.
        baseline_value: Of the baseline, for rules on changes.
        effect: The drop, rise or change, a share of the baseline where the rule is relative; the
            value itself for rules on values.
        low: Low end of its interval.
        high: High end.
        n: Dialogues of the run.
        n_baseline: Dialogues of the baseline.
        n_shared: Prompts that both answered; 0 where the comparison is not paired.
        reason: Why there is no interval, or why none was needed.
    """

    rule: Rule
    card: MetricCard
    agent: str
    outcome: Outcome
    value: float | None = None
    baseline_value: float | None = None
    effect: float | None = None
    low: float | None = None
    high: float | None = None
    n: int = 0
    n_baseline: int | None = None
    n_shared: int = 0
    reason: str | None = None

    @property
    def name(self) -> str:
        """The rule, and the agent where there are several."""
        return f"{self.rule.text} · {self.agent}" if self.agent else self.rule.text

    @property
    def dialogues_needed(self) -> int | None:
        """About how many dialogues would decide, should everything stay as it is now."""
        if self.outcome is not Outcome.UNDECIDED or self.low is None or self.high is None:
            return None
        if self.effect is None:
            return None
        limit = self.rule.limit
        if self.rule.kind == "change" and self.effect < 0:
            limit = -limit
        half = self.high - self.effect if limit > self.effect else self.effect - self.low
        away = abs(limit - self.effect)
        units = self.n_shared or min(self.n, self.n_baseline or self.n)
        if away == 0 or units * (half / away) ** 2 > _MOST_NEEDED:
            return None
        return max(int(units * (half / away) ** 2 * 1.05) + 1, units + 1)

    @property
    def rests_on(self) -> str:
        """What the numbers rest on."""
        return rests_on(self.n, self.n_baseline, self.n_shared)

    @property
    def values(self) -> str:
        """The value of the run, and the baseline's where it was needed."""
        own = self._written(self.value)
        if self.baseline_value is None:
            return own
        return f"{own} against {self._written(self.baseline_value)}"

    @property
    def measured(self) -> str:
        """The effect with its interval; a dash where it is missing."""
        if self.effect is None:
            return "–"
        if not self.rule.needs_baseline:
            return self._with_interval(self._written(self.effect))
        percent = self.rule.relative or self.card.percent
        text = number(self.effect, self._digits, percent=percent)
        if not self.rule.relative and self.card.percent:
            text = f"{text.removesuffix(' %')} points"
        return self._with_interval(text)

    @property
    def limit(self) -> str:
        """The limit in the unit of what was measured."""
        if not self.card.percent or self.rule.relative:
            return self.rule.limit_text
        text = f"{100 * self.rule.limit:g}"
        return f"{text} points" if self.rule.needs_baseline else f"{text} %"

    @property
    def why(self) -> str:
        """What was measured and why that gives the outcome, without a full stop."""
        if self.outcome is Outcome.NOT_JUDGED:
            known = "" if self.value is None else f"{self.values}; "
            return f"{known}{self.reason}"
        what = self.values
        if self.rule.needs_baseline:
            what = f"{what}, {_OF_CHANGE[self.rule.kind]} {self.measured}"
        elif self.low is not None:
            what = self.measured
        return f"{what}, {self.rests_on}; {self._verdict()}"

    @property
    def sentence(self) -> str:
        """The whole in one sentence."""
        return f"{self.outcome}: {self.name}: {self.why}."

    def as_json(self) -> dict[str, Any]:
        """Everything as JSON values."""
        return {
            "rule": self.rule.text,
            "metric": self.rule.metric,
            "agent": self.agent or None,
            "outcome": str(self.outcome),
            "value": self.value,
            "baseline_value": self.baseline_value,
            "effect": self.effect,
            "low": self.low,
            "high": self.high,
            "limit": self.rule.limit,
            "relative": self.rule.relative,
            "n": self.n,
            "n_baseline": self.n_baseline,
            "n_shared": self.n_shared,
            "dialogues_needed": self.dialogues_needed,
            "reason": self.reason,
            "sentence": self.sentence,
        }

    def _verdict(self) -> str:
        if self.reason is not None:
            return self.reason
        if self.outcome is not Outcome.UNDECIDED:
            failed = self.outcome is Outcome.FAILED
            if self.rule.needs_baseline:
                where = "beyond" if failed else "within"
            else:
                where = "below" if failed is (self.rule.kind == "below") else "above"
            return f"the whole interval lies {where} {self.limit}"
        needed = self.dialogues_needed
        more = f", about {needed:,} dialogues would decide" if needed else ""
        return f"{self.limit} lies in the interval{more}"

    @property
    def _digits(self) -> int:
        if self.rule.relative or self.card.percent:
            return 1
        narrow = self.low is not None and self.high is not None and self.high - self.low < _FINE
        return 3 if narrow or self.rule.limit < _FINE else 2

    def _written(self, value: float | None) -> str:
        digits = 1 if self.card.percent else 3 if self.rule.relative else self._digits
        return number(value, digits, percent=self.card.percent)

    def _with_interval(self, text: str) -> str:
        if self.low is None or self.high is None:
            return text
        percent = self.rule.relative or self.card.percent
        low, high = (
            number(end, self._digits, percent=percent).removesuffix(" %")
            for end in (self.low, self.high)
        )
        return f"{text} ({low} to {high})"


@dataclass(frozen=True)
class GateResult:
    """What a gate found.

    Attributes:
        run: The name of the run.
        baseline: The name of the baseline, where there is one.
        checks: One a rule and agent.
        decide: Whether what is `shown` to be beyond its limit fails, or all that is not `excluded`.
        confidence: Of the intervals, after the correction for several checks.
    """

    run: str
    baseline: str | None
    checks: tuple[Check, ...]
    decide: str
    confidence: float

    @property
    def passed(self) -> bool:
        """Whether the gate lets the run through."""
        return not any(self.stops(check) for check in self.checks)

    @property
    def status(self) -> int:
        """The exit status: 0 or 1."""
        return 0 if self.passed else 1

    def stops(self, check: Check) -> bool:
        """Whether a check stops the run."""
        if check.outcome is Outcome.UNDECIDED:
            return self.decide == "excluded"
        return check.outcome is not Outcome.PASSED

    @property
    def verdict(self) -> str:
        """The whole in one sentence, without a full stop."""
        counts = [
            f"{sum(check.outcome is outcome for check in self.checks)} {outcome}"
            for outcome in Outcome
            if any(check.outcome is outcome for check in self.checks)
        ]
        against = f" against {self.baseline}" if self.baseline else ""
        word = "passed" if self.passed else "failed"
        stopping = [check.name for check in self.checks if self.stops(check)]
        if len(stopping) > _NAMED:
            stopping[_NAMED:] = [f"{len(stopping) - _NAMED:,} more"]
        return (
            f"Gate {word}: {self.run}{against}, "
            f"{counted(len(self.checks), 'check')}: {listed(counts)}"
            + (f" ({listed(stopping)})" if stopping else "")
        )

    @property
    def method(self) -> str:
        """How it was decided, in two sentences."""
        percent = f"{100 * self.confidence:.4g} % intervals"
        several = len(self.checks) > 1
        if self.decide == "excluded":
            return (
                f"Decided on {percent}: a rule fails unless its interval excludes what it forbids."
            )
        shared = f" ({counted(len(self.checks), 'check')} share 5 %)" if several else ""
        return (
            f"Decided on {percent}{shared}: a rule fails when its interval shows what it forbids; "
            "undecided ones do not fail."
        )

    @property
    def not_paired(self) -> str:
        """That run and baseline share no prompts, where a change was judged; else empty."""
        changes = {each.agent: each for each in self.checks if each.n_baseline is not None}
        return note_on_pairs(len(changes), sum(not each.n_shared for each in changes.values()))

    def lines(self) -> list[str]:
        """Verdict, then what stops the run, then the rest; how it was decided last."""
        first: Sequence[Check] = sorted(self.checks, key=lambda check: not self.stops(check))
        return [
            f"{self.verdict}.",
            *(f"  {check.sentence}" for check in first),
            *([self.not_paired] if self.not_paired else []),
            self.method,
        ]

    def __str__(self) -> str:
        """The lines as one text."""
        return "\n".join(self.lines())

    def as_json(self) -> dict[str, Any]:
        """Everything as JSON values."""
        return {
            "passed": self.passed,
            "run": self.run,
            "baseline": self.baseline,
            "decide": self.decide,
            "confidence": self.confidence,
            "checks": [check.as_json() for check in self.checks],
        }
