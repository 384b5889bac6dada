"""The gate: a run held against rules, and against a baseline where they ask for one."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dialens.analysis.comparison import (
    RESAMPLES,
    DialogSums,
    Sides,
    join_runs,
    open_run,
    require_run,
    run_names,
)
from dialens.analysis.gating._judge import Judge
from dialens.analysis.gating._result import DECISIONS, Check, GateResult, Outcome
from dialens.analysis.gating._rules import Rule, about_metric, as_rules, metrics_of
from dialens.base import MEMORY, DialensError, did_you_mean, listed
from dialens.corpus import Corpus
from dialens.metrics import Resources, Scores

Run = str | Path | Corpus | Scores


def gate(
    run: Run,
    *,
    baseline: Run | None = None,
    rules: str | Rule | Sequence[str | Rule],
    decide: str = "shown",
    confidence: float = 0.95,
    resources: Resources | None = None,
    cache: Path | None = None,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> GateResult:
    """Hold a run against rules; they are decided on intervals, not on the values alone.

    A rule on a change is paired by shared prompts where most of them are. Of several checks (rules
    times agents) each gets its share of the error (Bonferroni), so that a run in which nothing
    changed is stopped in one gate of twenty at most; with `excluded` that is not needed, since all
    must be shown to hold.

    Args:
        run: A score folder, a file or folder of conversations, a corpus, or scores.
        baseline: The same, to hold changes against.
        rules: One or several, such as ``engagement drop > 0.02``, ``toxicity > 0.1`` or
            ``length change > 20%``.
        decide: `shown` stops a run that is shown to break a rule; `excluded` one that is not shown
            to keep it.
        confidence: Of the intervals, before the correction for several checks.
        resources: Lexicons, models, prompt and seed, for conversations.
        cache: Where scores of conversations are kept; None keeps none.
        resamples: Draws, for metrics in steps.
        seed: Of the draws.

    Raises:
        DialensError: A rule cannot be read, or names what this run does not have.

    Examples:
        >>> from dialens.corpus import Dialogue, Turn
        >>> def run(*lengths):
        ...     talks = [
        ...         Dialogue("s", "bot", f"d{i}", [Turn("U", "partner", f"Case {i}"),
        ...                                        Turn("B", "agent", "well " * words)])
        ...         for i, words in enumerate(lengths)
        ...     ]
        ...     return Corpus.of(talks)
        >>> before, after = run(8, 9, 10, 11, 12, 13, 14), run(8, 7, 6, 5, 4, 3, 2)
        >>> result = gate(after, baseline=before, rules=["length drop > 1"])
        >>> result.passed
        False
        >>> print(result.checks[0].sentence)
        failed: length drop > 1: 5.00 against 11.00, a drop of 6.00 (2.00 to 10.00), 7 shared \
prompts; the whole interval lies beyond 1.
    """
    known = as_rules(rules)
    if decide not in DECISIONS:
        raise DialensError(f"Decide on what is `shown` or `excluded`, not {decide!r}.")
    changes = [rule for rule in known if rule.needs_baseline]
    if changes and baseline is None:
        raise DialensError(
            f"The rule '{changes[0].text}' speaks of a {changes[0].kind}: name a baseline."
        )
    names = _names(run, baseline)
    wanted = metrics_of(known)
    for place in (run, baseline):
        if isinstance(place, str | Path):
            require_run(Path(place))

    def opened(place: Run) -> Scores:
        return open_run(place, metrics=wanted, resources=resources, cache=cache)

    runs = {names[0]: opened(run)}
    if baseline is not None:
        runs[names[1]] = opened(baseline)
    return gate_runs(
        runs, known, decide=decide, confidence=confidence, resamples=resamples, seed=seed
    )


def gate_runs(
    runs: dict[str, Scores],
    rules: Sequence[Rule],
    *,
    decide: str,
    confidence: float = 0.95,
    resamples: int = RESAMPLES,
    seed: int = 0,
    memory: int = MEMORY,
) -> GateResult:
    """The same for scores by name: the run first, then the baseline if there is one."""
    name, *rest = runs
    scores = runs[name]
    known = {metric: card.selected_by for metric, card in scores.cards.items()}
    for rule in rules:
        about_metric(rule, known)
    planned = _planned(runs, rules)
    level = confidence if decide == "excluded" else 1 - (1 - confidence) / len(planned)
    judges = _Judges(runs, planned, level, resamples, seed, memory)
    checks = tuple(judges.judge(plan) for plan in planned)
    return GateResult(name, rest[0] if rest else None, checks, decide, level)


@dataclass(frozen=True)
class _Planned:
    """A rule for one agent; `reason` says why it cannot be judged."""

    rule: Rule
    agent: str
    shown: str
    baseline_agent: str | None = None
    reason: str | None = None


def _planned(runs: dict[str, Scores], rules: Sequence[Rule]) -> list[_Planned]:
    """Every rule for every agent that it speaks of."""
    agents = {name: _agents(scores) for name, scores in runs.items()}
    run, *rest = agents
    own = agents[run]
    before = agents[rest[0]] if rest else []
    several = len(own) > 1 or len(before) > 1
    planned = []
    for rule in rules:
        if rule.agent is not None and rule.agent not in own:
            raise DialensError(
                f"The rule '{rule.text}' is about {rule.agent!r}, whom {run} does not have. "
                f"{did_you_mean(rule.agent, own)}Agents: {listed(own)}."
            )
        chosen = [rule.agent] if rule.agent is not None else own
        for agent in chosen:
            shown = agent if several else ""
            if not rule.needs_baseline:
                planned.append(_Planned(rule, agent, shown))
                continue
            other = agent if agent in before else before[0] if not several else None
            reason = None if other else f"{rest[0]} has no agent of that name"
            planned.append(_Planned(rule, agent, shown, other, reason))
        if rule.needs_baseline and rule.agent is None and several:
            planned += [
                _Planned(rule, agent, agent, agent, f"{run} has no agent of that name")
                for agent in before
                if agent not in own
            ]
    return planned


class _Judges:
    """A judge for rules on values, one for those on changes."""

    def __init__(
        self,
        runs: dict[str, Scores],
        planned: Sequence[_Planned],
        confidence: float,
        resamples: int,
        seed: int,
        memory: int,
    ) -> None:
        self._run, *rest = runs
        self._baseline = rest[0] if rest else ""
        self._cards = runs[self._run].cards
        self._reasons: dict[str, str] = {}
        self._values: Judge | None = None
        self._changes: Judge | None = None
        self._numbers: dict[tuple[str, str], int] = {}

        def judge(scores: Scores, metrics: set[str]) -> Judge:
            sums = DialogSums(scores, sorted(metrics), memory=memory)
            sides = Sides(sums, sums.groups("agent"), resamples=resamples, seed=seed)
            return Judge(sides, confidence)

        values = {plan.rule.metric for plan in planned if not plan.rule.needs_baseline}
        changes = {plan.rule.metric for plan in planned if plan.rule.needs_baseline}
        if values:
            self._values = judge(runs[self._run], values)
        if changes:
            joined = join_runs(runs, required=False)
            again = "Score both runs again with the same options"
            for name, why in joined.different.items():
                self._reasons[name] = f"it {why}. {again}"
            for name, having in joined.not_everywhere.items():
                self._reasons[name] = f"it was scored in {listed(having)} only"
            if ready := changes - set(self._reasons):
                self._changes = judge(joined.scores, ready)
        # Groups stand in the order in which runs were joined, agents in that of their run.
        every = [(run, agent) for run in runs for agent in _agents(runs[run])]
        self._numbers = {who: number for number, who in enumerate(every)}

    def judge(self, plan: _Planned) -> Check:
        rule, card = plan.rule, self._cards[plan.rule.metric]
        reason = plan.reason
        if rule.needs_baseline:
            reason = reason or self._reasons.get(rule.metric)
        if reason is not None:
            return Check(rule, card, plan.shown, Outcome.NOT_JUDGED, reason=reason)
        own = self._numbers[self._run, plan.agent]
        if plan.baseline_agent is None:
            assert self._values is not None
            return self._values.value(rule, card, plan.shown, own)
        assert self._changes is not None
        pair = own, self._numbers[self._baseline, plan.baseline_agent]
        return self._changes.change(rule, card, plan.shown, pair)


def _agents(scores: Scores) -> list[str]:
    """The agents of a run by name, with their systems' where two are called the same."""
    units = scores.agents().select("system", "agent")
    agents = units["agent"].to_list()
    if len(set(agents)) == len(agents):
        return agents
    return [f"{system} / {agent}" for system, agent in units.iter_rows()]


def _names(run: Run, baseline: Run | None) -> list[str]:
    """What the runs are called: their places, or what they are."""
    given = [run] if baseline is None else [run, baseline]
    if all(isinstance(each, str | Path) for each in given):
        return run_names([Path(str(each)) for each in given])
    return ["this run", "the baseline"][: len(given)]
