"""What a judge needs of a model, whatever it is: words for words, and probabilities of answers."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from dialens.base import DialensError
from dialens.studies._types import JSON, Field
from dialens.studies.instruments import instrument
from dialens.studies.judges._prompts import Said

_LEAST_MASS = 1e-6


@dataclass(frozen=True)
class ModelReply:
    """What a model wrote, and what that took.

    Attributes:
        text: What it wrote.
        refused: Whether it declined, by its own account.
        requests: That were made, failed ones included.
        tokens_in: Read, where that is known.
        tokens_out: Written, where that is known.
        tokens_cached: Read, but known to the server from before.
        cost: In the currency of the prices; none if no price is known.
        seconds: From the question to the answer.
        fingerprint: Of what the server ran, where it says so.
        note: What else has to be known of it.
    """

    text: str
    refused: bool = False
    requests: int = 1
    tokens_in: int | None = None
    tokens_out: int | None = None
    tokens_cached: int | None = None
    cost: float | None = None
    seconds: float = 0.0
    fingerprint: str | None = None
    note: str = ""


@dataclass(frozen=True)
class Weighed:
    """How likely a model is to give each of several answers.

    Attributes:
        probabilities: By answer; what is missing to 1 lies on anything else it could say.
        way: How they were found: `continuation` (each answer scored as a whole), or `first_token`.
        reply: What the request took.
    """

    probabilities: Mapping[str, float]
    way: str
    reply: ModelReply


class ModelError(DialensError):
    """A model did not answer.

    Attributes:
        requests: That were made in vain.
        lasting: Whether asking again is no use until something is mended.
    """

    def __init__(self, message: str, *, requests: int = 1, lasting: bool = False) -> None:
        super().__init__(message)
        self.requests = requests
        self.lasting = lasting


class Model(Protocol):
    """A model that can be a judge. Safe to ask from several threads at once."""

    @property
    def identity(self) -> str:
        """Changes when its answers may: name, place, weights, settings of how it writes."""

    @property
    def weighs(self) -> bool:
        """Whether it can say how likely answers are."""

    @property
    def prices(self) -> tuple[float, float] | None:
        """Of a million tokens read and written; none if unknown. Models on this machine: 0."""

    def tokens(self, text: str) -> int:
        """About how many tokens a text has."""

    def ask(
        self,
        said: Sequence[Said],
        *,
        seed: int,
        temperature: float | None,
        schema: Mapping[str, JSON] | None,
    ) -> ModelReply:
        """Go on with a conversation; raises `ModelError`."""

    def weigh(
        self, said: Sequence[Said], answers: Sequence[str], *, seed: int, temperature: float | None
    ) -> Weighed:
        """Say how likely each answer would be to come next; raises `ModelError`."""


@dataclass(frozen=True)
class Distribution:
    """A judge's answer to a question as probabilities of all answers.

    Attributes:
        probabilities: By answer, as the model gave them.
        outside: What lies on anything else.
        way: How they were found.
        mode: The likeliest answer.
        mean: Of answers that are numbers, within the allowed ones; else none.
        entropy: In bits, within the allowed ones.
    """

    probabilities: Mapping[str, float]
    outside: float
    way: str
    mode: JSON
    mean: float | None
    entropy: float

    def as_json(self) -> dict[str, JSON]:
        """For the ledger."""
        return dict(vars(self)) | {"probabilities": dict(self.probabilities)}


def distribution(weighed: Weighed, answers: Sequence[JSON]) -> Distribution | None:
    """What probabilities come to; none where all of the allowed answers are next to impossible.

    Examples:
        >>> weighed = Weighed({"1": 0.2, "2": 0.6}, "first_token", ModelReply(""))
        >>> found = distribution(weighed, [1, 2])
        >>> found.mode, round(found.mean, 3), round(found.outside, 3), round(found.entropy, 3)
        (2, 1.75, 0.2, 0.811)
    """
    given = {answer: weighed.probabilities.get(str(answer), 0.0) for answer in answers}
    total = sum(given.values())
    if total < _LEAST_MASS:
        return None
    shares = {answer: value / total for answer, value in given.items()}
    numbers = all(isinstance(answer, int | float) for answer in answers)
    return Distribution(
        {str(answer): value for answer, value in given.items()},
        max(0.0, 1.0 - total),
        weighed.way,
        max(shares, key=lambda answer: shares[answer]),
        sum(answer * share for answer, share in shares.items()) if numbers else None,
        -sum(share * math.log2(share) for share in shares.values() if share > 0),
    )


def expected_ratings(
    asked: Field, answers: Sequence[JSON], probabilities: Mapping[str, float]
) -> dict[str, float]:
    """The mean rating of each slot, over a distribution of answers.

    Examples:
        >>> asked = Field("better", "pairwise", options={"ties": True}, targets={"1": {}, "2": {}})
        >>> expected_ratings(asked, ["1", "2", "tie"], {"1": 0.5, "2": 0.1, "tie": 0.4})
        {'1': 0.7, '2': 0.3}
    """
    used = instrument(asked.instrument)
    total = sum(probabilities.values())
    means: dict[str, float] = {}
    for answer in answers:
        share = probabilities.get(str(answer), 0.0) / total
        for slot, number in used.rows(asked, answer):
            means[slot] = means.get(slot, 0.0) + share * number
    return {slot: round(value, 9) for slot, value in means.items()}
