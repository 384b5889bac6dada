"""How many dialogues a comparison of two agents needs, in standard deviations of dialogues.

The test of `dialens compare` is Student's t with a guard against skewness (`skewed_t`). By
simulation the guard costs about one dialogue: power is the tail of a noncentral t with one fewer,
.77 to .82 where .80 is named, from seven dialogues on. Of agents that talk apart, the
standard deviation is that of dialogues; of agents that were given the same to answer, it is that of
the differences within pairs.
"""

from scipy import optimize

from dialens.statistics._few_units import FEWEST
from dialens.statistics.power._closed_form import power_of_t

WANTED = 0.8
_MOST = 1_000_000
_GUARD = 1
"""Dialogues that the guard against skewness costs."""


def power_of_dialogs(effect: float, dialogs: int, *, paired: bool, alpha: float = 0.05) -> float:
    """The chance to find a difference of so many standard deviations with so many dialogues each.

    Examples:
        >>> round(power_of_dialogs(0.5, 65, paired=False), 3)  # Cohen 1988: 64 for a t test
        0.801
    """
    sides, counted = (1 if paired else 2), dialogs - _GUARD
    return power_of_t(effect, (sides / counted) ** 0.5, sides * (counted - 1), alpha)


def found_with(
    dialogs: int, *, paired: bool, wanted: float = WANTED, alpha: float = 0.05
) -> float | None:
    """The smallest difference that so many dialogues each find, in standard deviations.

    None with fewer than six, of which no test is made.

    Examples:
        >>> round(found_with(65, paired=False), 2), round(found_with(35, paired=True), 2)
        (0.5, 0.5)
    """
    if dialogs < FEWEST:
        return None
    found: float = optimize.brentq(
        lambda effect: power_of_dialogs(effect, dialogs, paired=paired, alpha=alpha) - wanted,
        0.0,
        20.0,
    )
    return found


def dialogs_for(
    effect: float, *, paired: bool, wanted: float = WANTED, alpha: float = 0.05
) -> int | None:
    """The fewest dialogues each that find a difference of so many standard deviations.

    None if a million are not enough.

    Examples:
        >>> dialogs_for(0.5, paired=False), dialogs_for(0.5, paired=True)
        (65, 35)
    """
    low, high = FEWEST - 1, FEWEST
    while power_of_dialogs(effect, high, paired=paired, alpha=alpha) < wanted:
        low, high = high, 2 * high
        if high > _MOST:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        enough = power_of_dialogs(effect, middle, paired=paired, alpha=alpha) >= wanted
        low, high = (low, middle) if enough else (middle, high)
    return high
