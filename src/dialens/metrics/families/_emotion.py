"""States: which emotions an agent's words carry, how mixed they are, and whether they answer.

Giorgi et al., *Human-Centered Metrics for Dialog System Evaluation*, arXiv:2305.14757; the
emotions are Plutchik's eight.
"""

import math
from collections.abc import Callable

import numpy as np

from dialens.metrics._batch import TurnBatch
from dialens.metrics._card import Definition, MetricCard, Resources, metric
from dialens.metrics._features import Spread, lexicon_feature
from dialens.metrics._state import Floats, State, Values, ratio
from dialens.statistics import spearman_rows
from dialens.text import PLUTCHIK, VERSION

_CITATION = "Giorgi et al. 2023, arXiv:2305.14757"
_LICENCE = "lexicon plutchik-goemotions: CC BY 4.0"
_FAMILY = "Emotions"
_K = len(PLUTCHIK)
_HITS = _K
_DIGITS = 3  # with which the weights of words are written: sums beyond them are rounding


def _uses(resources: Resources, *, prompt: bool = False) -> dict[str, str]:
    lexicon = resources.emotion
    uses = {"tok": VERSION, "lex": f"{lexicon.name}@{lexicon.sha256[:8]}"}
    return uses | ({"prompt": resources.prompt} if prompt else {})


def shares(counts: Floats) -> Floats:
    """Emotion sums scaled to 1, zeros where there are none.

    Examples:
        >>> shares(np.array([[1.0, 3.0, 0, 0, 0, 0, 0, 0, 2.0, 9.0]]))[0, :3].tolist()
        [0.25, 0.75, 0.0]
    """
    emotions = counts[:, :_K]
    return ratio(emotions, np.broadcast_to(emotions.sum(axis=1, keepdims=True), emotions.shape))


def entropy(share: Floats) -> Floats:
    """Shannon entropy in nats of each row.

    Examples:
        >>> entropy(np.array([[0.5, 0.5], [1.0, 0.0]])).round(4).tolist()
        [0.6931, 0.0]
    """
    logs = np.log(share, out=np.zeros_like(share), where=share > 0)
    total: Floats = -(share * logs).sum(axis=1)
    return np.abs(total)


@metric(
    "emotional_entropy",
    meaning="How mixed the emotions of the agent's words are (entropy over eight, in nats)",
    family="emotion",
    range=(0.0, math.log(_K)),
    citation=_CITATION,
    licence=_LICENCE,
    groups=("giorgi2023",),
    higher_reads="mixes emotions more evenly",
    family_label=_FAMILY,
    headline=5,
    side="psychological",
    describes="state",
    lens="emotion",
    language="en",
)
def emotional_entropy(resources: Resources) -> Definition:
    """Entropy of the normalised emotion vector; missing without an emotion word."""
    feature = lexicon_feature("emotion", resources.emotion)

    def compute(state: State) -> Values:
        counts = state.own[feature.name]
        return Values.where(entropy(shares(counts)), no_emotion_word=counts[:, _HITS] == 0)

    return Definition((feature,), compute, _uses(resources))


@metric(
    "emotion_matching",
    meaning="Whether the agent's emotions are ordered like those it answers (Spearman)",
    family="emotion",
    needs=("partner",),
    range=(-1.0, 1.0),
    citation=_CITATION,
    licence=_LICENCE,
    groups=("giorgi2023",),
    higher_reads="follows the emotions of the other side more closely",
    family_label=_FAMILY,
    headline=6,
    side="psychological",
    matches="emotion words",
    lens="emotion",
    language="en",
)
def emotion_matching(resources: Resources) -> Definition:
    """Rank correlation of the two emotion vectors; missing where one side has no order."""
    feature = lexicon_feature("emotion", resources.emotion)

    def compute(state: State) -> Values:
        own, other = state.own[feature.name], state.other[feature.name]
        # Weights are held in 2**-20ths: sums that differ only by that rounding are ties.
        value, spread = spearman_rows(own[:, :_K].round(_DIGITS), other[:, :_K].round(_DIGITS))
        return Values.where(
            value,
            nothing_to_answer=state.other_turns == 0,
            no_emotion_word=own[:, _HITS] == 0,
            no_emotion_word_in_the_prompt=other[:, _HITS] == 0,
            all_emotions_alike=spread == 0,
        )

    return Definition((feature,), compute, _uses(resources, prompt=True))


def _total(state: State, name: str) -> Floats:
    """All emotions of each unit together."""
    total: Floats = state.own[name][:, :_K].sum(axis=1)
    return total


def _share(column: int) -> Callable[[Resources], Definition]:
    def make(resources: Resources) -> Definition:
        feature = lexicon_feature("emotion", resources.emotion)

        def compute(state: State) -> Values:
            counts = state.own[feature.name]
            share = ratio(counts[:, column], state.cached(_total, feature.name))
            return Values.where(share, no_emotion_word=counts[:, _HITS] == 0)

        return Definition((feature,), compute, _uses(resources))

    return make


def _variation(
    base: str, of_turns: Callable[[Floats], Floats]
) -> Callable[[Resources], Definition]:
    def make(resources: Resources) -> Definition:
        feature = lexicon_feature("emotion", resources.emotion)

        def value(batch: TurnBatch) -> Floats:
            counts = feature.turns(batch)
            return np.where(counts[:, _HITS] == 0, np.nan, of_turns(counts))

        spread = Spread(base, value)

        def compute(state: State) -> Values:
            squares, freedom, _ = state.own[spread.name].T
            deviation = np.sqrt(ratio(squares, freedom))
            return Values.where(deviation, fewer_than_two_turns_with_emotion_words=freedom == 0)

        def turns(state: State) -> Floats:
            return state.own[spread.name][:, 2]

        return Definition((feature, spread), compute, _uses(resources), turns)

    return make


SHARES = tuple(
    metric(
        f"{emotion}_share",
        meaning=f"Share of {emotion} among the emotions of the agent's words",
        family="emotion",
        range=(0.0, 1.0),
        citation=_CITATION,
        licence=_LICENCE,
        label=emotion.capitalize(),
        long_label=f"Share of {emotion}",
        family_label=_FAMILY,
        headline=None,
        side="psychological",
        percent=True,
        describes="state",
        part_of="emotions",
        lens="emotion",
        language="en",
    )(_share(column))
    for column, emotion in enumerate(PLUTCHIK)
)


def _variation_card(base: str, of_turns: Callable[[Floats], Floats]) -> MetricCard:
    what = base.removesuffix("_share").replace("_", " ")
    return metric(
        f"{base}_variation",
        meaning=f"How much {base.replace('_', ' ')} moves from turn to turn within a dialogue (SD)",
        family="variation",
        levels=("dialog", "agent", "system"),
        range=(0.0, None),
        citation=_CITATION,
        licence=_LICENCE,
        label=what.capitalize(),
        long_label=f"Variation of {what}",
        family_label="How much states vary within a dialogue",
        headline=None,
        side="psychological",
        lens="emotion",
        language="en",
    )(_variation(base, of_turns))


VARIATIONS = (
    _variation_card("emotional_entropy", lambda counts: entropy(shares(counts))),
    *(
        _variation_card(f"{emotion}_share", lambda counts, c=column: shares(counts)[:, c])  # type: ignore[misc]
        for column, emotion in enumerate(PLUTCHIK)
    ),
)


PLACE = 30
METRICS = (emotional_entropy, emotion_matching, *SHARES, *VARIATIONS)
