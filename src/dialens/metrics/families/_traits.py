"""Traits: personality and empathy as the agent's words tell them, by linear models that ship.

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
from dialens.metrics._family import Family, Output, ScorerContext
from dialens.metrics._family_cards import cards_of
from dialens.metrics._features import quantised
from dialens.metrics._model_choice import TRAITS
from dialens.metrics._state import Floats
from dialens.metrics.families._trait_counts import TraitScorer, check_together, members
from dialens.models import PACKAGED
from dialens.models.traits import MODEL_FILE, TraitModel, load
from dialens.text import VERSION

_GIORGI = "Giorgi et al. 2023, arXiv:2305.14757"
_LICENCE = "trained on research data, see `dialens models`"
_EMPATHY = {
    "empathic_concern": "Empathic concern (Interpersonal Reactivity Index, 1 to 5)",
    "state_empathy": "Empathy felt while writing (Batson's scale, 1 to 7)",
}
_LABELS = {
    "empathic_concern": "Empathic concern (writing style)",
    "state_empathy": "State empathy (writing style)",
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
    "state_empathy": "writes like people who feel more empathy at the moment",
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
    return TraitOfWords(
        trait, models, f"{model.card['name']}@{model.card['files'][MODEL_FILE][:8]}"
    )


def _folder(trait: str, context: ScorerContext) -> Path:
    choice = context.models
    holder = choice.folder or PACKAGED
    place = Path(choice.own.get(trait, holder / f"traits_{trait}"))
    shipped = holder / f"traits_{place}"
    if not place.is_dir() and shipped.is_dir():
        return shipped
    if not (place / "card.json").is_file():
        raise DialensError(
            f"no model for {trait} in {place} (install dialens again, or fit one of your own "
            f"with `dialens traits fit` and give it with --model {trait}=FOLDER)"
        )
    return place


def _family(trait: str) -> Family:
    meaning = _EMPATHY.get(trait, f"{trait.capitalize()} (Big Five, 1 to 7)")
    output = Output(
        trait,
        f"{meaning}, predicted from the agent's words",
        higher_is_better=None,
        label=_LABELS.get(trait, ""),
        higher_reads=_HIGHER[trait],
        headline=_HEADLINES.get(trait),
        describes="momentary trait" if trait == "state_empathy" else "trait",
    )
    return Family(
        name=trait,
        outputs=(output,),
        open=partial(open_scorer, trait),
        needs=("model",),
        kind="words",
        reads=(),
        reasons={"value": UNKNOWN},
        whole=True,
        citation=_GIORGI,
        licence=_LICENCE,
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
