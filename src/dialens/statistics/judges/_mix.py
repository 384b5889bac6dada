"""How many people and how many judged units reach a precision for the least money.

With people on n units, a judge on those and N more, and a correlation of r between them, the
variance of a prediction-powered mean is `σ²/n · (1 − r² · N/(n+N))`. For a given variance the
price is smallest where the share of units that people rate is `√((1 − r²) · judge price / (r² ·
people's price))`; if that is one or more, or the whole dearer than people alone, the judge is
better left out.
"""

from dataclasses import dataclass
from math import ceil, floor, sqrt

from scipy import special

from dialens.base import DialensError


@dataclass(frozen=True)
class Mix:
    """A number of units for people and for the judge.

    Attributes:
        rated: Units that people rate (and the judge too, if there is one).
        judged: Units that only the judge rates.
        price: Of all ratings together.
        alone: Units that people would have to rate without the judge.
        price_alone: What that would cost.
    """

    rated: int
    judged: int
    price: float
    alone: int
    price_alone: float

    @property
    def helps(self) -> bool:
        """Whether the judge is worth asking."""
        return self.judged > 0


def cheapest_mix(
    standard_deviation: float,
    error: float,
    r: float,
    *,
    price: float,
    judge_price: float,
    most: int | None = None,
    least: int = 2,
) -> Mix:
    """The cheapest mix of people and judge with a given standard error of a mean.

    Args:
        standard_deviation: Of people's ratings of a unit, or of differences between two agents.
        error: Standard error to reach.
        r: Correlation of judge and people, from a pilot; its lower end is the safe choice.
        price: Of a unit rated by people, all raters of it together.
        judge_price: Of a unit rated by the judge.
        most: Units there are; none says that there is no end of them.
        least: Units that people rate at least.

    Examples:
        >>> cheapest_mix(1.0, 0.1, 0.8, price=2.0, judge_price=0.01)
        Mix(rated=39, judged=793, price=86.32, alone=100, price_alone=200.0)
        >>> cheapest_mix(1.0, 0.1, 0.1, price=2.0, judge_price=0.5).helps
        False
    """
    if not error > 0 or not standard_deviation > 0 or not price > 0 or judge_price < 0:
        raise DialensError("Standard deviation, error and price must be above zero.")
    if not -1 <= r <= 1:
        raise DialensError(f"A correlation lies between -1 and 1; seen: {r}.")
    wanted = (standard_deviation / error) ** 2
    alone = ceil(wanted - 1e-9)
    people_only = Mix(alone, 0, alone * price, alone, alone * price)
    square = r * r
    share = sqrt((1 - square) * judge_price / (square * price)) if square else 1.0
    if share >= 1:
        return people_only
    best = wanted * (1 - square * (1 - share))
    mixes = [people_only]
    for tried in (floor(best), ceil(best), _fewest(wanted, square, most)):
        rated = max(tried, least)
        judged = _judged(wanted, square, rated)
        if judged and (most is None or rated + judged <= most):
            paid = round(rated * price + (rated + judged) * judge_price, 10)
            mixes.append(Mix(rated, judged, paid, alone, people_only.price))
    return min(mixes, key=lambda mix: mix.price)


def _fewest(wanted: float, square: float, most: int | None) -> int:
    """Units that people have to rate when the judge rates all there are."""
    if most is None:  # so many that more would change nothing
        return max(floor(wanted * (1 - square)) + 1, 2)
    if wanted * square >= most:
        return most
    # n solves n = wanted · (1 − r² · (most − n) / most).
    return max(ceil(wanted * (1 - square) / (1 - wanted * square / most) - 1e-9), 2)


def _judged(wanted: float, square: float, rated: int) -> int:
    """Further units the judge must rate beside those of people; 0 if no number of them suffices."""
    share = (1 - rated / wanted) / square
    return max(ceil(rated * share / (1 - share) - 1e-9), 1) if 0 < share < 1 else 0


def error_for(effect: float, *, power: float, alpha: float = 0.05) -> float:
    """The standard error with which an effect is found with some power (normal approximation).

    Examples:
        >>> round(error_for(0.3, power=0.8), 4)
        0.1071
    """
    reach = special.ndtri(1 - alpha / 2) + special.ndtri(power)
    return float(abs(effect) / reach)
