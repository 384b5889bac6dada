"""Engagement: how far a reply engages people, given what was said before it.

The model learned from how people reacted to replies (EnDex, Xu et al. 2022) and reads the last two
turns, whoever spoke, together with the reply. Its parts are metrics of their own: what it makes of
reactions, and whether the reply belongs to its context. `dialens.models.engagement` says how they
are put together, and what is done where the corpus knows what the speaker was given to speak from
(`dialens.corpus.background`). A turn with nothing before it has no value.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dialens.metrics.batch import TurnBatch
from dialens.metrics.card import Definition, MetricCard, Resources, metric, with_models
from dialens.metrics.features import Additive
from dialens.metrics.model_pass import has_text, outputs, outputs_with_background, quantised
from dialens.metrics.model_set import ModelSet
from dialens.metrics.state import Floats, State, Values, ratio
from dialens.models.engagement import sigmoid

_ENDEX = "Xu et al. 2022 (EnDex), doi:10.18653/v1/2022.findings-emnlp.359"
_LICENCE = "model trained on reactions of Reddit's users, no text of whom is in it: Apache-2.0"


@dataclass(frozen=True)
class ReplyScore(Additive):
    """A number of each reply in its context.

    Columns: the number (0 where missing), whether there is one, whether the turn has no text.
    """

    name: str
    value: Callable[[TurnBatch], Floats]

    def turns(self, batch: TurnBatch) -> Floats:
        """The number of each turn."""
        value = quantised(self.value(batch))
        there = ~np.isnan(value)
        blank = ~has_text(batch)
        return np.column_stack([np.where(there, value, 0.0), there, blank]).astype(np.float64)


def _definition(
    name: str, resources: Resources, task: str, value: Callable[[TurnBatch], Floats]
) -> Definition:
    feature = ReplyScore(name, value)

    def compute(state: State) -> Values:
        total, n, blank = state.own[feature.name].T
        nothing = n == 0
        return Values.where(
            ratio(total, n), no_text=nothing & (blank > 0), no_turn_before_it=nothing
        )

    return with_models(Definition((feature,), compute), resources.models, (task,))


def _probability(models: ModelSet, task: str) -> Callable[[TurnBatch], Floats]:
    def value(batch: TurnBatch) -> Floats:
        logits = outputs(batch, models, task)
        made = np.full(len(logits), np.nan)
        read = ~np.isnan(logits[:, 0])
        if read.any():
            made[read] = sigmoid(models.logit(task, logits[read]))
        return made

    return value


@metric(
    "engagement",
    meaning="How far a turn of the agent engages people, given what was said before it",
    family="engagement",
    needs=("model",),
    range=(0.0, 1.0),
    higher_is_better=True,
    citation=_ENDEX,
    licence=_LICENCE,
    version=2,
)
def engagement(resources: Resources) -> Definition:
    """What the formula of the model's card makes of its parts; the mean over turns."""
    models = resources.models

    def value(batch: TurnBatch) -> Floats:
        logits = outputs(batch, models, "engagement")
        made = np.full(len(logits), np.nan)
        read = np.flatnonzero(~np.isnan(logits[:, 0]))
        if len(read):
            scorer = models.scorer
            parts = {
                task: models.logit(
                    task,
                    outputs_with_background(batch, models, task, by="engagement")[read],
                    by="engagement",
                )
                for task in scorer.formula.tasks
            }
            made[read] = scorer.combine(parts, batch.turns["text"].gather(read).to_list())
        return made

    return _definition("engagement", resources, "engagement", value)


def _part(name: str, task: str, meaning: str, citation: str) -> MetricCard:
    @metric(
        name,
        meaning=meaning,
        family="engagement",
        needs=("model",),
        range=(0.0, 1.0),
        higher_is_better=True,
        citation=citation,
        licence=_LICENCE,
    )
    def part(resources: Resources) -> Definition:
        return _definition(name, resources, task, _probability(resources.models, task))

    return part


PARTS = (
    _part(
        "engagement_reactions",
        "engagement",
        "Probability that people would react to a turn of the agent, by a classifier",
        _ENDEX,
    ),
    _part(
        "relevance",
        "relevance",
        "Probability that a turn of the agent belongs to what was said before, by a classifier",
        "",
    ),
)
