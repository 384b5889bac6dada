"""A number that a model gives each turn, and why a turn has none."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dialens.metrics._batch import TurnBatch
from dialens.metrics._card import Definition, Resources, with_models
from dialens.metrics._features import Additive
from dialens.metrics._model_pass import has_context, has_text, outputs, quantised
from dialens.metrics._state import Floats, State, Values, ratio
from dialens.models import sigmoid

Reasons = Mapping[str, Callable[[TurnBatch], NDArray[np.bool_]]]
"""Why turns that say something have no number, in the order in which it is asked."""

OF_A_TEXT: Reasons = {"no_word_the_model_knows": has_text}
OF_A_REPLY: Reasons = {
    "no_turn_before_it": lambda batch: batch.turn_in_dialog == 0,
    "no_text_in_the_prompt": lambda batch: ~has_context(batch),
    **OF_A_TEXT,
}


@dataclass(frozen=True)
class ModelValue(Additive):
    """What a model says of each turn.

    Columns: the number (0 where missing), whether there is one, then, of turns that say something
    and have none, one column a reason.
    """

    name: str
    value: Callable[[TurnBatch], Floats]
    reasons: Reasons

    def turns(self, batch: TurnBatch) -> Floats:
        """The number of each turn."""
        value = quantised(self.value(batch))
        there = ~np.isnan(value)
        columns = [np.where(there, value, 0.0), there]
        unexplained = ~there & has_text(batch)
        for applies in self.reasons.values():
            columns.append(unexplained & applies(batch))
            unexplained = unexplained & ~columns[-1]
        return np.column_stack(columns).astype(np.float64)


def model_mean(
    name: str,
    resources: Resources,
    task: str,
    value: Callable[[TurnBatch], Floats],
    reasons: Reasons,
) -> Definition:
    """A metric that each turn has from a model and every larger unit as the mean of its turns."""
    feature = ModelValue(name, value, reasons)

    def compute(state: State) -> Values:
        total, n, *counts = state.own[feature.name].T
        nothing = n == 0
        why = {reason: nothing & (count > 0) for reason, count in zip(reasons, counts, strict=True)}
        return Values.where(ratio(total, n), **why, no_text=nothing)

    return with_models(Definition((feature,), compute), resources.models, (task,))


def chance(resources: Resources, task: str) -> Callable[[TurnBatch], Floats]:
    """The probability of the label that a task is about, of each turn that can be read."""
    models = resources.models

    def value(batch: TurnBatch) -> Floats:
        logits = outputs(batch, models, task)
        made = np.full(len(logits), np.nan)
        read = ~np.isnan(logits[:, 0])
        if read.any():
            made[read] = sigmoid(models.logit(task, logits[read]))
        return made

    return value
