"""The likelihood that all models of choices share: conditional logit over stages.

A stage is one choice among alternatives. An alternative is a candidate, or a set of candidates that
tie, and its log worth is linear in the parameters: the abilities of candidates, what a tie weighs,
what it is worth to be shown first. Bradley–Terry, Davidson's ties, Plackett–Luce with ties and
sequential best–worst choices differ only in which stages a choice is made of (`_stages.py`).
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dialens.base import DialensError
from dialens.statistics._bootstrap import Floats, Ints

_MOST_STEPS = 100
_TOLERANCE = 1e-9
_LONGEST_STEP = 2.0  # of log worth at a time: far from the maximum Newton's steps are too long


@dataclass(frozen=True)
class Stages:
    """Choices among alternatives; stages that are alike in everything are kept once.

    Attributes:
        features: Alternatives × parameters; the alternatives of a stage stand together.
        start: Where the alternatives of each stage begin.
        chosen: Which alternative was chosen at each stage, as a row of `features`.
        choice: For each time a stage occurred, the choice (answer of a person) it belongs to.
        occurred: And which stage it was.
    """

    features: Floats
    start: Ints
    chosen: Ints
    choice: Ints
    occurred: Ints

    @property
    def parameters(self) -> int:
        """How many parameters there are."""
        return int(self.features.shape[1])

    @cached_property
    def stage(self) -> Ints:
        """The stage of each alternative."""
        lengths = np.diff(np.append(self.start, len(self.features)))
        return np.repeat(np.arange(len(self.start)), lengths)

    @cached_property
    def weight(self) -> Floats:
        """How often each stage occurred."""
        return np.bincount(self.occurred, minlength=len(self.start)).astype(np.float64)


@dataclass(frozen=True)
class Maximum:
    """Where the likelihood is highest.

    Attributes:
        estimate: The parameters.
        information: Fisher information there, parameters × parameters.
        scores: Stages × parameters: how a stage pulls at the parameters, each time it occurs.
        parts: Stages × parameters × parameters: the information of a stage, each time.
        loglik: Log-likelihood, without any penalty.
        bias_reduced: Whether Firth's penalty was used.
    """

    estimate: Floats
    information: Floats
    scores: Floats
    parts: Floats
    loglik: float
    bias_reduced: bool


def maximise(stages: Stages, *, bias_reduced: bool = False) -> Maximum:
    """Maximum likelihood by Newton's method, or Firth's (1993) bias-reduced estimate.

    Firth's penalty is half the log determinant of the information. It takes away the first-order
    bias and keeps estimates finite where a candidate won or lost everything.

    Args:
        stages: The choices; candidates must be connected.
        bias_reduced: Whether to use Firth's penalty.

    Examples:
        >>> features, start, chosen = np.array([[1.0], [0.0]] * 2), np.array([0, 2]), [0, 3]
        >>> which = np.array([0, 0, 0, 1])
        >>> three_of_four = Stages(features, start, np.array(chosen), np.arange(4), which)
        >>> round(float(maximise(three_of_four).estimate[0]), 4)  # log(3 / 1)
        1.0986
        >>> round(float(maximise(three_of_four, bias_reduced=True).estimate[0]), 4)  # log(3.5/1.5)
        0.8473
    """
    estimate = np.zeros(stages.parameters)
    state = _State.of(stages, estimate)
    if np.linalg.matrix_rank(state.information, hermitian=True) < stages.parameters:
        raise DialensError(
            "What is asked of these choices cannot be told apart: a candidate always stood at the "
            "same place, say. Leave the effect of position out."
        )
    for _ in range(_MOST_STEPS):
        gradient = state.gradient + (state.firth() if bias_reduced else 0.0)
        step: Floats = np.linalg.solve(state.information, gradient).astype(np.float64)
        longest = float(np.abs(step).max(initial=0.0))
        step *= min(1.0, _LONGEST_STEP / max(longest, 1e-300))
        estimate, state = _halved(stages, estimate, step, state, bias_reduced=bias_reduced)
        if longest < _TOLERANCE:
            return Maximum(
                estimate,
                state.information,
                state.scores,
                state.parts(),
                state.loglik,
                bias_reduced,
            )
    raise DialensError(
        f"The model of choices did not settle within {_MOST_STEPS} steps. "
        "A candidate probably won or lost everything: leave it out."
    )


def _halved(
    stages: Stages, estimate: Floats, step: Floats, before: "_State", *, bias_reduced: bool
) -> tuple[Floats, "_State"]:
    """A step that does not make things worse, halved as often as it takes."""
    old = before.objective(bias_reduced=bias_reduced)
    for _ in range(30):
        state = _State.of(stages, estimate + step)
        new = state.objective(bias_reduced=bias_reduced)
        if np.isfinite(new) and new >= old - 1e-9 * (1 + abs(old)):
            return estimate + step, state
        step = step / 2
    return estimate, before


@dataclass(frozen=True)
class _State:
    """Everything about the likelihood at one point."""

    stages: Stages
    share: Floats
    apart: Floats
    loglik: float

    @classmethod
    def of(cls, stages: Stages, estimate: Floats) -> "_State":
        worth = stages.features @ estimate
        worth = worth - np.maximum.reduceat(worth, stages.start)[stages.stage]
        total = np.add.reduceat(np.exp(worth), stages.start)
        share = np.exp(worth) / total[stages.stage]
        mean = np.add.reduceat(share[:, None] * stages.features, stages.start)
        loglik = float(stages.weight @ (worth[stages.chosen] - np.log(total)))
        return cls(stages, share, stages.features - mean[stages.stage], loglik)

    @cached_property
    def information(self) -> Floats:
        weight = self.stages.weight[self.stages.stage] * self.share
        return (self.apart * weight[:, None]).T @ self.apart

    def parts(self) -> Floats:
        """The information of each stage."""
        squares = np.einsum("a,ai,aj->aij", self.share, self.apart, self.apart)
        return np.add.reduceat(squares, self.stages.start)

    @property
    def scores(self) -> Floats:
        """Stages × parameters, each stage once whatever its weight."""
        return self.apart[self.stages.chosen]

    @property
    def gradient(self) -> Floats:
        return self.stages.weight @ self.scores

    def objective(self, *, bias_reduced: bool) -> float:
        if not bias_reduced:
            return self.loglik
        sign, size = np.linalg.slogdet(self.information)
        return float(self.loglik + 0.5 * size) if sign > 0 else -np.inf

    def firth(self) -> Floats:
        """Gradient of half the log determinant of the information."""
        spread = self.apart @ np.linalg.inv(self.information)
        leverage = np.einsum("ij,ij->i", spread, self.apart)
        weight = self.stages.weight[self.stages.stage] * self.share
        return np.asarray(0.5 * (weight * leverage) @ self.apart)
