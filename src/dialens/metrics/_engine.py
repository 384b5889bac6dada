"""The engine: every feature once per turn, every level from the same sums, batch by batch."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

import numpy as np
import polars as pl

from dialens.base import DialensError
from dialens.corpus import Corpus
from dialens.metrics._batch import TurnBatch, Words
from dialens.metrics._columns import broken_code, larger_column, turn_column
from dialens.metrics._family_features import score_family
from dialens.metrics._features import Feature, WordCount
from dialens.metrics._groups import Groups, Positions
from dialens.metrics._pace import Shares
from dialens.metrics._parts import UNITS, Part, ScoringPlan
from dialens.metrics._state import Floats, State

T = TypeVar("T")
R = TypeVar("R")


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
    groups = Groups(plan)

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


def _score_batch(batch: TurnBatch, plan: ScoringPlan) -> tuple[TurnBatch, Part, Part, Positions]:
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
    return batch, turns, dialogs, Positions.of(batch, rows, turn_state)


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
