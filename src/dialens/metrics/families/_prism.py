"""Prism: a multilingual translator that paraphrases, and how likely it finds the reply.

Thompson and Post 2020: a text is scored by the mean log probability of its tokens and its end when
the translator is told to write the *same* language; the language's tag is forced and not counted.
Prism-ref is the mean of both directions between reply and reference.

The third paper's tables have "unref." and "context" beside it and do not define them. Public code
that scores the same rating sets with Prism (github.com/p-luk/chatbot-eval) keeps both directions
and puts another text in the reference's place: nothing at all, or the last turn before the reply.
We read the tables so; `prism.context=all` takes the whole context.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any

import numpy as np

from dialens.base import DialensError
from dialens.metrics._family import Family, NotReadyError, Output, ScorerContext, Unit
from dialens.metrics._pace import paced
from dialens.metrics._state import Floats
from dialens.metrics.families._seq2seq import Reading, likelihoods, load_halves
from dialens.metrics.families._token_encoder import longest
from dialens.metrics.families._weights import (
    TRANSFORMERS,
    Loaded,
    lacking_packages,
    lacking_weights,
)

NAME = "prism"
WHAT = "a multilingual translation model such as Prism's m39v1, converted for transformers"

_SHAPES = ("<{}>", "__{}__", "{}_XX", "{}")  # of Prism itself, M2M100, mBART, NLLB


def language_tag(tokenizer: Any, language: str) -> int | None:
    """The id of the token that tells the decoder a language; None if the model has none.

    Args:
        tokenizer: Of the model.
        language: As the model writes it, with or without what is around it: `en`, `eng_Latn`.
    """
    vocabulary = tokenizer.get_vocab()
    special = {*tokenizer.all_special_tokens, *tokenizer.get_added_vocab()}
    for shape in _SHAPES:
        tag = shape.format(language)
        # A bare `en` is as good as always a piece of some word; so bare tags must be special.
        if tag in vocabulary and (shape != "{}" or tag in special):
            return int(vocabulary[tag])
    return None


class PrismScorer:
    """Reply against the reference, against nothing, and against the context, both ways each.

    Of several references the maximum is given.
    """

    def __init__(self, loaded: Loaded, language: str, context: str) -> None:
        self._loaded = loaded
        self._whole = context == "all"
        tokenizer = loaded.tokenizer
        tag = language_tag(tokenizer, language)
        if tag is None and language != "en":
            raise DialensError(
                f"--metric-option prism.language={language}: the vocabulary of {loaded.folder} has "
                f"no such tag; give it as it is written there"
            )
        if hasattr(tokenizer, "src_lang") and tag is not None:
            tokenizer.src_lang = tokenizer.convert_ids_to_tokens(tag).strip("<>_")
        if loaded.model.config.eos_token_id is None:
            raise NotReadyError(
                f"{loaded.folder / 'config.json'} does not say eos_token_id, which ends a text: "
                "add it"
            )
        self._end = int(loaded.model.config.eos_token_id)
        begin = tokenizer("")["input_ids"][:1]
        # Without tags (BART, T5) what begins every sentence is given likewise.
        plain = tuple(int(token) for token in begin if token != self._end)
        self._forced = plain if tag is None else (tag,)
        self._longest = longest(loaded)
        language_used = language if tag is not None else "none"
        self.signature = f"{loaded.signature},language={language_used},context={context}"

    def prepare(self, references: Iterable[str]) -> None:
        """Nothing is learned from references."""

    def score(
        self, units: Sequence[Unit], advance: Callable[[int], None] = lambda _: None
    ) -> Floats:
        """One row a unit; NaN in the first column without reference, the last without context."""
        wanted: dict[Reading, int] = {}
        source, target, forced = cache(self._source), cache(self._target), len(self._forced)

        def place(read: str, spoken: str) -> int:
            return wanted.setdefault(Reading(source(read), target(spoken), forced), len(wanted))

        def both(reply: str, other: str) -> tuple[int, int]:
            return place(other, reply), place(reply, other)

        asked = []
        for unit in units:
            before = " ".join(unit.context if self._whole else unit.context[-1:]).strip()
            pairs = [both(unit.response, reference) for reference in unit.references]
            alone = both(unit.response, "")
            asked.append((pairs, alone, both(unit.response, before) if before else None))
        likelihood = likelihoods(
            self._loaded, list(wanted), paced(advance, len(units), len(wanted))
        )
        result = np.full((len(units), 3), np.nan)
        for row, (pairs, alone, talk) in enumerate(asked):
            if pairs:
                result[row, 0] = max(likelihood[list(pair)].mean() for pair in pairs)
            result[row, 1] = likelihood[list(alone)].mean()
            if talk is not None:
                result[row, 2] = likelihood[list(talk)].mean()
        return result

    def _source(self, text: str) -> tuple[int, ...]:
        encoded = self._loaded.tokenizer(text, truncation=True, max_length=self._longest)
        return tuple(encoded["input_ids"])

    def _target(self, text: str) -> tuple[int, ...]:
        room = self._longest - len(self._forced) - 1
        encoded = self._loaded.tokenizer(text, add_special_tokens=False, verbose=False)
        return (*self._forced, *encoded["input_ids"][:room], self._end)


def ready(context: ScorerContext) -> str | None:
    """What is missing."""
    return lacking_packages(*TRANSFORMERS) or lacking_weights(context, NAME, WHAT)


def open_scorer(context: ScorerContext) -> PrismScorer:
    """Load the model and read the options."""
    options = context.options.get(NAME, {})
    turns = options.get("context", "last")
    if turns not in ("last", "all"):
        raise DialensError(f"--metric-option prism.context={turns}: give last or all")
    loaded = load_halves(context, NAME, WHAT)
    return PrismScorer(loaded, options.get("language", "en"), turns)


FAMILY = Family(
    name=NAME,
    label="Prism",
    outputs=(
        Output(
            "prism_ref",
            "Mean log probability of reply and reference as paraphrases of each other (best of "
            "several references)",
            (None, 0.0),
            needs=("reference",),
            label="Prism-ref",
            headline=106,
        ),
        Output(
            "prism_unref",
            "The same with nothing in the reference's place: fluency",
            (None, 0.0),
            label="Prism-unref",
        ),
        Output(
            "prism_context",
            "The same with the last turn before the reply in the reference's place",
            (None, 0.0),
            needs=("context",),
            label="Prism-context",
        ),
    ),
    open=open_scorer,
    ready=ready,
    weights={NAME: WHAT},
    options={
        "language": "tag of the language that is written, as the vocabulary has it (en)",
        "context": "last (default): the turn before the reply; all: every turn before it",
    },
    citation="Thompson and Post 2020, Automatic Machine Translation Evaluation in Many Languages "
    "via Zero-Shot Paraphrasing, EMNLP",
)


PLACE = 170
METRICS = (FAMILY,)
