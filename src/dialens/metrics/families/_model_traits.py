"""Traits: personality and empathy as the agent's words tell them, by linear models that ship.

A turn is scored by its own text, a dialogue by the text of all the agent's turns together: the
models are fitted on the pooled text of people, and their features (tf–idf of unit length, cut topic
loadings) are no function of sums. An agent or a system is the mean of its dialogues, each counted
once. Pooling all its dialogues into one text would make agents with much text differ from agents
with little, whatever they say: the more text, the more of the n-grams occur. The mean over
dialogues has no such drift, it is what the stability of a trait within an agent is measured about,
and it can be resampled by dialogue.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dialens.metrics._batch import Ints, TurnBatch
from dialens.metrics._card import Definition, MetricCard, Resources, metric, with_models
from dialens.metrics._features import Merger, Sums
from dialens.metrics._model_pass import quantised, trait_scorer
from dialens.metrics._model_set import TRAITS, ModelSet
from dialens.metrics._state import Floats, State, Values, ratio
from dialens.metrics.families._trait_counts import Counts, TraitScorer, members
from dialens.text import VERSION

_GIORGI = "Giorgi et al. 2023, arXiv:2305.14757"
_LICENCE = "trained on research data, see `dialens models`"
_EMPATHY = {
    "empathic_concern": "Empathic concern (Interpersonal Reactivity Index, 1 to 5)",
    "state_empathy": "Empathy felt while writing (Batson's scale, 1 to 7)",
}
_HEADLINES = {"empathic_concern": 2, "agreeableness": 3}
_HIGHER = {
    "agreeableness": "writes like more agreeable people",
    "openness": "writes like more open people",
    "conscientiousness": "writes like more conscientious people",
    "extraversion": "writes like more extraverted people",
    "neuroticism": "writes like more neurotic people",
    "empathic_concern": "writes like people with more empathic concern",
    "state_empathy": "writes like people who feel more empathy at the moment",
}


def trait_scores(batch: TurnBatch, models: ModelSet, name: str) -> tuple[Floats, Floats]:
    """A trait's scores of the batch's turns (the agent's; NaN elsewhere) and of its dialogues.

    All traits of a run are scored together by the first that asks.
    """
    scorer = trait_scorer(batch, models)
    made = batch.once("trait scores", lambda b: _scored(b, scorer))
    if name not in scorer.traits:
        nothing = np.full(batch.turns.height, np.nan)
        return nothing, nothing[: len(batch.dialog_starts)]
    column = scorer.traits.index(name)
    return made[0][:, column], made[1][:, column]


def _scored(batch: TurnBatch, scorer: TraitScorer) -> tuple[Floats, Floats]:
    rows: Ints = np.flatnonzero(batch.is_agent)
    count = len(batch.dialog_starts)
    turns = np.full((batch.turns.height, len(scorer.traits)), np.nan)
    if not scorer.traits:
        return turns, turns[:count]
    counts: Counts = scorer.counts(batch, rows)
    turns[rows] = scorer.scores(counts)
    pooled = counts.pooled(members(batch.dialog_of_turn[rows], count))
    return quantised(turns), quantised(scorer.scores(pooled))


@dataclass(frozen=True)
class TraitScore:
    """The score of a turn, or of a dialogue from its pooled words; sums of dialogues beyond.

    Columns: the score (0 where there is none) and whether there is one.
    """

    name: str
    models: ModelSet
    adds_up = True

    def turns(self, batch: TurnBatch) -> Floats:
        """Scores of single turns."""
        return _columns(trait_scores(batch, self.models, self.name)[0])

    def dialogs(self, batch: TurnBatch, turns: Floats, keep: NDArray[np.bool_]) -> Floats:
        """Scores of the agent's side of each dialogue."""
        return _columns(trait_scores(batch, self.models, self.name)[1])

    def merger(self) -> Merger:
        """Sums over dialogues."""
        return Sums()


def _columns(scores: Floats) -> Floats:
    there = ~np.isnan(scores)
    return np.column_stack([np.where(there, scores, 0.0), there.astype(np.float64)])


def _card(name: str) -> MetricCard:
    meaning = _EMPATHY.get(name, f"{name.capitalize()} (Big Five, 1 to 7)")

    @metric(
        name,
        meaning=f"{meaning}, predicted from the agent's words",
        family="empathy" if name in _EMPATHY else "personality",
        needs=("model",),
        citation=_GIORGI,
        licence=_LICENCE,
        groups=("giorgi2023",) if name in _HEADLINES else (),
        higher_reads=_HIGHER[name],
        headline=_HEADLINES.get(name),
        side="psychological",
        describes="momentary trait" if name == "state_empathy" else "trait",
    )
    def trait(resources: Resources) -> Definition:
        feature = TraitScore(name, resources.models)

        def compute(state: State) -> Values:
            total, n = state.own[feature.name].T
            return Values.where(ratio(total, n), no_word_the_model_knows=n == 0)

        definition = Definition((feature,), compute, {"tok": VERSION})
        return with_models(definition, resources.models, (name,))

    return trait


CARDS = tuple(_card(name) for name in TRAITS)
