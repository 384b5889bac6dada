"""Engagement: how far a reply engages people, given what was said before it.

The model learned from how people reacted to replies (EnDex, Xu et al. 2022) and reads the last two
turns, whoever spoke, together with the reply. Its parts are metrics of their own: what it makes of
reactions, and whether the reply belongs to its context. `dialens.models._engagement` says how they
are put together, and what is done where the corpus knows what the speaker was given to speak from
(`dialens.corpus._background`). A turn with nothing said before it has no value.
"""

import numpy as np

from dialens.metrics._batch import TurnBatch
from dialens.metrics._card import Definition, MetricCard, Resources, metric
from dialens.metrics._model_pass import outputs, outputs_with_background
from dialens.metrics._model_values import OF_A_REPLY, chance, model_mean
from dialens.metrics._state import Floats

_ENDEX = "Xu et al. 2022 (EnDex), doi:10.18653/v1/2022.findings-emnlp.359"
_FAMILY = "Engagement and its parts"
_LICENCE = "model trained on reactions of Reddit's users, no text of whom is in it: Apache-2.0"


@metric(
    "engagement",
    meaning="How far a turn of the agent engages people, given what was said before it",
    family="engagement",
    needs=("model",),
    range=(0.0, 1.0),
    higher_is_better=True,
    citation=_ENDEX,
    licence=_LICENCE,
    version=3,
    higher_reads="engages more by the model",
    family_label=_FAMILY,
    headline=1,
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

    return model_mean("engagement", resources, "engagement", value, OF_A_REPLY)


def _part(
    name: str, task: str, meaning: str, citation: str, *, label: str, higher_reads: str
) -> MetricCard:
    @metric(
        name,
        meaning=meaning,
        family="engagement",
        needs=("model",),
        range=(0.0, 1.0),
        higher_is_better=True,
        citation=citation,
        licence=_LICENCE,
        version=2,
        label=label,
        higher_reads=higher_reads,
        family_label=_FAMILY,
        headline=None,
        part_of="engagement",
    )
    def part(resources: Resources) -> Definition:
        return model_mean(name, resources, task, chance(resources, task), OF_A_REPLY)

    return part


PARTS = (
    _part(
        "engagement_reactions",
        "engagement",
        "Probability that people would react to a turn of the agent, by a classifier",
        _ENDEX,
        label="Reactions",
        higher_reads="would draw more reactions by the model",
    ),
    _part(
        "relevance",
        "relevance",
        "Probability that a turn of the agent belongs to what was said before, by a classifier",
        "",
        label="Relevance",
        higher_reads="stays closer to what was said by the model",
    ),
)
