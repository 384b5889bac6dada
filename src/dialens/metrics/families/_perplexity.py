"""Perplexity of a reply after its context, by a causal language model."""

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from dialens.metrics._family import Family, Output, ScorerContext, Unit
from dialens.metrics._pace import paced
from dialens.metrics._state import Floats, ratio
from dialens.metrics.families._causal import (
    dialogue_ids,
    fitted,
    load_causal,
    log_likelihoods,
    turn_ids,
)
from dialens.metrics.families._token_encoder import longest
from dialens.metrics.families._weights import (
    TRANSFORMERS,
    Loaded,
    lacking_packages,
    lacking_weights,
)

NAME = "perplexity"
WHAT = "a causal language model such as DialoGPT-medium or gpt2"


class PerplexityScorer:
    """Two numbers: the negative log-likelihood of the reply's tokens, and how many there are.

    Turns are ended by the tokenizer's end of text, as DialoGPT reads them; a reply without context
    begins after one such token. Too long a context loses its beginning.
    """

    def __init__(self, loaded: Loaded) -> None:
        self._loaded = loaded
        self._longest = longest(loaded)
        self.signature = loaded.signature

    def prepare(self, references: Iterable[str]) -> None:
        """Nothing is learned from references."""

    def score(
        self, units: Sequence[Unit], advance: Callable[[int], None] = lambda _: None
    ) -> Floats:
        """One row a unit; NaN for a reply without a token."""
        asked = [
            fitted(
                dialogue_ids(self._loaded, unit.context),
                turn_ids(self._loaded, unit.response),
                self._longest,
            )
            for unit in units
        ]
        total = log_likelihoods(self._loaded, asked, paced(advance, len(units), len(asked)))
        counts = np.array([len(continuation.asked) for continuation in asked], dtype=float)
        tallies: Floats = np.column_stack([-total, counts])
        tallies[counts == 0] = np.nan
        return tallies


def perplexity(tallies: Floats) -> Floats:
    """The inverse geometric mean of the probabilities of all tokens, whatever reply they are of.

    Examples:
        >>> perplexity(np.array([[np.log(8), 3.0]])).round(6).tolist()
        [2.0]
    """
    surprise, tokens = tallies.T
    result: Floats = np.exp(ratio(surprise, tokens))
    return result


def ready(context: ScorerContext) -> str | None:
    """What is missing."""
    return lacking_packages(*TRANSFORMERS) or lacking_weights(context, NAME, WHAT)


def open_scorer(context: ScorerContext) -> PerplexityScorer:
    """Load the model."""
    return PerplexityScorer(load_causal(context, NAME, WHAT))


FAMILY = Family(
    name=NAME,
    outputs=(
        Output(
            NAME,
            "How surprised a causal language model is by the reply after its context",
            (1.0, None),
            higher_is_better=False,
            of_sums=perplexity,
        ),
    ),
    whole=True,
    tallies=2,
    version=2,  # 1 averaged the perplexities of replies
    open=open_scorer,
    ready=ready,
    reads=("context",),
    weights={NAME: WHAT},
    citation="Jelinek et al. 1977, Perplexity, a measure of the difficulty of speech recognition "
    "tasks; turns joined as in Zhang et al. 2020, DialoGPT, ACL",
)


PLACE = 210
METRICS = (FAMILY,)
