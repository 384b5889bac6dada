"""The engine: every feature once per turn, every level from the same sums, batch by batch."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeVar

import numpy as np
import polars as pl

from dialens.base import DialensError, first_line, listed
from dialens.corpus import Corpus
from dialens.metrics._batch import Ints, TurnBatch, Words, group_sums
from dialens.metrics._card import Metric
from dialens.metrics._family import Family
from dialens.metrics._family_features import score_family
from dialens.metrics._features import Feature, Merger, Sums, WordCount
from dialens.metrics._pace import Shares
from dialens.metrics._scorers import ScorerSet
from dialens.metrics._state import Floats, State, Values

T = TypeVar("T")
R = TypeVar("R")

UNITS = ("system", "agent", "dialog", "turn")
MAX_POSITION = 20


@dataclass(frozen=True)
class Column:
    """A metric's values for the units of one level.

    Attributes:
        values: What was computed, and why not where it was not.
        n: How many of the agent's turns stand behind each value.
        n_missing: How many of its turns gave none.
        missing: Turns without a value by reason (units × `turn_reasons`); None for turns.
        turn_reasons: What those reasons are.
    """

    values: Values
    n: Ints
    n_missing: Ints
    missing: Ints | None = None
    turn_reasons: tuple[str, ...] = ()

    def reason(self) -> pl.Series:
        """Why a value, or some turns behind it, are missing; null where nothing is.

        A turn has one reason; a larger unit lists its own, if it has one, and counts its turns'. A
        reason that is counted is not said once more.
        """
        own = pl.Series([None, *self.values.reasons], dtype=pl.String).gather(self.values.code)
        if self.missing is None or not self.missing.any():
            return own.alias("reason")
        counted = pl.DataFrame({f"m{i}": self.missing[:, i] for i in range(len(self.turn_reasons))})
        parts = [
            pl.when(pl.col(f"m{i}") > 0).then(pl.format(f"{reason} ×{{}}", pl.col(f"m{i}")))
            for i, reason in enumerate(self.turn_reasons)
        ]
        counted_already = [
            (pl.col("own") == reason) & (pl.col(f"m{i}") > 0)
            for i, reason in enumerate(self.turn_reasons)
        ]
        alone = pl.when(~pl.any_horizontal(counted_already)).then("own")
        joined = counted.with_columns(own=own).select(
            pl.concat_str(alone, *parts, separator="; ", ignore_nulls=True).alias("reason")
        )
        return joined.to_series().replace("", None)


@dataclass(frozen=True)
class Part:
    """Scores of some units of one level.

    Attributes:
        level: turn, dialog, agent, system, or position (the n-th turn of an agent in dialogues).
        units: Who they are: columns system, agent, dialog, turn, null above a unit's level.
        columns: By metric name.
        state: The summed features behind them (not kept for turns).
        contexts: For dialogues, a key of what the agent was first given to answer.
        failures: Why metrics have no value at all: their scorer could not be used. By metric name.
    """

    level: str
    units: pl.DataFrame
    columns: Mapping[str, Column]
    state: State | None = None
    contexts: pl.Series | None = None
    failures: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class ScoringPlan:
    """What is computed in one pass.

    Attributes:
        metrics: Bound to the resources of the run.
        prompt: What a turn is held against.
        scorers: The scorers of the run.

    Raises:
        DialensError: Two metrics define a feature of one name differently.
    """

    metrics: tuple[Metric, ...]
    prompt: str = "context"
    scorers: ScorerSet = field(default_factory=ScorerSet)

    def __post_init__(self) -> None:
        owners: dict[str, tuple[Feature, Metric]] = {}
        for metric in self.metrics:
            for feature in metric.definition.features:
                first, owner = owners.setdefault(feature.name, (feature, metric))
                if first != feature:
                    raise DialensError(
                        f"The metrics {owner.name!r} (family {owner.card.family!r}) and "
                        f"{metric.name!r} (family {metric.card.family!r}) define the feature "
                        f"{feature.name!r} differently. Give the feature of one of them another "
                        "name."
                    )

    @cached_property
    def features(self) -> dict[str, Feature]:
        """All features by name, each once."""
        return {f.name: f for metric in self.metrics for f in metric.definition.features}

    @cached_property
    def compared(self) -> set[str]:
        """Names of the features that some metric holds against the other side."""
        return {
            feature.name
            for metric in self.metrics
            if "partner" in metric.card.needs
            for feature in metric.definition.features
        }

    @cached_property
    def families(self) -> dict[str, Family]:
        """The families whose scorers are asked, by name."""
        return {family.name: family for metric in self.metrics for family in metric.families}

    @cached_property
    def both_sides(self) -> set[str]:
        """Names of the families that are asked for everyone's turns, not the agent's alone."""
        return {
            family.name
            for metric in self.metrics
            if "partner" in metric.card.needs
            for family in metric.families
        }

    @property
    def failures(self) -> dict[str, str]:
        """Why metrics will have no value, by metric name, as far as their scorers were opened."""
        return self.failures_of({n: self.scorers.failed(f) for n, f in self.families.items()})

    def failures_of(self, reasons: Mapping[str, str | None]) -> dict[str, str]:
        """By metric name, why it has no value; `reasons` are those of families, by their name."""
        failed: dict[str, str] = {}
        for metric in self.metrics:
            for family in metric.families:
                reason = reasons.get(family.name)
                if reason is not None:
                    failed.setdefault(metric.name, reason)
        return failed

    def open(self, names: Iterable[str] | None = None) -> None:
        """Open the scorers, of all families or of some by name; `failures` says what failed."""
        for name, family in self.families.items():
            if names is None or name in names:
                self.scorers.ready(family)

    def at(self, level: str) -> list[Metric]:
        """The metrics that are defined on a level."""
        return [metric for metric in self.metrics if level in metric.card.levels]


def open_scorers(corpus: Corpus, plan: ScoringPlan) -> pl.DataFrame | None:
    """The references, where a metric of the plan reads them; its scorers are opened and see all.

    What scorers depend on stands in signatures, so that this comes before anything is scored.
    """
    families = plan.families.values()
    if not families:
        return None
    wanted = [family for family in families if "reference" in family.reads]
    kept = corpus.references.select("dialog", "turn", "text")
    references = kept.collect(engine="streaming") if wanted else None

    def texts() -> list[str]:
        texts = kept.select("text").drop_nulls().sort("text").collect()["text"]
        return [text for text in texts.to_list() if text.strip()]

    plan.scorers.prepare(families, texts)
    return references


def score_parts(
    batches: Iterable[pl.DataFrame],
    plan: ScoringPlan,
    *,
    references: pl.DataFrame | None = None,
    threads: int = 2,
    advance: Callable[[int], None] = lambda _: None,
) -> Iterator[Part]:
    """Scores as they are ready: turns and dialogs batch by batch, agents and systems at the end.

    The numbers do not depend on the size of the batches or the number of threads. Scorers of units
    run here, one batch after the other, while threads work on batches that those have seen.
    """
    plan.open()
    families = [family for family in plan.families.values() if family.kind != "words"]
    features = plan.features
    words = Words({f.name: f.weights for f in features.values() if isinstance(f, WordCount)})
    groups = _Groups(plan)

    def seen_by_scorers() -> Iterator[TurnBatch]:
        for turns in batches:
            batch = TurnBatch(turns, words, _of_dialogs(references, turns))
            shares = Shares(turns.height, len(families), advance)
            for family in families:
                everyone = family.name in plan.both_sides
                step = shares.next(turns.height if everyone else int(batch.is_agent.sum()))
                score_family(batch, family, plan.scorers, everyone=everyone, advance=step)
            if families:
                shares.finish()
            yield batch

    for batch, turns, dialogs, positions in _in_order(
        lambda batch: _score_batch(batch, plan), seen_by_scorers(), threads
    ):
        groups.add(batch, dialogs, positions)
        yield turns
        yield dialogs
        if not families:
            advance(batch.turns.height)
    yield from groups.parts()


def _of_dialogs(references: pl.DataFrame | None, turns: pl.DataFrame) -> pl.DataFrame | None:
    if references is None:
        return None
    return references.join(turns.select("dialog").unique(), on="dialog", how="semi")


def _in_order(work: Callable[[T], R], items: Iterable[T], threads: int) -> Iterator[R]:
    """Map with threads, a few items ahead, results in the order of the items."""
    waiting: deque[Future[R]] = deque()
    with ThreadPoolExecutor(threads) as pool:
        try:
            for item in items:
                waiting.append(pool.submit(work, item))
                if len(waiting) > threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


def _score_batch(batch: TurnBatch, plan: ScoringPlan) -> tuple[TurnBatch, Part, Part, "_Positions"]:
    features = plan.features
    for family in plan.families.values():
        if family.kind == "words":
            score_family(batch, family, plan.scorers)
    failures = plan.failures_of({name: outcome.failure for name, outcome in batch.outcomes.items()})
    counts = {name: _turns(feature, batch, plan) for name, feature in features.items()}
    rows = np.flatnonzero(batch.is_agent)
    before = {name: batch.before(counts[name], rows, prompt=plan.prompt) for name in plan.compared}
    asked = batch.turn_in_dialog[rows]
    if plan.prompt == "last":
        asked = np.minimum(asked, 1)
    turn_state = State({name: numbers[rows] for name, numbers in counts.items()}, before, asked)
    turns = Part(
        "turn",
        batch.turns.select(UNITS)[rows],
        {metric.name: _turn_column(metric, turn_state, failures) for metric in plan.at("turn")},
        failures=failures,
    )

    partner = ~batch.is_agent
    own = {name: f.dialogs(batch, counts[name], batch.is_agent) for name, f in features.items()}
    other = {name: features[name].dialogs(batch, counts[name], partner) for name in plan.compared}
    dialog_state = State(own, other, batch.turns_by_dialog(partner))
    of_turn = batch.dialog_of_turn[rows]
    agent_turns = batch.turns_by_dialog(batch.is_agent)
    of_dialog = {
        metric.name: _larger_column(
            metric,
            dialog_state,
            failures,
            agent_turns,
            turns.columns.get(metric.name),
            of_turn,
        )
        for metric in plan.at("dialog")
    }
    units = batch.turns.select(*UNITS[:3], pl.lit(None, pl.Int32).alias("turn"))
    dialogs = Part(
        "dialog",
        units[batch.dialog_starts],
        of_dialog,
        dialog_state,
        batch.opening_keys,
        failures,
    )
    return batch, turns, dialogs, _Positions.of(batch, rows, turn_state)


def _turns(feature: Feature, batch: TurnBatch, plan: ScoringPlan) -> Floats:
    """A feature's counts; where its code breaks down, the metrics that it belongs to are named."""
    try:
        counts = feature.turns(batch)
        if len(counts) != batch.turns.height:
            raise ValueError(f"{len(counts):,} values for {batch.turns.height:,} turns")
    except DialensError:
        raise
    except Exception as error:
        owners = [m.name for m in plan.metrics if feature in m.definition.features]
        raise _broken(owners, error) from error
    return counts


def _broken(metrics: Sequence[str], error: Exception) -> DialensError:
    return DialensError(
        f"The code of {listed(metrics)} breaks down ({type(error).__name__}: {first_line(error)}). "
        "Mend it, or leave the metric out with --metrics; `dialens.testing.check_metric` tries it."
    )


def _values(metric: Metric, state: State, failures: Mapping[str, str]) -> Values:
    """A metric's values, or why it has none: a model that failed is the reason for every unit."""
    failure = failures.get(metric.name)
    if failure is not None:
        return Values.none(len(state.other_turns), failure)
    try:
        return metric.definition.compute(state)
    except DialensError:
        raise
    except Exception as error:
        raise _broken([metric.name], error) from error


def _turn_column(metric: Metric, state: State, failures: Mapping[str, str]) -> Column:
    values = _values(metric, state, failures)
    present = (values.code == 0).astype(np.int64)
    return Column(values, present, 1 - present)


def _larger_column(
    metric: Metric,
    state: State,
    failures: Mapping[str, str],
    agent_turns: Ints,
    turns: Column | None,
    unit_of_turn: Ints,
) -> Column:
    """The column of a larger level; `turns` and `unit_of_turn` say what its turns lacked."""
    values = _values(metric, state, failures)
    if turns is None:
        n = agent_turns
        if metric.definition.turns is not None:
            n = metric.definition.turns(state).astype(np.int64)
            n = np.zeros_like(n) if metric.name in failures else n
        return Column(values, n, agent_turns - n)
    reasons = turns.values.reasons
    lacking = np.flatnonzero(turns.values.code)
    cell = unit_of_turn[lacking] * len(reasons) + turns.values.code[lacking] - 1
    counted = np.bincount(cell, minlength=len(agent_turns) * len(reasons))
    missing = counted.reshape(len(agent_turns), len(reasons))
    n_missing = missing.sum(axis=1)
    return Column(values, agent_turns - n_missing, n_missing, missing, reasons)


class _Groups:
    """Adds batches up to agents, systems, and positions within dialogues."""

    def __init__(self, plan: ScoringPlan) -> None:
        self._plan = plan
        self._agents: dict[tuple[str, str], int] = {}
        self._own: dict[str, Merger] = {n: f.merger() for n, f in plan.features.items()}
        self._other: dict[str, Sums] = {name: Sums() for name in plan.compared}
        self._turns = Sums()
        self._missing = {metric.name: _MissingTurns() for metric in plan.at("turn")}
        self._failures: dict[str, str] = {}
        self._positions: list[_Positions] = []

    def add(self, batch: TurnBatch, dialogs: Part, positions: "_Positions") -> None:
        state = dialogs.state
        assert state is not None
        pairs = list(dialogs.units.select("system", "agent").iter_rows())
        group = np.array([self._agents.setdefault(pair, len(self._agents)) for pair in pairs])
        count = len(self._agents)
        for name, merger in self._own.items():
            merger.add(batch, state.own[name], group, count)
        for name, sums in self._other.items():
            sums.add(batch, state.other[name], group, count)
        agent_turns = batch.turns_by_dialog(batch.is_agent)
        both = np.column_stack([agent_turns, state.other_turns]).astype(np.float64)
        self._turns.add(batch, both, group, count)
        for name, missing in self._missing.items():
            missing.add(dialogs.columns[name], group, count)
        self._failures |= dialogs.failures
        self._positions.append(positions.grouped(group))
        if len(self._positions) > 1:
            self._positions = [_Positions.merged(self._positions)]

    def parts(self) -> Iterator[Part]:
        if not self._agents:
            return
        pairs = list(self._agents)
        systems = list(dict.fromkeys(system for system, _ in pairs))
        yield self._part("agent", np.arange(len(pairs)), pairs)
        to_system = np.array([systems.index(system) for system, _ in pairs])
        yield self._part("system", to_system, [(system, None) for system in systems])
        yield self._positions[0].part(self._plan, pairs, self._failures)

    def _part(self, level: str, groups: Ints, names: Sequence[tuple[str, str | None]]) -> Part:
        count = len(names)
        agent_turns, other_turns = self._turns.result(groups, count).T.astype(np.int64)
        state = State(
            {name: merger.result(groups, count) for name, merger in self._own.items()},
            {name: sums.result(groups, count) for name, sums in self._other.items()},
            other_turns,
        )
        columns = {}
        for metric in self._plan.at(level):
            column = _larger_column(metric, state, self._failures, agent_turns, None, groups)
            if metric.name in self._missing:
                missing, reasons = self._missing[metric.name].result(groups, count)
                lacking = missing.sum(axis=1)
                column = Column(column.values, agent_turns - lacking, lacking, missing, reasons)
            columns[metric.name] = column
        return Part(level, _unit_frame(names), columns, state, failures=self._failures)


class _MissingTurns:
    """How many turns of each group gave no value, by reason; batches may have different ones."""

    def __init__(self) -> None:
        self._counts: dict[str, Ints] = {}

    def add(self, dialogs: Column, groups: Ints, count: int) -> None:
        """Take in a batch: its dialogues' counts and the group of each, below `count`."""
        assert dialogs.missing is not None
        for reason, turns in zip(dialogs.turn_reasons, dialogs.missing.T, strict=True):
            fresh = np.bincount(groups, turns, count).astype(np.int64)
            before = self._counts.get(reason)
            if before is not None:
                fresh[: len(before)] += before
            self._counts[reason] = fresh

    def result(self, groups: Ints, count: int) -> tuple[Ints, tuple[str, ...]]:
        """One row for each of `count` larger groups, one column a reason, and the reasons."""
        columns = [
            np.bincount(groups[: len(turns)], turns, count) for turns in self._counts.values()
        ]
        missing = np.array(columns, np.int64).reshape(len(columns), count).T
        return missing, tuple(self._counts)


def _unit_frame(names: Sequence[tuple[str, str | None]]) -> pl.DataFrame:
    units = pl.DataFrame(names, schema={"system": pl.String, "agent": pl.String}, orient="row")
    return units.with_columns(dialog=pl.lit(None, pl.String), turn=pl.lit(None, pl.Int32))


@dataclass(frozen=True)
class _Positions:
    """Sums by group of dialogues and by the how-manieth turn of the agent it is."""

    group: Ints
    position: Ints
    own: Mapping[str, Floats]
    other: Mapping[str, Floats]
    turns: Floats

    @classmethod
    def of(cls, batch: TurnBatch, rows: Ints, state: State) -> "_Positions":
        """Still by turn: the group is the dialogue's number in the batch."""
        so_far: Ints = np.cumsum(batch.is_agent)
        first = so_far[batch.dialog_starts] - batch.is_agent[batch.dialog_starts]
        position = so_far[rows] - first[batch.dialog_of_turn[rows]] - 1
        turns = np.column_stack([np.ones(len(rows)), state.other_turns.astype(np.float64)])
        kept = position < MAX_POSITION
        cut = {name: numbers[kept] for name, numbers in state.own.items()}
        seen = {name: numbers[kept] for name, numbers in state.other.items()}
        group = batch.dialog_of_turn[rows][kept]
        return cls(group, position[kept], cut, seen, turns[kept])

    def grouped(self, groups: Ints) -> "_Positions":
        """The same by the groups of the dialogues, added up."""
        return _Positions(
            groups[self.group], self.position, self.own, self.other, self.turns
        )._sum()

    @classmethod
    def merged(cls, parts: "list[_Positions]") -> "_Positions":
        return cls(
            np.concatenate([part.group for part in parts]),
            np.concatenate([part.position for part in parts]),
            _stacked([part.own for part in parts]),
            _stacked([part.other for part in parts]),
            np.concatenate([part.turns for part in parts]),
        )._sum()

    def _sum(self) -> "_Positions":
        cells, inverse = np.unique(self.group * MAX_POSITION + self.position, return_inverse=True)
        count = len(cells)
        return _Positions(
            cells // MAX_POSITION,
            cells % MAX_POSITION,
            {name: group_sums(rows, inverse, count) for name, rows in self.own.items()},
            {name: group_sums(rows, inverse, count) for name, rows in self.other.items()},
            group_sums(self.turns, inverse, count),
        )

    def part(
        self, plan: ScoringPlan, pairs: list[tuple[str, str]], failures: Mapping[str, str]
    ) -> Part:
        """Metrics whose features add up, pooled over the turns at each position."""
        state = State(self.own, self.other, self.turns[:, 1].astype(np.int64))
        agent_turns = self.turns[:, 0].astype(np.int64)
        units = _unit_frame([pairs[number] for number in self.group.tolist()])
        columns = {
            metric.name: _larger_column(metric, state, failures, agent_turns, None, self.group)
            for metric in plan.at("turn")
            if all(feature.adds_up for feature in metric.definition.features)
        }
        numbered = units.with_columns(turn=pl.Series(self.position, dtype=pl.Int32))
        return Part("position", numbered, columns, state, failures=failures)


def _stacked(parts: list[Mapping[str, Floats]]) -> dict[str, Floats]:
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
