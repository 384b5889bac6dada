"""Traits: personality and empathy as the agent's words tell them, by linear models.

Most of these models are in the package `dialens-traits`, since the data that they were fitted on
are for research only; without it their metrics are missing, and say so.

A turn is scored by its own text, a dialogue by the text of all the agent's turns together: the
models are fitted on the pooled text of people, and their features (tf–idf of unit length, cut topic
loadings) are no function of sums. An agent or a system is the mean of its dialogues, each counted
once. Pooling all its dialogues into one text would make agents with much text differ from agents
with little, whatever they say: the more text, the more of the n-grams occur. The mean over
dialogues has no such drift, it is what the stability of a trait within an agent is measured about,
and it can be resampled by dialogue.
"""

from functools import partial
from pathlib import Path
from threading import Lock

import numpy as np

from dialens.base import DialensError
from dialens.metrics._batch import Ints, TurnBatch
from dialens.metrics._encoders import UNKNOWN
from dialens.metrics._family import Family, NotReadyError, Output, ScorerContext
from dialens.metrics._family_cards import cards_of
from dialens.metrics._features import quantised
from dialens.metrics._model_choice import TRAITS
from dialens.metrics._state import Floats
from dialens.metrics.families._trait_counts import TraitScorer, check_together, members
from dialens.models import GET_TRAITS, shipped_folder
from dialens.models.traits import TraitModel, load, mark_of
from dialens.text import VERSION

_GIORGI = "Giorgi et al. 2023, arXiv:2305.14757"
_OPEN = "model fitted on Empathic Reactions (CC BY 4.0): Apache-2.0"
_RESEARCH = (
    "model of dialens-traits: research use only (LicenseRef-dialens-traits-research), as the WASSA "
    "data it was fitted on"
)
_STATE = "state_empathy"
_EMPATHY = {
    "empathic_concern": "Empathic concern (Interpersonal Reactivity Index, 1 to 5)",
    _STATE: "Empathy felt while writing (Batson's scale, 1 to 7)",
}
_LABELS = {
    "empathic_concern": "Empathic concern (writing style)",
    _STATE: "State empathy (writing style)",
}
"""What a reply says to a feeling is the metric `empathy`; these say whose writing it resembles."""
_HEADLINES = {"agreeableness": 3}
_OF_THE_PAPER = ("empathic_concern", "agreeableness")
_HIGHER = {
    "agreeableness": "writes like more agreeable people",
    "openness": "writes like more open people",
    "conscientiousness": "writes like more conscientious people",
    "extraversion": "writes like more extraverted people",
    "neuroticism": "writes like more neurotic people",
    "empathic_concern": "writes like people with more empathic concern",
    _STATE: "writes like people who feel more empathy at the moment",
}


class TraitModels:
    """The trait models of a run: all that were opened score a batch together."""

    label = "linear"

    def __init__(self) -> None:
        self._models: dict[str, TraitModel] = {}
        self._scorer: TraitScorer | None = None
        self._lock = Lock()

    def add(self, trait: str, model: TraitModel) -> None:
        """Take in a model.

        Raises:
            DialensError: It cannot be scored, or not together with the others.
        """
        with self._lock:
            check_together([*self._models.values(), model])
            self._models[trait] = model
            self._scorer = None

    def scores(self, batch: TurnBatch, trait: str) -> tuple[Floats, Floats]:
        """A trait's scores of the batch's turns (the agent's; NaN elsewhere) and dialogues."""
        with self._lock:
            if self._scorer is None:
                self._scorer = TraitScorer(self._models)
            scorer = self._scorer
        turns, dialogs = batch.cached(_scores, scorer)
        column = [scorer.traits.index(trait)]
        return turns[:, column], dialogs[:, column]


def _scores(batch: TurnBatch, scorer: TraitScorer) -> tuple[Floats, Floats]:
    rows: Ints = np.flatnonzero(batch.is_agent)
    turns = np.full((batch.turns.height, len(scorer.traits)), np.nan)
    counts = scorer.counts(batch, rows)
    turns[rows] = scorer.scores(counts)
    pooled = counts.pooled(members(batch.dialog_of_turn[rows], len(batch.dialog_starts)))
    return quantised(turns), quantised(scorer.scores(pooled))


class TraitOfWords:
    """One trait, scored together with the others of the run."""

    def __init__(self, trait: str, models: TraitModels, signature: str) -> None:
        self.signature = signature
        self._trait, self._models = trait, models

    def score_words(self, batch: TurnBatch) -> tuple[Floats, Floats]:
        """Scores of single turns, and of the agent's side of each dialogue."""
        return self._models.scores(batch, self._trait)


def trait_models(context: ScorerContext) -> TraitModels:
    """The trait models of a run, the same for all traits."""
    return context.cached(TraitModels)


def open_scorer(trait: str, context: ScorerContext) -> TraitOfWords:
    """Load the trait's model.

    Raises:
        DialensError: There is none, it is damaged, or it does not go with the others.
    """
    folder = _folder(trait, context)
    model = load(folder)
    models = trait_models(context)
    models.add(trait, model)
    return TraitOfWords(trait, models, mark_of(model))


def _folder(trait: str, context: ScorerContext) -> Path:
    own = context.models.own.get(trait)
    named = _named(trait if own is None else str(own), context)
    if own is None:
        if named is None:
            raise NotReadyError(_absent(context))
        return named
    place = Path(own)
    if not place.is_dir() and named is not None:
        return named
    if not (place / "card.json").is_file():
        raise DialensError(
            f"no model for {trait} in {place} (fit one of your own with `dialens traits fit` and "
            f"give it with --model {trait}=FOLDER)"
        )
    return place


def _named(trait: str, context: ScorerContext) -> Path | None:
    """The folder of a trait's model among those that a run may use."""
    holder = context.models.folder
    if holder is None:
        return shipped_folder(f"traits_{trait}")
    place = holder / f"traits_{trait}"
    return place if place.is_dir() else None


def _absent(context: ScorerContext) -> str:
    """Why a trait has no model, the same for all traits, so that one sentence says it."""
    if context.models.folder is not None:
        return f"there is no model of it in {context.models.folder}"
    return f"the trait models, for research only, are not installed ({GET_TRAITS})"


def ready(trait: str, context: ScorerContext) -> str | None:
    """What is missing: the package with the trait models, or nothing."""
    there = trait in context.models.own or _named(trait, context) is not None
    return None if there else _absent(context)


def _family(trait: str) -> Family:
    meaning = _EMPATHY.get(trait, f"{trait.capitalize()} (Big Five, 1 to 7)")
    output = Output(
        trait,
        f"{meaning}, predicted from the agent's words",
        higher_is_better=None,
        label=_LABELS.get(trait, ""),
        higher_reads=_HIGHER[trait],
        headline=_HEADLINES.get(trait),
        describes="momentary trait" if trait == _STATE else "trait",
    )
    return Family(
        name=trait,
        outputs=(output,),
        open=partial(open_scorer, trait),
        ready=partial(ready, trait),
        needs=("model",),
        kind="words",
        reads=(),
        reasons={"value": UNKNOWN},
        whole=True,
        citation=_GIORGI,
        licence=_OPEN if trait == _STATE else _RESEARCH,
        groups=("giorgi2023",) if trait in _OF_THE_PAPER else (),
        side="psychological",
        listed="personality",
        by_default=True,
        cached=False,
        uses={"tok": VERSION},
        model=trait_models,
    )


FAMILIES = tuple(map(_family, TRAITS))
CARDS = tuple(card for family in FAMILIES for card in cards_of(family))


PLACE = 20
METRICS = CARDS
