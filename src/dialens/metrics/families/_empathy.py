"""Empathy: how far a reply meets the feeling in what was said with warmth, and belongs there.

The model reads the sentences of a reply, the turn that it answers, and the reply after the last two
turns; `dialens.models._empathy` says how these are put together. It is about what one turn says to
another, as raters of support replies judge it. The traits `empathic_concern` and `state_empathy`
are about something else: whose writing an agent's words resemble.
"""

from collections.abc import Callable, Sequence

import numpy as np

from dialens.metrics._encoders import UNKNOWN, EncoderScorer, TaskReader, encoders_of, opened_reader
from dialens.metrics._family import Advance, Family, Output, ScorerContext, Unit
from dialens.metrics._features import quantised
from dialens.metrics._state import Floats
from dialens.models import (
    CONTEXT_TURNS,
    EMPATHY,
    ENGAGING,
    WARM,
    EmpathyInputs,
    EmpathyScorer,
)

_REACTIONS = "engagement"


class EmpathyOfReplies(EncoderScorer):
    """Empathy by the formula of the model's card.

    Args:
        reader: Reads single texts.
        reactions: The same model's reader of pairs; None where there is no formula.
    """

    def __init__(self, reader: TaskReader, reactions: TaskReader | None) -> None:
        self._reader, self._reactions = reader, reactions
        self._formula = EmpathyScorer(reader.model)
        self.signature = "/".join(filter(None, (reader.signature, self._formula.signature)))

    def begin(
        self, units: Sequence[Unit], advance: Advance = lambda _: None
    ) -> Callable[[], Floats]:
        """One row a unit."""
        inputs = EmpathyInputs.of([(unit.context, unit.response) for unit in units])
        some = 0 if self._reactions is None else len(units) // 2
        texts = self._reader.encoder.ask(inputs.texts, len(units) - some, advance)
        pairs = None
        if self._reactions is not None:
            pairs = self._reactions.encoder.ask(inputs.pairs, some, advance)
        return lambda: self._values(
            inputs, texts.result(), None if pairs is None else pairs.result()
        )

    def _values(self, inputs: EmpathyInputs, texts: Floats, pairs: Floats | None) -> Floats:
        reactions = None
        if pairs is not None and self._reactions is not None:
            reactions = self._reactions.logit(pairs, ENGAGING)
        logits = texts[:, self._reader.head.columns]
        return quantised(self._formula.combine(inputs, logits, reactions))[:, np.newaxis]


def open_empathy(context: ScorerContext) -> EmpathyOfReplies:
    """Find the model, and try it out."""
    reader = opened_reader(context, EMPATHY, WARM)
    formula = EmpathyScorer(reader.model).formula
    reactions = None
    if formula is not None:
        reactions = encoders_of(context).sibling(reader, _REACTIONS)
        reactions.check(ENGAGING)
    return EmpathyOfReplies(reader, reactions)


FAMILY = Family(
    name=EMPATHY,
    label="Empathy",
    outputs=(
        Output(
            "empathy",
            "How far a turn of the agent meets the feeling in what was said with warmth",
            (0.0, 1.0),
            higher_reads="answers feelings more warmly",
            headline=1,
        ),
    ),
    open=open_empathy,
    needs=("model", "context"),
    reads=("context",),
    context_turns=CONTEXT_TURNS,
    reasons={
        "context": "nothing to answer",
        "value": UNKNOWN,
        "text": "no text",
    },
    whole=True,
    citation="judged on EPITOME: Sharma et al. 2020, doi:10.18653/v1/2020.emnlp-main.425",
    licence="model trained on sentences written for dialens: Apache-2.0; research-grade",
    side="psychological",
    by_default=True,
    cached=False,
    model=lambda context: encoders_of(context).reader(EMPATHY).encoder,
)


PLACE = 5
METRICS = (FAMILY,)
