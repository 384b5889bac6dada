"""Scores: what a run gives back, in memory or in a folder."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import polars as pl
from polars.io.plugins import register_io_source

from dialens.base import DialensError, TableSink
from dialens.corpus import LEVELS, Corpus
from dialens.metrics._card import MetricCard, Resources
from dialens.metrics._registry import select
from dialens.metrics._scoring import UNITS, Part, Plan, open_scorers, score_parts
from dialens.metrics._state import Floats, State

SCORES = pl.Schema(
    {
        "metric": pl.String,
        "level": pl.String,
        "system": pl.String,
        "agent": pl.String,
        "dialog": pl.String,
        "turn": pl.Int32,
        "value": pl.Float64,
        "n": pl.Int64,
        "n_missing": pl.Int64,
        "reason": pl.String,
        "signature": pl.String,
    }
)
"""One row a metric value of a unit. `n` counts the agent's turns behind it, `n_missing` those that
gave none; `reason` says why."""

TABLE = "scores.parquet"
STATES = "states.parquet"
POSITIONS = "positions.parquet"
METRICS = "metrics.json"
_MOST_TURNS = 100_000
_TURNS_FOR_ENCODERS = 4_096  # encoders take minutes for what words take a second for
_BATCH_CHARACTERS = 16_000_000
_LOOKED_AT = 2_000


@dataclass(frozen=True)
class Scores:
    """The values of a run at every level, and the sums they come from.

    Attributes:
        table: One row a value; columns as `SCORES`.
        states: One row a dialogue: its summed features, from which agents can be resampled.
        positions: Values pooled over the n-th turns of an agent; `turn` is n, from 0.
        signatures: Metric name to signature.
        cards: The metrics themselves, for scores that were just made; found by name otherwise.

    Examples:
        >>> from dialens.corpus import Dialogue, Turn
        >>> talk = [Turn("U", "partner", "How are you?"), Turn("B", "agent", "Glad you ask!")]
        >>> scores = score(Corpus.of([Dialogue("s", "bot", "d1", talk)]), metrics=["length"])
        >>> scores.wide("agent").rows()
        [('s', 'bot', None, None, 3.0)]
    """

    table: pl.LazyFrame
    states: pl.LazyFrame
    positions: pl.DataFrame
    signatures: dict[str, str]
    cards: tuple[MetricCard, ...] = ()

    @classmethod
    def open(cls, folder: str | Path) -> "Scores":
        """The scores that `dialens score` wrote into a folder."""
        folder = Path(folder)
        if not (folder / METRICS).exists():
            raise DialensError(
                f"{folder} holds no scores ({METRICS} is not there). "
                f"Make some with: dialens score CORPUS -o {folder}"
            )
        return cls(
            pl.scan_parquet(folder / TABLE),
            pl.scan_parquet(folder / STATES),
            pl.read_parquet(folder / POSITIONS),
            json.loads((folder / METRICS).read_text()),
        )

    def wide(self, level: str) -> pl.DataFrame:
        """One row a unit of a level, one column a metric, in the order they were computed."""
        if level not in LEVELS:
            raise DialensError(f"There is no level {level!r}. Levels: {', '.join(LEVELS)}.")
        rows = self.table.filter(pl.col("level") == level).select(*UNITS, "metric", "value")
        return (
            rows.collect(engine="streaming")
            .pivot("metric", index=list(UNITS), values="value", maintain_order=True)
            .sort(UNITS, nulls_last=True)
        )


def score(
    corpus: Corpus,
    *,
    metrics: Sequence[str | MetricCard] | None = None,
    levels: Sequence[str] = LEVELS,
    resources: Resources | None = None,
    threads: int | None = None,
    advance: Callable[[int], None] = lambda _: None,
) -> Scores:
    """Score a corpus at every level, in memory.

    Args:
        corpus: What `dialens.read` gives.
        metrics: Names of metrics or families, or cards of your own; all if not given.
        levels: Which of turn, dialog, agent, system to keep.
        resources: Lexicons, models, prompt and seed, where the defaults will not do.
        threads: How many batches are worked on at once; as many as there are cores if not given.
        advance: Told how many more turns are done.
    """
    plan = make_plan(metrics, resources or Resources())
    references = open_scorers(corpus, plan)
    kept = [
        part
        for part in _parts(corpus, plan, references, threads, advance)
        if part.level in (*levels, "dialog", "position")
    ]
    signatures = {metric.name: metric.signature for metric in plan.metrics}

    def table(
        columns: list[str] | None, predicate: pl.Expr | None, rows: int | None, _: int | None
    ) -> Iterator[pl.DataFrame]:
        for part in kept:
            if part.level not in levels:
                continue
            frame = long(part, signatures)
            frame = frame if predicate is None else frame.filter(predicate)
            yield frame if columns is None else frame.select(columns)

    states = pl.concat([state_table(part) for part in kept if part.level == "dialog"])
    positions = pl.concat([long(part, signatures) for part in kept if part.level == "position"])
    lazy = register_io_source(table, schema=SCORES)
    cards = tuple(metric.card for metric in plan.metrics)
    return Scores(lazy, states.lazy(), positions, signatures, cards)


def score_into(
    corpus: Corpus,
    folder: Path,
    *,
    metrics: Sequence[str | MetricCard] | None = None,
    levels: Sequence[str] = LEVELS,
    resources: Resources | None = None,
    threads: int | None = None,
    advance: Callable[[int], None] = lambda _: None,
) -> Scores:
    """Score a corpus of any size into a folder, batch by batch; arguments as for `score`."""
    plan = make_plan(metrics, resources or Resources())
    references = open_scorers(corpus, plan)
    signatures = {metric.name: metric.signature for metric in plan.metrics}
    folder.mkdir(parents=True, exist_ok=True)
    positions = [SCORES.to_frame()]
    states: TableSink | None = None
    with ExitStack() as stack:
        table = stack.enter_context(TableSink(folder / TABLE, SCORES))
        for part in _parts(corpus, plan, references, threads, advance):
            if part.level == "position":
                positions.append(long(part, signatures))
            elif part.level in levels:
                table.write(long(part, signatures))
            if part.level == "dialog":
                rows = state_table(part)
                if states is None:
                    states = stack.enter_context(TableSink(folder / STATES, rows.schema))
                states.write(rows)
    pl.concat(positions).write_parquet(folder / POSITIONS)
    (folder / METRICS).write_text(json.dumps(signatures, indent=2) + "\n")
    return Scores.open(folder)


def make_plan(names: Sequence[str | MetricCard] | None, resources: Resources) -> Plan:
    """The metrics by those names, bound to the resources; without those of models if it has none.

    Examples:
        >>> from dialens.metrics._family import ScorerContext
        >>> from dialens.metrics._model_choice import ModelChoice
        >>> from dialens.metrics._scorers import ScorerSet
        >>> scorers = ScorerSet(ScorerContext(models=ModelChoice("none")))
        >>> plan = make_plan(["toxicity", "length"], Resources(scorers=scorers))
        >>> [metric.name for metric in plan.metrics]
        ['length']
    """
    if resources.prompt not in ("context", "last"):
        raise DialensError(f"The prompt is `context` or `last`, not {resources.prompt!r}.")
    cards = select(names)
    if resources.scorers.context.models.size == "none":
        cards = [card for card in cards if "model" not in card.needs]
        if not cards:
            raise DialensError(
                "All the metrics that were asked for need models, and `--models none` leaves those "
                "out. Choose other metrics, or --models default."
            )
    bound = tuple(card.bind(resources) for card in cards)
    return Plan(bound, resources.prompt, resources.scorers)


def _parts(
    corpus: Corpus,
    plan: Plan,
    references: pl.DataFrame | None,
    threads: int | None,
    advance: Callable[[int], None],
) -> Iterator[Part]:
    wanted = [*UNITS, "role", "text"]
    families = plan.families.values()
    if any("background" in family.reads for family in families):
        wanted.append("meta")  # it tells what a turn was spoken from
    columns = corpus.turns.select(wanted)
    size = _batch_size(corpus)
    if any(family.kind != "words" for family in families):
        size = min(size, _TURNS_FOR_ENCODERS)
    batches = replace(corpus, turns=columns).batches(turns=size)
    return score_parts(
        batches,
        plan,
        references=references,
        threads=threads or pl.thread_pool_size(),
        advance=advance,
    )


def _batch_size(corpus: Corpus) -> int:
    """Turns a batch: fewer where turns are long, so that memory follows text and not rows."""
    looked_at = corpus.turns.select("text").head(_LOOKED_AT).collect()["text"]
    characters = looked_at.str.len_bytes().mean()
    if not isinstance(characters, float):
        return _MOST_TURNS
    return int(min(_MOST_TURNS, max(1, _BATCH_CHARACTERS // max(characters, 1.0))))


def long(part: Part, signatures: Mapping[str, str]) -> pl.DataFrame:
    """A part as rows of the scores table, metric by metric."""
    frames = [
        part.units.select(
            pl.lit(name).alias("metric"),
            pl.lit(part.level).alias("level"),
            *UNITS,
            pl.Series("value", column.values.value, nan_to_null=True),
            pl.Series("n", column.n),
            pl.Series("n_missing", column.n_missing),
            column.reason(),
            pl.lit(signatures[name]).alias("signature"),
        )
        for name, column in part.columns.items()
    ]
    return pl.concat([SCORES.to_frame(), *frames])


def state_table(part: Part) -> pl.DataFrame:
    """The sums behind the dialogues of a part, a column a number."""
    state = part.state
    assert state is not None
    assert part.contexts is not None
    made = {"other_turns": state.other_turns.astype(np.float64)}
    for side, counts in (("own", state.own), ("other", state.other)):
        for name, rows in counts.items():
            made |= {f"{side}|{name}|{column}": rows[:, column] for column in range(rows.shape[1])}
    return part.units.select(*UNITS[:3]).hstack(
        [part.contexts, *(pl.Series(name, numbers) for name, numbers in made.items())]
    )


def state_of(numbers: Mapping[str, Floats]) -> State:
    """A state back from the columns of `state_table`, or from sums of them."""
    sides: dict[str, dict[str, list[Floats]]] = {"own": {}, "other": {}}
    for key, column in numbers.items():
        if "|" in key:
            side, name, _ = key.split("|")
            sides[side].setdefault(name, []).append(column)
    own, other = (
        {name: np.column_stack(columns) for name, columns in sides[side].items()}
        for side in ("own", "other")
    )
    return State(own, other, numbers["other_turns"].astype(np.int64))
