"""What ratings are made of, and the studies that can be planned with that."""

from dataclasses import dataclass

import numpy as np

from dialens.base import DialensError


@dataclass(frozen=True)
class VarianceParts:
    """Standard deviations of what a rating is made of.

    Attributes:
        rater: Between raters: how high they rate on the whole.
        item: Between items (prompts, contexts) that all agents answer.
        dialog: Between dialogues of one agent about one item.
        residual: Of a rating beside all that.
        rater_agent: Between raters in how much they prefer one agent to the other.
    """

    rater: float = 0.0
    item: float = 0.0
    dialog: float = 0.0
    residual: float = 1.0
    rater_agent: float = 0.0

    def __post_init__(self) -> None:
        """Refuse what no study could have."""
        for name, value in vars(self).items():
            if not np.isfinite(value) or value < 0:
                raise DialensError(
                    f"The standard deviation of {name} must be 0 or more; seen: {value}."
                )
        if self.dialog == self.residual == 0:
            raise DialensError("Without variance of dialogues or ratings there is nothing to plan.")


@dataclass(frozen=True)
class Design:
    """A study of two agents.

    Attributes:
        raters: Who rate each dialogue.
        items: That every agent answers.
        dialogs: Of each agent about each item.
        shared_raters: Whether the same raters rate everything, or each dialogue has its own.
        paired: Whether both agents answer the same items.
        scale: Lowest and highest point of a scale of whole numbers; None for any number.
        mean: Of the first agent's ratings; only matters on a scale.
    """

    raters: int
    items: int
    dialogs: int = 1
    shared_raters: bool = False
    paired: bool = True
    scale: tuple[float, float] | None = None
    mean: float = 0.0

    @property
    def ratings(self) -> int:
        """That two agents need."""
        return 2 * self.raters * self.items * self.dialogs
