"""FED: does a dialogue model expect people to praise the reply next, or to complain?

Mehri and Eskenazi 2020. For each quality there are utterances that would follow a good reply and
ones that would follow a bad one. The score is the mean log-probability a token of the first, less
that of the second, after the dialogue so far; where there is one kind only, that kind counts alone.
The utterances here are our own wording. The authors' code takes the loss over the whole text, the
dialogue included; here only the follow-up counts, as in the paper's formula.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dialens.metrics._family import Family, Output, ScorerContext, Unit
from dialens.metrics._pace import paced
from dialens.metrics._state import Floats
from dialens.metrics.families._causal import (
    Continuation,
    dialogue_ids,
    end_of_turn,
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

NAME = "fed"
WHAT = "a causal language model of dialogue such as DialoGPT-large"


@dataclass(frozen=True)
class FollowUps:
    """What people might say after a reply that has a quality, and after one that lacks it."""

    good: tuple[str, ...]
    bad: tuple[str, ...]


QUALITIES: Mapping[str, FollowUps] = {
    "interesting": FollowUps(
        ("Wow, tell me more about that!", "That's really interesting."),
        ("That's boring.", "Who cares?"),
    ),
    "engaging": FollowUps(
        ("I want to hear more!", "Let's keep talking about this."),
        ("I don't want to talk about this.", "Let's talk about something else."),
    ),
    "specific": FollowUps(
        ("Thanks, that's very detailed.",),
        ("That's too vague.", "Can you be more specific?"),
    ),
    "relevant": FollowUps(
        ("Yes, exactly what I was asking.",),
        ("That has nothing to do with what I said.", "Why are you changing the subject?"),
    ),
    "correct": FollowUps(
        ("Right, you got me.",),
        ("No, that's not what I meant.", "You didn't understand me."),
    ),
    "appropriate": FollowUps(
        ("That makes sense.",),
        ("That makes no sense.", "That's a strange thing to say."),
    ),
    "understandable": FollowUps(
        ("I see what you mean.",),
        ("I don't understand what you mean.", "What are you trying to say?"),
    ),
    "fluent": FollowUps(
        ("You put that nicely.",),
        ("Is that even English?", "I can't read that."),
    ),
}
"""Our follow-ups, for the qualities of single replies that the paper names."""


class FedScorer:
    """One column a quality, in the order of `QUALITIES`."""

    def __init__(self, loaded: Loaded) -> None:
        self._loaded = loaded
        self._longest = longest(loaded)
        end = end_of_turn(loaded)
        texts = dict.fromkeys(
            text for quality in QUALITIES.values() for text in (*quality.good, *quality.bad)
        )
        self._places = {text: place for place, text in enumerate(texts)}
        self._asked = [[*turn_ids(loaded, text), end] for text in texts]
        self.signature = f"{loaded.signature},followups=1"

    def prepare(self, references: Iterable[str]) -> None:
        """Nothing is learned from references."""

    def score(
        self, units: Sequence[Unit], advance: Callable[[int], None] = lambda _: None
    ) -> Floats:
        """One row a unit."""
        readings: list[Continuation] = []
        for unit in units:
            context = dialogue_ids(self._loaded, (*unit.context, unit.response))
            readings += [fitted(context, asked, self._longest) for asked in self._asked]
        tell = paced(advance, len(units), len(readings))
        total = log_likelihoods(self._loaded, readings, tell)
        means = total / np.array([len(reading.asked) for reading in readings])
        means = means.reshape(len(units), len(self._asked))
        columns = [
            self._mean(means, quality.good) - self._mean(means, quality.bad)
            for quality in QUALITIES.values()
        ]
        return np.stack(columns, axis=1)

    def _mean(self, means: Floats, texts: tuple[str, ...]) -> Floats:
        if not texts:
            return np.zeros(len(means))
        result: Floats = means[:, [self._places[text] for text in texts]].mean(axis=1)
        return result


def ready(context: ScorerContext) -> str | None:
    """What is missing."""
    return lacking_packages(*TRANSFORMERS) or lacking_weights(context, NAME, WHAT)


def open_scorer(context: ScorerContext) -> FedScorer:
    """Load the model."""
    return FedScorer(load_causal(context, NAME, WHAT))


FAMILY = Family(
    name=NAME,
    label="FED",
    outputs=tuple(
        Output(
            f"fed_{quality}",
            f"How much likelier follow-ups to a reply that is {quality} are than to one that isn't",
            label=f"FED {quality.replace('_', ' ')}",
        )
        for quality in QUALITIES
    ),
    open=open_scorer,
    ready=ready,
    reads=("context",),
    weights={NAME: WHAT},
    citation="Mehri and Eskenazi 2020, Unsupervised Evaluation of Interactive Dialog with "
    "DialoGPT, SIGDIAL (follow-ups in our own words)",
)


PLACE = 220
METRICS = (FAMILY,)
