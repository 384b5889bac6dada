"""Toxicity: how likely a turn is an insult or a slur, by a classifier."""

from dialens.metrics._card import Definition, Resources, metric
from dialens.metrics._model_values import OF_A_TEXT, chance, model_mean

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
    version=2,
    higher_reads="sounds more toxic to the model",
    headline=4,
    percent=True,
)
def toxicity(resources: Resources) -> Definition:
    """The mean over turns."""
    return model_mean("toxicity", resources, _TASK, chance(resources, _TASK), OF_A_TEXT)
