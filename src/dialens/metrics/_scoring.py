"""Scoring a corpus: a plan from names of metrics, then its parts into memory or into a folder."""

import warnings
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl
from polars.io.plugins import register_io_source

from dialens.base import MEMORY, Advance, DialensError, DialensWarning, TableSink
from dialens.corpus import LEVELS, Corpus, partial_dialogs
from dialens.metrics._card import MetricCard, Resources
from dialens.metrics._engine import ScoredBatch, merged_parts, open_scorers, score_parts
from dialens.metrics._features import Scratch
from dialens.metrics._language import fit_to_language
from dialens.metrics._parts import UNITS, Part, ScoringPlan
from dialens.metrics._registry import select
from dialens.metrics._score_tables import SCORES, dialog_table, long, state_table
from dialens.metrics._scored_metric import ScoredMetric, features_of, write_cards
from dialens.metrics._scores import DIALOGS, POSITIONS, STATES, TABLE, Scores

_MOST_TURNS = 30_000  # larger ones are hardly faster, and what is under way takes more memory
_TURNS_FOR_ENCODERS = 4_096  # encoders take minutes for what words take a second for
_TURNS_FOR_A_CARD = 16_384  # a graphics card takes a second, and batches cost something each
_LOOKED_AT = 2_000
# Row groups are held in memory until they are written, and then some bytes of each are: few where
# tables have a hundred columns, many where they have billions of rows.
_DIALOGS_A_ROW_GROUP = 32_768
_SCORES_A_ROW_GROUP = 262_144

# What a third of the memory is for: batches that wait or are worked on, measured at their peak.
_BYTES_A_TURN = 1_500
_BYTES_A_CHARACTER = 20
_WAITING = 2
# A 32nd each is for the words that are known and for sets of n-grams, so that both are full after
# two million turns or so and long runs take little more than short ones; the rest is for reading
# and writing.
_SHARE_OF_SETS = _SHARE_OF_WORDS = 32
_BYTES_A_WORD = 600


@dataclass(frozen=True)
class BatchReading:
    """How a plan reads a corpus, wherever its batches are scored.

    Attributes:
        columns: Of the turns.
        rows: Of a batch, about; no dialogue is in two of them.
        most_words: Words that a process remembers.
        references: Where a metric reads them.
    """

    columns: tuple[str, ...]
    rows: int
    most_words: int
    references: pl.DataFrame | None = None

    @classmethod
    def of(
        cls,
        corpus: Corpus,
        plan: ScoringPlan,
        references: pl.DataFrame | None,
        *,
        threads: int,
        memory: int,
    ) -> "BatchReading":
        """What a plan wants of a corpus, with so many threads and bytes."""
        columns = [*UNITS, "role", "text"]
        families = plan.families.values()
        if any("background" in family.reads or family.scores_silence for family in families):
            columns.append("meta")  # what a turn was spoken from, and what it is without words
        rows = _batch_size(corpus, threads, memory)
        if any(family.kind != "words" for family in families):
            on_card = plan.scorers.context.on_card
            rows = min(rows, _TURNS_FOR_A_CARD if on_card else _TURNS_FOR_ENCODERS)
        return cls(tuple(columns), rows, memory // _SHARE_OF_WORDS // _BYTES_A_WORD, references)


BatchSource = Callable[[ScoringPlan, BatchReading, Advance], Iterable[ScoredBatch]]
"""Gives the batches of a corpus in their order, scored by a plan."""


def score(
    corpus: Corpus,
    *,
    metrics: str | MetricCard | Sequence[str | MetricCard] | None = None,
    levels: Sequence[str] = LEVELS,
    resources: Resources | None = None,
    threads: int | None = None,
    advance: Callable[[int], None] = lambda _: None,
) -> Scores:
    """Score a corpus at every level, in memory.

    Where an agent speaks another language than English and a metric knows no other, a
    `DialensWarning` says so.

    Args:
        corpus: What `dialens.read` gives.
        metrics: Names of metrics or families, or cards of your own; one or several, all if not
            given.
        levels: Which of turn, dialog, agent, system to keep.
        resources: Lexicons, models, prompt and seed, where the defaults will not do.
        threads: How many batches are worked on at once; as many as there are cores if not given.
        advance: Called with the number of turns just done.

    Raises:
        DialensError: It is no corpus, or a metric has another name.
    """
    if not isinstance(corpus, Corpus):
        raise DialensError(
            f"`score` takes a corpus, not {type(corpus).__name__}. "
            "Read the conversations first: dialens.score(dialens.read(…))."
        )
    resources = resources or Resources()
    plan = make_plan(metrics, resources)
    _, language = fit_to_language(plan, corpus, resources, any_language=True)
    if language is not None and language.metrics:
        warnings.warn(language.text, DialensWarning, stacklevel=2)
    references = open_scorers(corpus, plan)
    kept = [
        part
        for part in _parts(corpus, plan, references, threads, advance)
        if part.level in (*levels, "dialog", "position")
    ]
    scored = _scored_metrics(plan)
    signatures = {metric.name: metric.signature for metric in scored}

    def table(
        columns: list[str] | None, predicate: pl.Expr | None, rows: int | None, _: int | None
    ) -> Iterator[pl.DataFrame]:
        for part in kept:
            if part.level not in levels:
                continue
            frame = long(part, signatures)
            frame = frame if predicate is None else frame.filter(predicate)
            yield frame if columns is None else frame.select(columns)

    partial = partial_dialogs(corpus.turns)
    of_dialogs = [part for part in kept if part.level == "dialog"]
    return Scores(
        register_io_source(table, schema=SCORES),
        pl.concat([state_table(part, partial) for part in of_dialogs]).lazy(),
        pl.concat([dialog_table(part) for part in of_dialogs]).lazy(),
        pl.concat([long(part, signatures) for part in kept if part.level == "position"]),
        scored,
        corpus,
        resources,
    )


def score_into(
    corpus: Corpus,
    folder: Path,
    plan: ScoringPlan,
    *,
    levels: Sequence[str] = LEVELS,
    threads: int | None = None,
    memory: int = MEMORY,
    scored_elsewhere: BatchSource | None = None,
    advance: Callable[[int], None] = lambda _: None,
) -> Scores:
    """Score a corpus of any size into a folder, batch by batch.

    What comes back reads the folder, and computes with the plan's own metrics.

    Args:
        corpus: What `dialens.read` gives.
        folder: Made if it is not there; temporary files go there too.
        plan: What is computed.
        levels: As for `score`.
        threads: As for `score`.
        memory: About how many bytes may be taken, models aside. It decides how large batches are
            and when sets go to temporary files, and changes no value.
        scored_elsewhere: Gives the batches where others score them (`dialens.metrics.cluster`).
        advance: As for `score`.
    """
    references = open_scorers(corpus, plan)
    signatures = {metric.name: metric.signature for metric in plan.metrics}
    folder.mkdir(parents=True, exist_ok=True)
    positions = [SCORES.to_frame()]
    partial = partial_dialogs(corpus.turns)
    states: TableSink | None = None
    dialogs: TableSink | None = None
    with ExitStack() as stack:
        table = stack.enter_context(
            TableSink(folder / TABLE, SCORES, row_group=_SCORES_A_ROW_GROUP)
        )
        parts = _parts(corpus, plan, references, threads, advance, memory, folder, scored_elsewhere)
        for part in stack.enter_context(closing(parts)):
            if part.level == "position":
                positions.append(long(part, signatures))
            elif part.level in levels:
                table.write(long(part, signatures))
            if part.level == "dialog":
                rows, values = state_table(part, partial), dialog_table(part)
                if states is None or dialogs is None:
                    states, dialogs = (
                        stack.enter_context(
                            TableSink(folder / name, of.schema, row_group=_DIALOGS_A_ROW_GROUP)
                        )
                        for name, of in ((STATES, rows), (DIALOGS, values))
                    )
                states.write(rows)
                dialogs.write(values)
    pl.concat(positions).write_parquet(folder / POSITIONS)
    scored = _scored_metrics(plan)
    write_cards(scored, folder)
    return replace(Scores.open(folder), metrics=scored)


def _scored_metrics(plan: ScoringPlan) -> tuple[ScoredMetric, ...]:
    """The metrics of a plan after its run, when it is known what failed."""
    failures = plan.failures
    return tuple(
        ScoredMetric(
            metric.card,
            metric.signature,
            features_of(metric),
            failures.get(metric.name),
            metric,
        )
        for metric in plan.metrics
    )


def make_plan(
    names: str | MetricCard | Sequence[str | MetricCard] | None, resources: Resources
) -> ScoringPlan:
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
    return ScoringPlan(bound, resources.prompt, resources.scorers)


def _parts(
    corpus: Corpus,
    plan: ScoringPlan,
    references: pl.DataFrame | None,
    threads: int | None,
    advance: Callable[[int], None],
    memory: int = MEMORY,
    folder: Path | None = None,
    elsewhere: BatchSource | None = None,
) -> Generator[Part]:
    threads = threads or pl.thread_pool_size()
    reading = BatchReading.of(corpus, plan, references, threads=threads, memory=memory)
    scratch = Scratch(memory // _SHARE_OF_SETS, folder)
    if elsewhere is not None:
        return merged_parts(elsewhere(plan, reading, advance), plan, scratch)
    turns = corpus.turns.select(reading.columns)
    return score_parts(
        replace(corpus, turns=turns).batches(turns=reading.rows),
        plan,
        references=references,
        threads=threads,
        scratch=scratch,
        most_words=reading.most_words,
        advance=advance,
    )


def _batch_size(corpus: Corpus, threads: int, memory: int) -> int:
    """Turns a batch: as many as fit, fewer where turns are long."""
    looked_at = corpus.turns.select("text").head(_LOOKED_AT).collect()["text"]
    characters = looked_at.str.len_bytes().mean()
    characters = characters if isinstance(characters, float) else 0.0
    turn = _BYTES_A_TURN + _BYTES_A_CHARACTER * characters
    fit = memory / 3 / (threads + _WAITING) / turn
    return int(min(_MOST_TURNS, max(1.0, fit)))
