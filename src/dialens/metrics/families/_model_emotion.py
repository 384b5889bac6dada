"""States by a classifier: the probability of each of 27 emotions, their mixture, their matching.

The second variant beside the lexicon's (`emotion.py`): a classifier reads whole turns, so it knows
irony and negation better, and it tells GoEmotions' 27 emotions and "neutral" (Demszky et al. 2020)
instead of Plutchik's eight. Every turn has all 28 probabilities. At higher levels they are summed
over turns, and the metric is computed from the sum. Entropy and matching leave "neutral" out: it
says that there is no emotion, not which one.

A turn of which the classifier knows no word (emoji alone, say) is not read.

A probability below 2⁻²⁰ counts as that, so that a sum of 0 means that the model has no such label
(one of the user's own may know fewer emotions).
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dialens.metrics._batch import TurnBatch
from dialens.metrics._card import Definition, MetricCard, Resources, metric, with_models
from dialens.metrics._features import Additive
from dialens.metrics._model_pass import has_text, outputs, quantised
from dialens.metrics._model_set import ModelSet
from dialens.metrics._state import Floats, State, Values, ratio
from dialens.metrics.families._emotion import entropy, spearman

LABELS = (
    *("admiration", "amusement", "anger", "annoyance", "approval", "caring", "confusion"),
    *("curiosity", "desire", "disappointment", "disapproval", "disgust", "embarrassment"),
    *("excitement", "fear", "gratitude", "grief", "joy", "love", "nervousness", "optimism"),
    *("pride", "realization", "relief", "remorse", "sadness", "surprise", "neutral"),
)
"""GoEmotions' emotions, and neutral last."""

_CITATION = "Demszky et al. 2020 (GoEmotions), doi:10.18653/v1/2020.acl-main.372"
_MIXTURE = f"Giorgi et al. 2023, arXiv:2305.14757; {_CITATION}"
_LICENCE = "model trained on GoEmotions (CC BY 4.0): Apache-2.0"
_FAMILY = "emotion_classifier"
_FAMILY_LABEL = "Emotions by a classifier"
_TASK = "emotion"
_K = len(LABELS) - 1
_TURNS = len(LABELS)
_UNKNOWN = _TURNS + 1
_LEAST = 2.0**-20


@dataclass(frozen=True)
class EmotionProbabilities(Additive):
    """Probabilities of all labels, then 1 for a turn that was read, 1 for one of unknown words."""

    models: ModelSet
    name = "emotion classifier"

    def turns(self, batch: TurnBatch) -> Floats:
        """One row a turn; zeros where nothing was read."""
        logits = outputs(batch, self.models, _TASK)
        read = ~np.isnan(logits[:, 0])
        made = np.zeros((batch.turns.height, len(LABELS) + 2))
        if read.any():
            found = np.maximum(quantised(self.models.probabilities(_TASK, logits[read])), _LEAST)
            ours = [label.lower() for label in self.models.encoder(_TASK).heads[_TASK].labels]
            for column, label in enumerate(LABELS):
                if label in ours:
                    made[read, column] = found[:, ours.index(label)]
        made[:, _TURNS] = read
        made[:, _UNKNOWN] = has_text(batch) & ~read
        return made


def _known(sums: Floats) -> NDArray[np.bool_]:
    """The emotions that the model tells, neutral left out."""
    return np.asarray((sums[:, :_K] > 0).any(axis=0))


def _unread(sums: Floats) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Which units hold nothing but unknown words, and which hold no text that was read."""
    nothing = sums[:, _TURNS] == 0
    return nothing & (sums[:, _UNKNOWN] > 0), nothing


def _card(label: str, column: int) -> MetricCard:
    said = "no emotion" if label == "neutral" else label

    @metric(
        f"emotion_{label}",
        meaning=f"Probability that a turn of the agent expresses {said}, by a classifier",
        family=_FAMILY,
        needs=("model",),
        range=(0.0, 1.0),
        citation=_CITATION,
        licence=_LICENCE,
        version=2,
        label=label.capitalize(),
        long_label=f"Probability of {label}",
        family_label=_FAMILY_LABEL,
        headline=None,
        side="psychological",
        percent=True,
        describes="state",
        part_of="" if label == "neutral" else "emotions_classifier",
    )
    def probability(resources: Resources) -> Definition:
        feature = EmotionProbabilities(resources.models)

        def compute(state: State) -> Values:
            sums = state.own[feature.name]
            total, n = sums[:, column], sums[:, _TURNS]
            unknown, nothing = _unread(sums)
            return Values.where(
                ratio(total, n),
                no_word_the_model_knows=unknown,
                no_text=nothing,
                the_model_has_no_such_label=total == 0,
            )

        return with_models(Definition((feature,), compute), resources.models, (_TASK,))

    return probability


EMOTIONS = tuple(_card(label, column) for column, label in enumerate(LABELS))


@metric(
    "emotional_entropy_classifier",
    meaning="How mixed the agent's emotions are by a classifier (entropy over 27, in nats)",
    family=_FAMILY,
    needs=("model",),
    range=(0.0, math.log(_K)),
    citation=_MIXTURE,
    licence=_LICENCE,
    version=2,
    label="Emotional entropy (27 emotions)",
    higher_reads="mixes emotions more evenly by the classifier",
    family_label=_FAMILY_LABEL,
    headline=None,
    side="psychological",
    describes="state",
)
def emotional_entropy_classifier(resources: Resources) -> Definition:
    """Entropy of the emotions' probabilities scaled to sum 1."""
    feature = EmotionProbabilities(resources.models)

    def compute(state: State) -> Values:
        sums = state.own[feature.name]
        emotions = sums[:, :_K]
        total = emotions.sum(axis=1)
        share = ratio(emotions, np.broadcast_to(total[:, None], emotions.shape))
        unknown, nothing = _unread(sums)
        return Values.where(
            entropy(share),
            no_word_the_model_knows=unknown,
            no_text=nothing,
            the_model_has_no_such_label=total == 0,
        )

    return with_models(Definition((feature,), compute), resources.models, (_TASK,))


@metric(
    "emotion_matching_classifier",
    meaning="Whether the agent's emotions by a classifier are ordered like those it answers",
    family=_FAMILY,
    needs=("partner", "model"),
    range=(-1.0, 1.0),
    citation=_MIXTURE,
    licence=_LICENCE,
    version=2,
    label="Emotion matching (27 emotions)",
    higher_reads="follows the other side's emotions more by the classifier",
    family_label=_FAMILY_LABEL,
    headline=None,
    side="psychological",
    matches="emotions by classifier",
)
def emotion_matching_classifier(resources: Resources) -> Definition:
    """Spearman correlation of the two vectors of summed probabilities.

    Some emotions are rare in any text, so two texts match to some degree whatever they say: values
    are for comparing, not for reading off.
    """
    feature = EmotionProbabilities(resources.models)

    def compute(state: State) -> Values:
        own, other = state.own[feature.name], state.other[feature.name]
        known = np.flatnonzero(_known(own) | _known(other))
        value, spread = spearman(own[:, known], other[:, known])
        unknown, nothing = _unread(own)
        other_unknown, other_nothing = _unread(other)
        return Values.where(
            value,
            nothing_to_answer=state.other_turns == 0,
            no_word_the_model_knows=unknown,
            no_text=nothing,
            no_word_the_model_knows_in_the_prompt=other_unknown,
            no_text_in_the_prompt=other_nothing,
            all_emotions_alike=spread == 0,
        )

    definition = Definition((feature,), compute, {"prompt": resources.prompt})
    return with_models(definition, resources.models, (_TASK,))
