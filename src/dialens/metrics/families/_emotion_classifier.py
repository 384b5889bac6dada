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
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dialens.metrics._card import Definition, MetricCard, Resources, metric
from dialens.metrics._encoders import (
    UNKNOWN,
    EncoderScorer,
    TaskReader,
    encoders_of,
    opened_reader,
    where_read,
)
from dialens.metrics._family import Advance, Family, Output, ScorerContext, Unit
from dialens.metrics._family_cards import cards_of
from dialens.metrics._family_features import family_feature
from dialens.metrics._features import quantised
from dialens.metrics._state import Floats, State, Values, ratio
from dialens.metrics.families._emotion import entropy
from dialens.statistics import spearman_rows

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
_LISTED = "emotion_classifier"
TASK = "emotion"
_LABEL = "Emotions by a classifier"
_K = len(LABELS) - 1
_LEAST = 2.0**-20


class EmotionScorer(EncoderScorer):
    """The probability of every label; 0 for those that the model does not tell."""

    def __init__(self, reader: TaskReader) -> None:
        self.signature = reader.signature
        self._reader = reader
        labels = [label.lower() for label in reader.head.labels]
        self._columns = [
            (at, labels.index(name)) for at, name in enumerate(LABELS) if name in labels
        ]

    def begin(
        self, units: Sequence[Unit], advance: Advance = lambda _: None
    ) -> Callable[[], Floats]:
        """One row a unit, one column a label."""
        replies = [unit.response for unit in units]
        logits = self._reader.encoder.ask(replies, len(units), advance)
        return lambda: where_read(logits.result(), self._chances, len(LABELS))

    def _chances(self, logits: Floats) -> Floats:
        probabilities = np.maximum(quantised(self._reader.probabilities(logits)), _LEAST)
        chances = np.zeros((len(logits), len(LABELS)))
        for column, place in self._columns:
            chances[:, column] = probabilities[:, place]
        return chances


def open_scorer(context: ScorerContext) -> EmotionScorer:
    """Find the model, and try it out."""
    return EmotionScorer(opened_reader(context, TASK))


FAMILY = Family(
    name=TASK,
    label=_LABEL,
    side="psychological",
    outputs=tuple(
        Output(
            f"emotion_{label}",
            f"Probability that a turn of the agent expresses "
            f"{'no emotion' if label == 'neutral' else label}, by a classifier",
            (0.0, 1.0),
            higher_is_better=None,
            label=label.capitalize(),
            long_label=f"Probability of {label}",
            percent=True,
            describes="state",
            part_of="" if label == "neutral" else "emotions_classifier",
        )
        for label in LABELS
    ),
    open=open_scorer,
    needs=("model",),
    reads=(),
    reasons={"value": UNKNOWN, "text": "no text"},
    whole=True,
    citation=_CITATION,
    licence=_LICENCE,
    version=2,
    listed=_LISTED,
    by_default=True,
    cached=False,
    model=lambda context: encoders_of(context).reader(TASK).encoder,
)
_TURNS = len(LABELS)  # turns that were read, after the probabilities
_SCORED = _TURNS + 1


def _known(sums: Floats) -> NDArray[np.bool_]:
    """The emotions that the model tells, neutral left out."""
    return np.asarray((sums[:, :_K] > 0).any(axis=0))


def _unread(sums: Floats) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Which units hold nothing but unknown words, and which hold no text that was read."""
    nothing = sums[:, _TURNS] == 0
    return nothing & (sums[:, _SCORED] > 0), nothing


def _card(card: MetricCard, column: int) -> MetricCard:
    """The mean probability of a label, which a model of the user's own may not tell."""

    def make(resources: Resources) -> Definition:
        feature = family_feature(FAMILY, resources.scorers)

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

        return Definition((feature,), compute)

    return replace(card, make=make)


EMOTIONS = tuple(_card(card, column) for column, card in enumerate(cards_of(FAMILY)))


@metric(
    "emotional_entropy_classifier",
    meaning="How mixed the agent's emotions are by a classifier (entropy over 27, in nats)",
    family=_LISTED,
    needs=("model",),
    range=(0.0, math.log(_K)),
    citation=_MIXTURE,
    licence=_LICENCE,
    version=2,
    scored_by=FAMILY,
    label="Emotional entropy (27 emotions)",
    higher_reads="mixes emotions more evenly by the classifier",
    family_label=_LABEL,
    headline=None,
    side="psychological",
    describes="state",
)
def emotional_entropy_classifier(resources: Resources) -> Definition:
    """Entropy of the emotions' probabilities scaled to sum 1."""
    feature = family_feature(FAMILY, resources.scorers)

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

    return Definition((feature,), compute)


@metric(
    "emotion_matching_classifier",
    meaning="Whether the agent's emotions by a classifier are ordered like those it answers",
    family=_LISTED,
    needs=("partner", "model"),
    range=(-1.0, 1.0),
    citation=_MIXTURE,
    licence=_LICENCE,
    version=2,
    scored_by=FAMILY,
    label="Emotion matching (27 emotions)",
    higher_reads="follows the other side's emotions more by the classifier",
    family_label=_LABEL,
    headline=None,
    side="psychological",
    matches="emotions by classifier",
)
def emotion_matching_classifier(resources: Resources) -> Definition:
    """Spearman correlation of the two vectors of summed probabilities.

    Some emotions are rare in any text, so two texts match to some degree whatever they say: values
    are for comparing, not for reading off.
    """
    feature = family_feature(FAMILY, resources.scorers)

    def compute(state: State) -> Values:
        own, other = state.own[feature.name], state.other[feature.name]
        columns = np.flatnonzero(_known(own) | _known(other))
        value, spread = spearman_rows(own[:, columns], other[:, columns])
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

    return Definition((feature,), compute, {"prompt": resources.prompt})


PLACE = 40
METRICS = (emotional_entropy_classifier, emotion_matching_classifier, *EMOTIONS)
