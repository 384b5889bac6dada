"""What ratings are made of, what a planned study looks like, and what came of planning it."""

from dataclasses import dataclass

import numpy as np

from dialens.base import DialensError, Estimate


@dataclass(frozen=True)
class VarianceParts:
    """Standard deviations of what a rating is made of.

    Attributes:
        rater: Between raters: how high they rate on the whole.
        item: Between items (prompts, contexts) that all agents answer.
        dialog: Between dialogues of one agent about one item.
        residual: Of a rating beside all that.
        rater_agent: Between raters in how much they prefer one agent to the other.
        item_cell: Between items in how much a condition between raters moves them.
    """

    rater: float = 0.0
    item: float = 0.0
    dialog: float = 0.0
    residual: float = 1.0
    rater_agent: float = 0.0
    item_cell: float = 0.0

    def __post_init__(self) -> None:
        """Refuse what no study could have."""
        _refuse_negative(vars(self))
        if self.dialog == self.residual == 0:
            raise DialensError("Without variance of dialogues or ratings there is nothing to plan.")


@dataclass(frozen=True)
class LogitParts:
    """Standard deviations, in logits, of what a yes or no is made of.

    Chance itself is the coin that is thrown at the end and has no place here. For shares between
    .2 and .8, a logit is about a quarter: raters with a standard deviation of 1 differ as much as
    shares of 27, 50 and 73 %.

    Attributes:
        rater: Between raters in how easily they say yes, or how much they prefer the first agent.
        item: Between items.
        dialog: Between dialogues of one agent about one item.
        rater_agent: Between raters in how much they prefer one agent to the other.
    """

    rater: float = 0.0
    item: float = 0.0
    dialog: float = 0.0
    rater_agent: float = 0.0

    def __post_init__(self) -> None:
        """Refuse what no study could have."""
        _refuse_negative(vars(self))

    @property
    def total(self) -> float:
        """The standard deviation of all of them together."""
        return float(np.sqrt(sum(value**2 for value in vars(self).values())))


@dataclass(frozen=True)
class Design:
    """A study of two agents, or of two conditions between raters.

    Attributes:
        raters: Who rate each dialogue; between raters, those of one condition.
        items: That every agent answers.
        dialogs: Of each agent about each item.
        shared_raters: Whether the same raters rate everything, or each dialogue has its own.
        paired: Whether both agents answer the same items.
        between: Whether two conditions are compared that have raters of their own, each of whom
            rates all items; the items are then the same in both.
        scale: Lowest and highest point of a scale of whole numbers; None for any number.
        mean: Of the first agent's ratings; only matters on a scale.
    """

    raters: int
    items: int
    dialogs: int = 1
    shared_raters: bool = False
    paired: bool = True
    between: bool = False
    scale: tuple[float, float] | None = None
    mean: float = 0.0

    @property
    def ratings(self) -> int:
        """That two agents, or two conditions, need."""
        return 2 * self.raters * self.items * self.dialogs

    def refuse_impossible(self) -> None:
        """Refuse a study without raters, dialogues or a second item."""
        if min(self.raters, self.dialogs) < 1 or self.items < 2:
            raise DialensError(
                "A study needs at least one rater, two items and one dialogue; seen: "
                f"{self.raters} raters, {self.items} items, {self.dialogs} dialogues."
            )
        if self.between and self.raters < 2:
            raise DialensError(
                "A comparison between raters needs at least two of them a cell: one cannot tell "
                f"the person from the condition; seen: {self.raters}."
            )


@dataclass(frozen=True)
class PlannedPower:
    """What one planned study promises.

    Attributes:
        raters: Of a dialogue, or of a cell.
        items: In the study.
        ratings: That all of it needs.
        effect: What is looked for: a difference, a win rate's distance from one half, an ICC.
        power: The chance to see it. Low and high bound the error of the simulation; a closed form
            (`basis`) has none.
        width: Expected width of the interval.
        method: How it was computed, in one sentence.
        dialogs: Of each agent about each item.
    """

    raters: int
    items: int
    ratings: int
    effect: float
    power: Estimate
    width: Estimate
    method: str
    dialogs: int = 1


def refuse_margin(margin: float | None, effect: float) -> None:
    """Refuse to show that something is inside a margin when it is not."""
    if margin is not None and not margin > abs(effect):
        raise DialensError(
            f"Nothing can show a difference of {effect:g} to be inside ±{margin:g}. Give a margin "
            "that is larger than the true difference."
        )


def _refuse_negative(parts: dict[str, float]) -> None:
    for name, value in parts.items():
        if not np.isfinite(value) or value < 0:
            raise DialensError(
                f"The standard deviation of {name} must be 0 or more; seen: {value}."
            )
