"""BARTScore: how likely BART finds the reply after the context, and reply and reference in turn.

Yuan, Neubig and Liu 2021: the mean over all tokens of the target, begin and end of the sentence
included, of the logarithm of their probability.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from dialens.base import DialensError
from dialens.metrics._family import Family, Output, ScorerContext, Unit
from dialens.metrics._pace import paced
from dialens.metrics._state import Floats
from dialens.metrics.families._seq2seq import Reading, likelihoods, load_halves
from dialens.metrics.families._weights import (
    TRANSFORMERS,
    Loaded,
    lacking_packages,
    lacking_weights,
)

NAME = "bart_score"
WHAT = "a BART model such as bart-large-cnn"
LONGEST = 1024
"""Tokens of a text, as in the authors' implementation."""

_AGGREGATES: dict[str, Callable[..., Any]] = {"mean": np.mean, "max": np.max}


class BartScorer:
    """Source to reply, reply to reference, reference to reply, and the mean of the last two.

    The source is the whole context, turns joined by spaces; where it is too long it loses its
    beginning. Of several references the mean is given, as the authors do, or the maximum.
    """

    def __init__(self, loaded: Loaded, references: str) -> None:
        self._loaded = loaded
        self._aggregate = _AGGREGATES[references]
        places = getattr(loaded.model.config, "max_position_embeddings", LONGEST)
        self._longest = min(LONGEST, places, int(loaded.tokenizer.model_max_length))
        self.signature = f"{loaded.signature},references={references}"

    def prepare(self, references: Iterable[str]) -> None:
        """Nothing is learned from references."""

    def score(
        self, units: Sequence[Unit], advance: Callable[[int], None] = lambda _: None
    ) -> Floats:
        """One row a unit; NaN in the first column without context, in others without reference."""
        ids: dict[str, tuple[int, ...]] = {}
        for text in dict.fromkeys(
            text for unit in units for text in (unit.response, *unit.references)
        ):
            ids[text] = self._ids(text)
        sources = {unit.context: self._source(unit.context) for unit in units}
        wanted: dict[Reading, int] = {}

        def place(source: tuple[int, ...], target: tuple[int, ...]) -> int:
            return wanted.setdefault(Reading(source, target), len(wanted))

        asked = []
        for unit in units:
            reply = ids[unit.response]
            after = [place(sources[unit.context], reply)] if unit.context else []
            to = [place(reply, ids[reference]) for reference in unit.references]
            back = [place(ids[reference], reply) for reference in unit.references]
            asked.append((after, to, back))
        likelihood = likelihoods(
            self._loaded, list(wanted), paced(advance, len(units), len(wanted))
        )
        result = np.full((len(units), 4), np.nan)
        for row, (after, to, back) in enumerate(asked):
            if after:
                result[row, 0] = likelihood[after[0]]
            if to:
                result[row, 1] = self._aggregate(likelihood[to])
                result[row, 2] = self._aggregate(likelihood[back])
                result[row, 3] = self._aggregate((likelihood[to] + likelihood[back]) / 2)
        return result

    def _ids(self, text: str) -> tuple[int, ...]:
        return tuple(
            self._loaded.tokenizer(text, truncation=True, max_length=self._longest)["input_ids"]
        )

    def _source(self, context: tuple[str, ...]) -> tuple[int, ...]:
        ids = self._loaded.tokenizer(" ".join(context), verbose=False)["input_ids"]
        if len(ids) > self._longest:  # what was said last matters most
            ids = [ids[0], *ids[len(ids) - self._longest + 1 :]]
        return tuple(ids)


def ready(context: ScorerContext) -> str | None:
    """What is missing."""
    return lacking_packages(*TRANSFORMERS) or lacking_weights(context, NAME, WHAT)


def open_scorer(context: ScorerContext) -> BartScorer:
    """Load the model and read the options."""
    references = context.options.get(NAME, {}).get("references", "mean")
    if references not in _AGGREGATES:
        raise DialensError(f"--metric-option bart_score.references={references}: give mean or max")
    loaded = load_halves(context, NAME, WHAT)
    return BartScorer(loaded, references)


FAMILY = Family(
    name=NAME,
    label="BARTScore",
    outputs=(
        Output(
            "bart_score_s_h",
            "Mean log probability of the reply's tokens after the context (faithfulness)",
            (None, 0.0),
            needs=("context",),
            label="BARTScore s→h",
        ),
        Output(
            "bart_score_h_r",
            "Mean log probability of the reference's tokens after the reply (recall)",
            (None, 0.0),
            needs=("reference",),
            label="BARTScore h→r",
        ),
        Output(
            "bart_score_r_h",
            "Mean log probability of the reply's tokens after the reference (precision)",
            (None, 0.0),
            needs=("reference",),
            label="BARTScore r→h",
        ),
        Output(
            "bart_score_f",
            "Mean of both directions between reply and reference",
            (None, 0.0),
            needs=("reference",),
            label="BARTScore F",
            headline=104,
        ),
    ),
    open=open_scorer,
    ready=ready,
    weights={NAME: WHAT},
    options={"references": "mean (default) or max over several references"},
    citation="Yuan, Neubig and Liu 2021, BARTScore: Evaluating Generated Text as Text Generation, "
    "NeurIPS",
)


PLACE = 150
METRICS = (FAMILY,)
