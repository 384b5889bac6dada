"""Toxicity: how likely a turn is an insult or a slur, by a classifier."""

from collections.abc import Callable, Sequence

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
from dialens.models import sigmoid

TASK = "toxicity"
_POSITIVE = ("toxic",)


class ToxicityScorer(EncoderScorer):
    """The probability of the label that counts."""

    def __init__(self, reader: TaskReader) -> None:
        self.signature = reader.signature
        self._reader = reader

    def begin(
        self, units: Sequence[Unit], advance: Advance = lambda _: None
    ) -> Callable[[], Floats]:
        """One row a unit."""
        replies = [unit.response for unit in units]
        logits = self._reader.encoder.ask(replies, len(units), advance)
        return lambda: where_read(logits.result(), self._chance, 1)

    def _chance(self, logits: Floats) -> Floats:
        return quantised(sigmoid(self._reader.logit(logits, _POSITIVE)))[:, None]


def open_scorer(context: ScorerContext) -> ToxicityScorer:
    """Find the model, and try it out."""
    return ToxicityScorer(opened_reader(context, TASK, _POSITIVE))


FAMILY = Family(
    name=TASK,
    outputs=(
        Output(
            "toxicity",
            "Probability that a turn of the agent is crude or insulting, by a classifier",
            (0.0, 1.0),
            higher_is_better=False,
            higher_reads="sounds more toxic",
            headline=4,
            percent=True,
        ),
    ),
    open=open_scorer,
    needs=("model",),
    reads=(),
    reasons={"value": UNKNOWN, "text": "no text"},
    whole=True,
    citation="Davidson et al. 2017, doi:10.1609/icwsm.v11i1.14955",
    licence="model trained on two MIT-licensed sets: Apache-2.0",
    version=2,
    by_default=True,
    cached=False,
    model=lambda context: encoders_of(context).reader(TASK).encoder,
)


PLACE = 50
METRICS = (FAMILY,)
