"""Engagement: how far a reply engages people, given what was said before it.

The model learned from how people reacted to replies (EnDex, Xu et al. 2022) and reads the last two
turns, whoever spoke, together with the reply. Its parts are metrics of their own: what it makes of
reactions, and whether the reply belongs to its context. `dialens.models._engagement` says how they
are put together, and what is done where the corpus knows what the speaker was given to speak from
(`dialens.corpus._background`). A turn with nothing said before it has no value.
"""

import hashlib
import json
from collections.abc import Callable, Sequence

import numpy as np

from dialens.metrics._encoders import (
    UNKNOWN,
    EncoderScorer,
    TaskReader,
    encoders_of,
    opened_reader,
    where_read,
)
from dialens.metrics._family import Advance, Family, Output, ScorerContext, Unit
from dialens.metrics._features import quantised
from dialens.metrics._state import Floats
from dialens.models import (
    CONTEXT_TURNS,
    FORMULA,
    EngagementScorer,
    Model,
    averaged,
    background_pairs,
    context,
    largest,
    sigmoid,
)

ENGAGEMENT = "engagement"
RELEVANCE = "relevance"
_POSITIVE = {ENGAGEMENT: ("engaging",), RELEVANCE: ("relevant",)}
_ENDEX = "Xu et al. 2022 (EnDex), doi:10.18653/v1/2022.findings-emnlp.359"
_LABEL = "Engagement and its parts"
_LICENCE = "model trained on reactions of Reddit's users, no text of whom is in it: Apache-2.0"
_REASONS = {
    "turn": "no turn before it",
    "context": "no text in the prompt",
    "value": UNKNOWN,
    "text": "no text",
}


def _pairs(units: Sequence[Unit]) -> list[tuple[str, str]]:
    return [(context(unit.context), unit.response) for unit in units]


class EngagementOfReplies(EncoderScorer):
    """Engagement by the formula of the model's card, and the probability of reactions alone."""

    def __init__(self, reader: TaskReader) -> None:
        self._reader = reader
        self._formula = EngagementScorer(reader.model)
        self.signature = reader.signature
        if isinstance(reader.model, Model) and FORMULA in reader.model.card.facts:
            formula = json.dumps(reader.model.card.facts[FORMULA], sort_keys=True)
            self.signature += f"/formula@{hashlib.sha256(formula.encode()).hexdigest()[:8]}"

    def begin(
        self, units: Sequence[Unit], advance: Advance = lambda _: None
    ) -> Callable[[], Floats]:
        """One row a unit, one column an output."""
        replies = [unit.response for unit in units]
        rows, after = background_pairs(replies, [unit.background for unit in units])
        some = len(units) // 2 if after else 0
        in_context = self._reader.encoder.ask(_pairs(units), len(units) - some, advance)
        in_background = self._reader.encoder.ask(after, some, advance)
        return lambda: self._values(
            replies, in_context.result(), largest(in_background.result(), rows, len(units))
        )

    def _values(
        self, replies: Sequence[str], after_context: Floats, after_background: Floats
    ) -> Floats:
        read = np.flatnonzero(~np.isnan(after_context[:, 0]))
        values = np.full((len(replies), 2), np.nan)
        if len(read):
            mean = averaged(after_context, after_background)[read]
            parts = {task: self._logit(mean, task) for task in self._formula.formula.tasks}
            values[read, 0] = self._formula.combine(parts, [replies[row] for row in read.tolist()])
            values[read, 1] = sigmoid(self._logit(after_context[read], ENGAGEMENT))
        return quantised(values)

    def _logit(self, logits: Floats, task: str) -> Floats:
        return self._reader.logit(logits, _POSITIVE.get(task, ()), task)


class RelevanceOfReplies(EncoderScorer):
    """The probability that a reply belongs to its context."""

    def __init__(self, reader: TaskReader) -> None:
        self.signature = reader.signature
        self._reader = reader

    def begin(
        self, units: Sequence[Unit], advance: Advance = lambda _: None
    ) -> Callable[[], Floats]:
        """One row a unit."""
        logits = self._reader.encoder.ask(_pairs(units), len(units), advance)
        return lambda: where_read(logits.result(), self._chance, 1)

    def _chance(self, logits: Floats) -> Floats:
        return quantised(sigmoid(self._reader.logit(logits, _POSITIVE[RELEVANCE])))[:, None]


def open_engagement(context: ScorerContext) -> EngagementOfReplies:
    """Find the model, and try it out."""
    return EngagementOfReplies(opened_reader(context, ENGAGEMENT, _POSITIVE[ENGAGEMENT]))


def open_relevance(context: ScorerContext) -> RelevanceOfReplies:
    """Find the model, the one that does engagement if it can, and try it out."""
    reader = opened_reader(context, RELEVANCE, _POSITIVE[RELEVANCE], beside=ENGAGEMENT)
    return RelevanceOfReplies(reader)


FAMILY = Family(
    name=ENGAGEMENT,
    label=_LABEL,
    outputs=(
        Output(
            "engagement",
            "How far a turn of the agent engages people, given what was said before it",
            (0.0, 1.0),
            version=3,
            higher_reads="is more engaging",
            headline=2,
        ),
        Output(
            "engagement_reactions",
            "Probability that people would react to a turn of the agent, by a classifier",
            (0.0, 1.0),
            label="Reactions",
            higher_reads="would draw more reactions",
            part_of=ENGAGEMENT,
        ),
    ),
    open=open_engagement,
    needs=("model", "context"),
    reads=("context", "background"),
    context_turns=CONTEXT_TURNS,
    reasons=_REASONS,
    whole=True,
    citation=_ENDEX,
    licence=_LICENCE,
    version=2,
    by_default=True,
    cached=False,
    model=lambda context: encoders_of(context).reader(ENGAGEMENT).encoder,
)
RELEVANCE_FAMILY = Family(
    name=RELEVANCE,
    label=_LABEL,
    outputs=(
        Output(
            "relevance",
            "Probability that a turn of the agent belongs to what was said before, by a classifier",
            (0.0, 1.0),
            higher_reads="stays closer to what was said",
            part_of=ENGAGEMENT,
        ),
    ),
    open=open_relevance,
    needs=("model", "context"),
    reads=("context",),
    context_turns=CONTEXT_TURNS,
    reasons=_REASONS,
    whole=True,
    licence=_LICENCE,
    version=2,
    listed=ENGAGEMENT,
    by_default=True,
    cached=False,
    model=lambda context: encoders_of(context).reader(RELEVANCE).encoder,
)
FAMILIES = (FAMILY, RELEVANCE_FAMILY)


PLACE = 10
METRICS = FAMILIES
