"""Several runs as one, so that their agents can be compared: names, metrics, shared prompts."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from pathlib import Path

import polars as pl

from dialens.analysis.comparison._dialog_sums import Group
from dialens.base import DialensError, did_you_mean, listed
from dialens.metrics import MetricCard, ScoredMetric, Scores, named
from dialens.models import arithmetic_in, in_floats, without_arithmetic
from dialens.statistics import FEWEST

_PACKED = (".gz", ".bz2", ".xz", ".zst")


@dataclass(frozen=True)
class JoinedRuns:
    """Several runs as one.

    Attributes:
        scores: The dialogues of all, with the metrics that may be compared.
        cards: Of the metrics that all runs have, also of those that may not be compared.
        run_of: The run of each system in `scores`.
        different: Metrics that all runs have but that may not be compared, each with the reason.
        not_everywhere: Metrics that some run lacks, each with the runs that have it.
    """

    scores: Scores
    cards: Mapping[str, MetricCard] = field(repr=False)
    run_of: Mapping[str, str] = field(repr=False)
    different: Mapping[str, str] = field(repr=False)
    not_everywhere: Mapping[str, tuple[str, ...]] = field(repr=False)

    def select(self, names: Sequence[str] | None) -> list[str]:
        """Metrics by name or family, those among them that may not be compared; all if None.

        Raises:
            DialensError: A name is that of no metric that all runs have.
        """
        if not names:
            return [name for name, card in self.cards.items() if not card.is_baseline]
        groups = {key for card in self.cards.values() for key in card.selected_by}
        for name in names:
            if having := self.not_everywhere.get(name):
                raise DialensError(
                    f"{name} was scored in {listed(having)} only. "
                    "Score the other run with it too, or leave it out."
                )
            if name not in self.cards and name not in groups and name != "all":
                hint = did_you_mean(name, [*self.cards, *sorted(groups)])
                raise DialensError(
                    f"These runs share no metric or family {name!r}. {hint}"
                    f"They share: {', '.join(self.cards)}."
                )
        return [card.name for card in named(names, self.cards)]

    def called(self, groups: Sequence[Group]) -> list[Group]:
        """The groups with the shortest names that tell them apart: agent, run, or both."""
        names = shortest_names([(self.run_of[g.system], g.system, g.agent) for g in groups])
        return [replace(group, name=name) for group, name in zip(groups, names, strict=True)]

    def pairs(self, groups: Sequence[Group], baseline: str | None) -> list[tuple[int, int]]:
        """Which groups are compared, the later run's first.

        Agents of one name are versions of each other; where no name stands in two runs, or each
        run has one agent, everyone is compared with everyone of the other runs.
        """
        runs = [self.run_of[group.system] for group in groups]
        across = [(b, a) for a, b in combinations(range(len(groups)), 2) if runs[a] != runs[b]]
        versions = [pair for pair in across if groups[pair[0]].agent == groups[pair[1]].agent]
        by_name = self._versions() and groups[0].agent is not None
        chosen = versions if by_name else across
        if baseline is None:
            return chosen
        known = [(baseline in (runs[i], group.name)) for i, group in enumerate(groups)]
        turned = [(a, b) if known[b] else (b, a) for a, b in chosen if known[a] != known[b]]
        if not turned:
            names = listed(sorted({*runs, *(group.name for group in groups)}))
            raise DialensError(f"The baseline {baseline!r} must be one of these: {names}.")
        return turned

    def unmatched(self) -> list[str]:
        """Agents that are compared with nobody: others have versions in two runs, they do not."""
        if not self._versions():
            return []
        once = self._agents().group_by("agent").agg("run").filter(pl.col("run").list.len() == 1)
        return [f"{agent} ({run[0]})" for agent, run in once.sort("agent").iter_rows()]

    def _versions(self) -> bool:
        """Whether agents of one name in several runs are versions of each other."""
        agents = self._agents()
        several = agents["run"].n_unique() < agents.height
        return several and agents["agent"].n_unique() < agents.height

    def _agents(self) -> pl.DataFrame:
        return self.scores.agents().select(
            pl.col("system").replace_strict(self.run_of).alias("run"), "agent"
        )


def join_runs(runs: Mapping[str, Scores], *, required: bool = True) -> JoinedRuns:
    """Put several runs side by side; metrics that were scored in different ways are left out.

    Args:
        runs: Scores by name, in the order in which they were made.
        required: Whether there must be a metric that may be compared.

    Raises:
        DialensError: There are fewer than two runs, or no metric where one is required.
    """
    if len(runs) < 2:
        raise DialensError("To compare runs, name two or more.")
    every = {name: [run for run in runs if name in runs[run].cards] for name in _all_names(runs)}
    shared = [name for name, having in every.items() if len(having) == len(runs)]
    scored = {run: {m.name: m for m in scores.metrics} for run, scores in runs.items()}
    different = {
        name: why
        for name in shared
        if (why := _why_not({run: scored[run][name] for run in runs})) is not None
    }
    kept = [name for name in shared if name not in different]
    if not kept and required:
        raise DialensError(f"{listed(list(runs))} share no metric{_told(different)}.")
    columns = [set(scores.state_columns(kept)) for scores in runs.values()]
    common = set.intersection(*columns)
    names_of = {run: systems_of(run, scores) for run, scores in runs.items()}
    states = []
    for run, scores in runs.items():
        ordered = [name for name in scores.states.collect_schema().names() if name in common]
        rows = scores.states.select("system", "agent", "dialog", "context", "partial", *ordered)
        states.append(rows.with_columns(pl.col("system").replace_strict(names_of[run])))
    columns_kept = states[0].collect_schema().names()
    first = next(iter(runs.values()))
    metrics = tuple(metric for metric in first.metrics if metric.name in kept)
    joined = Scores(
        pl.concat([_renamed(runs[run].table, names_of[run], kept) for run in runs]),
        contexts_told_apart(pl.concat([rows.select(columns_kept) for rows in states])),
        pl.concat(
            [_renamed(runs[run].dialogs, names_of[run]) for run in runs], how="diagonal_relaxed"
        ),
        pl.concat(
            [_renamed(runs[run].positions.lazy(), names_of[run], kept) for run in runs]
        ).collect(),
        metrics,
    )
    return JoinedRuns(
        joined,
        {name: first.cards[name] for name in shared},
        {system: run for run in runs for system in names_of[run].values()},
        different,
        {name: tuple(having) for name, having in every.items() if len(having) < len(runs)},
    )


def shortest_names(sides: Sequence[tuple[str, str, str | None]]) -> list[str]:
    """Names that tell sides apart, each a run, a system and, unless systems are compared, an agent.

    Examples:
        >>> shortest_names([("v1", "v1", "bot"), ("v2", "v2", "bot")])
        ['v1', 'v2']
    """
    ways = (
        [agent or system for _, system, agent in sides],
        [run for run, _, _ in sides],
        [f"{run} / {agent}" for run, _, agent in sides],
        [f"{system} / {agent}" for _, system, agent in sides],
    )
    if sides and sides[0][2] is None:
        ways = (ways[1], ways[0], *ways[2:])
    return next(way for way in ways if len(set(way)) == len(sides))


def run_names(places: Iterable[Path]) -> list[str]:
    """What runs are called: the folder or file, with as many parents as tell them apart.

    Examples:
        >>> run_names([Path("runs/v1"), Path("chats/v2.jsonl.gz")])
        ['v1', 'v2']
        >>> run_names([Path("main/out"), Path("branch/out")])
        ['main/out', 'branch/out']
    """
    parts = [(*place.absolute().parts[1:-1], _stem(place.absolute())) for place in places]
    if len(set(parts)) < len(parts):
        raise DialensError("The same run was named twice. Name two that differ.")
    for length in range(1, max(map(len, parts), default=1) + 1):
        names = ["/".join(part[-length:]) for part in parts]
        if len(set(names)) == len(names):
            return names
    raise AssertionError("paths that differ have parts that differ")


def _stem(place: Path) -> str:
    if place.is_dir():
        return place.name
    bare = place.with_suffix("") if place.suffix in _PACKED else place
    return bare.stem


def _all_names(runs: Mapping[str, Scores]) -> list[str]:
    return list(dict.fromkeys(name for scores in runs.values() for name in scores.names))


def _why_not(metrics: Mapping[str, ScoredMetric]) -> str | None:
    """Why a metric, given as each run scored it, may not be compared between them."""
    for run, metric in metrics.items():
        if metric.failure is not None:
            return f"has no values in {run}: {metric.failure}"
    signatures = {run: in_floats(metric.signature) for run, metric in metrics.items()}
    if len(set(signatures.values())) == 1:
        return None
    if len({without_arithmetic(signature) for signature in signatures.values()}) == 1:
        own = "; ".join(
            f"{run}: {arithmetic_in(metric.signature) or 'none'}" for run, metric in metrics.items()
        )
        return (
            f"was computed in different arithmetic ({own}): score the runs with one --precision "
            "and --device; a GPU's scores go with --precision fp32"
        )
    parts = {run: signature.split("|")[1:] for run, signature in signatures.items()}
    common = set.intersection(*(set(own) for own in parts.values()))
    own = "; ".join(
        f"{run}: {', '.join(part for part in own if part not in common) or 'without'}"
        for run, own in parts.items()
    )
    return f"was scored in different ways ({own})"


def _told(different: Mapping[str, str]) -> str:
    if not different:
        return ". Score them with the same --metrics"
    name, why = next(iter(different.items()))
    more = f", and {len(different) - 1} more" if len(different) > 1 else ""
    return f" that may be compared: {name} {why}{more}. Score both runs again with the same options"


def systems_of(run: str, scores: Scores) -> dict[str, str]:
    """The systems of a run by what they are called among those of all runs."""
    systems = scores.agents()["system"].unique(maintain_order=True)
    if len(systems) == 1:
        return {systems[0]: run}
    return {system: f"{run} / {system}" for system in systems}


def _renamed(
    table: pl.LazyFrame, systems: Mapping[str, str], metrics: Sequence[str] | None = None
) -> pl.LazyFrame:
    kept = table if metrics is None else table.filter(pl.col("metric").is_in(list(metrics)))
    return kept.with_columns(pl.col("system").replace_strict(dict(systems), default=None))


def contexts_told_apart(states: pl.LazyFrame) -> pl.LazyFrame:
    """The states with contexts that tell dialogues apart.

    Where openings do not, since everyone begins with "hi", the same opening *and* the same
    dialogue id make a pair, as in a suite of test cases that was run twice.
    """
    times = states.group_by("system", "agent", "context").agg(times=pl.len())
    openings = (
        times.group_by("system", "agent")
        .agg(
            kinds=pl.len(),
            dialogs=pl.col("times").sum(),
            even=pl.col("times").n_unique() == 1,
        )
        .collect(engine="streaming")
    )
    designed = pl.col("even") & (pl.col("kinds") >= FEWEST)
    told_apart = openings.select((2 * pl.col("kinds") >= pl.col("dialogs")) | designed)
    if told_apart.to_series().all():
        return states
    both = pl.struct("context", "dialog").hash()
    return states.with_columns(
        context=pl.when(pl.col("context").is_not_null()).then(both).cast(pl.UInt64)
    )
