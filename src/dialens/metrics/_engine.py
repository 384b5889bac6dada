"""The engine: every feature once per turn, every level from the same sums, batch by batch."""

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock
from typing import TypeVar

import numpy as np
import polars as pl

from dialens.base import DialensError, release_freed_memory
from dialens.corpus import Corpus
from dialens.metrics._batch import TurnBatch, Words
from dialens.metrics._batch_sums import BatchSums
from dialens.metrics._columns import broken_code, larger_column, turn_column
from dialens.metrics._family_features import begin_family, score_words
from dialens.metrics._features import Feature, Scratch, WordCount
from dialens.metrics._groups import Groups
from dialens.metrics._pace import Shares
from dialens.metrics._parts import UNITS, Part, ScoringPlan
from dialens.metrics._state import Floats, State

T = TypeVar("T")
R = TypeVar("R")

MOST_WORDS = 500_000
"""A large language has fewer; the rest are names, numbers and typing errors."""
_BATCHES_TO_RELEASE = 3


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


@dataclass(frozen=True)
class ScoredBatch:
    """What is known of a batch when it has been scored; it can be pickled.

    Attributes:
        turns: The scores of its turns.
        dialogs: The scores of its dialogues, with the sums behind them.
        sums: What it adds to agents and systems.
        height: How many turns it has, whoever spoke them.
    """

    turns: Part
    dialogs: Part
    sums: BatchSums
    height: int


class BatchScorer:
    """Scores batches by themselves; one a process, in which it knows words and holds scorers.

    Args:
        plan: What is computed; its scorers are opened.
        most_words: Words that are remembered before they are forgotten all together.

    Examples:
        >>> from dialens.corpus import Dialogue, Turn
        >>> from dialens.metrics._card import Resources
        >>> from dialens.metrics._scoring import make_plan
        >>> corpus = Corpus.of([Dialogue("s", "bot", "d1", [Turn("B", "agent", "hey")])])
        >>> scorer = BatchScorer(make_plan(["length"], Resources()))
        >>> [batch] = [scorer.score(scorer.see(turns)) for turns in corpus.batches()]
        >>> batch.turns.columns["length"].values.value.tolist(), batch.sums.agents
        ([1.0], (('s', 'bot'),))
    """

    def __init__(self, plan: ScoringPlan, *, most_words: int = MOST_WORDS) -> None:
        plan.open()
        self._plan = plan
        self._most_words = most_words
        self._families = [family for family in plan.families.values() if family.kind != "words"]
        self._words = self._no_words()

    def _no_words(self) -> Words:
        features = self._plan.features.values()
        return Words({f.name: f.weights for f in features if isinstance(f, WordCount)})

    def see(self, turns: pl.DataFrame, references: pl.DataFrame | None = None) -> TurnBatch:
        """Let the scorers of units see a batch; arguments as for `begin`."""
        return self.begin(turns, references)()

    def begin(
        self,
        turns: pl.DataFrame,
        references: pl.DataFrame | None = None,
        advance: Callable[[int], None] = lambda _: None,
    ) -> Callable[[], TurnBatch]:
        """Have the networks begin with a batch; what it returns waits until scorers have seen it.

        Batches are begun and waited for in their order, one or two at a time: scorers of units use
        all cores.

        Args:
            turns: Of whole dialogues: columns system, agent, dialog, turn, role, text, and meta
                where a metric reads it.
            references: Of these dialogues at least, where a metric reads them.
            advance: Called with numbers of turns that scorers have just done, if there are any; by
                networks from a thread of theirs.
        """
        if len(self._words.vocabulary) > self._most_words:
            self._words = self._no_words()  # batches that are under way keep the old ones
        batch = TurnBatch(turns, self._words, _of_dialogs(references, turns))
        shares = Shares(turns.height, len(self._families), advance)
        begun = []
        for family in self._families:
            everyone = family.name in self._plan.both_sides
            step = shares.next(turns.height if everyone else int(batch.is_agent.sum()))
            scorers = self._plan.scorers
            begun.append(begin_family(batch, family, scorers, everyone=everyone, advance=step))

        def finish() -> TurnBatch:
            for finish_family in begun:
                finish_family()
            if begun:
                shares.finish()
            return batch

        return finish

    def score(self, batch: TurnBatch) -> ScoredBatch:
        """Score a batch that was seen; several threads may do so at once."""
        return _score_batch(batch, self._plan)


def score_parts(
    batches: Iterable[pl.DataFrame],
    plan: ScoringPlan,
    *,
    references: pl.DataFrame | None = None,
    threads: int = 2,
    scratch: Scratch | None = None,
    most_words: int = MOST_WORDS,
    advance: Callable[[int], None] = lambda _: None,
) -> Generator[Part]:
    """Scores as they are ready: turns and dialogs batch by batch, agents and systems at the end.

    The numbers do not depend on the size of the batches or the number of threads. Scorers of units
    run here, one batch after the other, while networks are at the next batch and threads work on
    batches that those have seen.
    """
    scorer = BatchScorer(plan, most_words=most_words)
    has_units = any(family.kind != "words" for family in plan.families.values())

    def scored() -> Iterator[ScoredBatch]:
        with _until_stopped(advance) as tell:
            begun = (scorer.begin(turns, references, tell) for turns in batches)
            seen = (finish() for finish in _one_ahead(begun))
            for batch in _in_order(scorer.score, seen, threads):
                yield batch
                if not has_units:
                    tell(batch.height)

    return merged_parts(scored(), plan, scratch)


@contextmanager
def _until_stopped(advance: Callable[[int], None]) -> Iterator[Callable[[int], None]]:
    """Let several threads tell of progress; those that still do when all has ended are ended.

    So Ctrl-C, which only the main thread hears, also ends networks that are at work.
    """
    lock = Lock()
    stopped = False

    def tell(turns: int) -> None:
        with lock:
            if stopped:
                raise CancelledError
            if turns:
                advance(turns)

    try:
        yield tell
    finally:
        stopped = True


def _one_ahead(items: Iterable[T]) -> Iterator[T]:
    """The items, each when the next one is there too."""
    waiting: deque[T] = deque()
    for item in items:
        waiting.append(item)
        if len(waiting) > 1:
            yield waiting.popleft()
    yield from waiting


def merged_parts(
    batches: Iterable[ScoredBatch], plan: ScoringPlan, scratch: Scratch | None = None
) -> Generator[Part]:
    """The parts of scored batches, in the order of the corpus; then agents, systems, positions."""
    groups = Groups(plan, scratch)
    for number, batch in enumerate(batches, 1):
        groups.add(batch.sums)
        yield batch.turns
        yield batch.dialogs
        if number % _BATCHES_TO_RELEASE == 0:
            release_freed_memory()
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


def _score_batch(batch: TurnBatch, plan: ScoringPlan) -> ScoredBatch:
    features = plan.features
    for family in plan.families.values():
        if family.kind == "words":
            score_words(batch, family, plan.scorers)
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
        {metric.name: turn_column(metric, turn_state, failures) for metric in plan.at("turn")},
        failures=failures,
    )

    partner = batch.is_partner
    own = {name: f.dialogs(batch, counts[name], batch.is_agent) for name, f in features.items()}
    other = {name: features[name].dialogs(batch, counts[name], partner) for name in plan.compared}
    dialog_state = State(own, other, batch.turns_by_dialog(partner))
    of_turn = batch.dialog_of_turn[rows]
    agent_turns = batch.turns_by_dialog(batch.is_agent)
    of_dialog = {
        metric.name: larger_column(
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
    sums = BatchSums.of(batch, plan, turn_state, dialogs)
    return ScoredBatch(turns, dialogs, sums, batch.turns.height)


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
        raise broken_code(owners, error) from error
    return counts
