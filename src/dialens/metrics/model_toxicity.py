"""Toxicity: how likely a turn is an insult or a slur, by a classifier."""

import numpy as np

from dialens.metrics.batch import TurnBatch
from dialens.metrics.card import Definition, Resources, metric, turn_mean, with_models
from dialens.metrics.model_pass import outputs, quantised
from dialens.metrics.state import Floats
from dialens.models.engagement import sigmoid

_TASK = "toxicity"


@metric(
    "toxicity",
    meaning="Probability that a turn of the agent is crude or insulting, by a classifier",
    family="toxicity",
    needs=("model",),
    range=(0.0, 1.0),
    higher_is_better=False,
    citation="Davidson et al. 2017, doi:10.1609/icwsm.v11i1.14955",
    licence="model trained on two MIT-licensed sets: Apache-2.0",
)
def toxicity(resources: Resources) -> Definition:
    """The mean over turns."""
    models = resources.models

    def value(batch: TurnBatch) -> Floats:
        logits = outputs(batch, models, _TASK)
        made = np.full(len(logits), np.nan)
        read = ~np.isnan(logits[:, 0])
        if read.any():
            made[read] = sigmoid(models.logit(_TASK, logits[read]))
        return quantised(made)

    return with_models(turn_mean("toxicity", value, missing="no text"), models, (_TASK,))
