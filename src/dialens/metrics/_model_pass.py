"""Encoders over a batch of turns: the right turns, each distinct text once, one pass for all tasks.

Runs before a batch goes to the threads that count words: encoders use all cores by themselves, and
results do not depend on which thread comes first.
"""

from collections.abc import Callable, Mapping

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dialens.corpus import backgrounds
from dialens.metrics._batch import Ints, TurnBatch
from dialens.metrics._model_set import ENCODER_TASKS, TRAITS, Encoder, ModelSet
from dialens.metrics._state import Floats
from dialens.metrics.families import TraitScorer
from dialens.models import CONTEXT_TURNS, TextInput, averaged, background_pairs, context, largest

_GRAIN = 2.0**20


def quantised(values: Floats) -> Floats:
    """Round to multiples of 2⁻²⁰, whose sums are exact in any order; NaN stays.

    Examples:
        >>> float(quantised(np.array([0.1]))[0]) * 2**20
        104858.0
    """
    rounded: Floats = np.round(values * _GRAIN) / _GRAIN
    return rounded


def has_text(batch: TurnBatch) -> NDArray[np.bool_]:
    """Which turns say anything."""
    return batch.once("has text", lambda b: _texts(b).str.strip_chars().ne("").to_numpy())


def has_context(batch: TurnBatch) -> NDArray[np.bool_]:
    """Which turns have something said in those before them that a reply is read with."""

    def made(b: TurnBatch) -> NDArray[np.bool_]:
        said = has_text(b)
        found = np.zeros(len(said), np.bool_)
        for back in range(1, CONTEXT_TURNS + 1):
            found[back:] |= said[:-back] & (b.turn_in_dialog[back:] >= back)
        return found

    return batch.once("has context", made)


def outputs(batch: TurnBatch, models: ModelSet, task: str, *, by: str | None = None) -> Floats:
    """The logits of a task, one row a turn; NaN where there is nothing to read, or no word known.

    Turns are those that `run_models` was asked for; all that can be read if it was not. `by` names
    the task whose encoder is meant, where several answer the same.
    """
    if not models.ready(by or task):
        return np.full((batch.turns.height, 1), np.nan)
    encoder = models.encoder(by or task)
    if not batch.has(_key(encoder)):
        run_models(batch, models, {by or task: True})
    made = batch.once(_key(encoder), lambda b: _unread(b, encoder))
    return made[:, encoder.heads[task].columns]


def outputs_with_background(batch: TurnBatch, models: ModelSet, task: str, *, by: str) -> Floats:
    """The logits of a task that reads replies, averaged over context and background where known."""
    after_context = outputs(batch, models, task, by=by)
    if not models.ready(by):
        return after_context
    encoder = models.encoder(by)
    made = batch.once(_background_key(encoder), lambda b: _unread(b, encoder))
    return averaged(after_context, made[:, encoder.heads[task].columns])


def _unread(batch: TurnBatch, encoder: Encoder) -> Floats:
    """What an encoder says of turns that it has not read."""
    return np.full((batch.turns.height, encoder.width), np.nan)


def trait_scorer(batch: TurnBatch, models: ModelSet) -> TraitScorer:
    """What scores the traits of this run: those that `run_models` was asked for, all if none."""

    def every(_: TurnBatch) -> TraitScorer:
        return models.trait_scorer(tuple(filter(models.ready, TRAITS)))

    return batch.once("trait scorer", every)


def run_models(
    batch: TurnBatch,
    models: ModelSet,
    wanted: Mapping[str, bool],
    advance: Callable[[int], None] = lambda _: None,
) -> None:
    """Load what the tasks need, run the encoders, and leave what they say with the batch.

    Args:
        batch: Some whole dialogues.
        models: The models of the run.
        wanted: Tasks, and whether they are asked of everyone's turns or the agent's alone.
        advance: Told how many turns are done; all of the batch's at the end.
    """
    traits = tuple(t for t in TRAITS if t in wanted and models.ready(t))
    if traits:
        batch.once("trait scorer", lambda _: models.trait_scorer(traits))
    jobs: list[tuple[str, Encoder, Ints, list[TextInput]]] = []
    tasks = [task for task in ENCODER_TASKS if task in wanted and models.ready(task)]
    for encoder in {id(one): one for one in map(models.encoder, tasks)}.values():
        if not batch.has(_key(encoder)):
            everyone = any(wanted[task] for task in encoder.heads if task in wanted)
            rows, inputs = encoder_inputs(batch, encoder, everyone=everyone)
            jobs.append((_key(encoder), encoder, rows, inputs))
            if "engagement" in wanted and "engagement" in encoder.heads:
                rows, inputs = background_inputs(batch, rows)
                jobs.append((_background_key(encoder), encoder, rows, inputs))
    fresh = sum(len(models.fresh(encoder, inputs)) for _, encoder, _, inputs in jobs)
    pace = _Pace(batch.turns.height, fresh, advance)
    for key, encoder, rows, inputs in jobs:
        made = models.run(encoder, inputs, pace.step).astype(np.float64)
        batch.keep(key, largest(made, rows, batch.turns.height))
    pace.finish()


def _key(encoder: Encoder) -> str:
    return f"encoder {id(encoder)}"


def _background_key(encoder: Encoder) -> str:
    return f"encoder {id(encoder)} after the background"


def _texts(batch: TurnBatch) -> pl.Series:
    return batch.turns["text"].fill_null("")


def encoder_inputs(
    batch: TurnBatch, encoder: Encoder, *, everyone: bool
) -> tuple[Ints, list[TextInput]]:
    """The turns that an encoder can read, and what it reads of each.

    Args:
        batch: Some whole dialogues.
        encoder: Reads texts, or replies with the turns before them.
        everyone: Whether all speakers' turns are read, or the agent's alone.
    """
    chosen = has_text(batch) & (batch.is_agent | everyone)
    texts = _texts(batch).to_list()
    if not encoder.pair:
        rows: Ints = np.flatnonzero(chosen)
        return rows, [texts[row] for row in rows.tolist()]
    rows = np.flatnonzero(chosen & has_context(batch))
    starts = batch.dialog_starts[batch.dialog_of_turn[rows]]
    return rows, [
        (context(texts[max(start, row - CONTEXT_TURNS) : row]), texts[row])
        for start, row in zip(starts.tolist(), rows.tolist(), strict=True)
    ]


def background_inputs(batch: TurnBatch, rows: Ints) -> tuple[Ints, list[TextInput]]:
    """Those of the rows whose background is known, once for each piece of it, and what is read."""
    known = backgrounds(batch.turns[rows])
    places, pairs = background_pairs(batch.turns["text"].gather(rows).to_list(), known)
    return rows[np.asarray(places, np.int64)], list(pairs)


class _Pace:
    """Progress of a batch in turns, though encoders count texts."""

    def __init__(self, turns: int, texts: int, advance: Callable[[int], None]) -> None:
        self._turns, self._texts, self._advance = turns, max(texts, 1), advance
        self._done = self._told = 0

    def step(self, texts: int) -> None:
        self._done += texts
        self._tell(min(self._turns, self._turns * self._done // self._texts))

    def finish(self) -> None:
        self._tell(self._turns)

    def _tell(self, turns: int) -> None:
        if turns > self._told:
            self._advance(turns - self._told)
            self._told = turns
