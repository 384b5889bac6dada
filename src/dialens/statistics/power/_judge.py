"""The cheapest mix of people and a judge that sees an effect: people on some items, it on more.

People rate some items and the judge these and others (`dialens.statistics.judges.powered_by_judge`
analyses it). The variance is that of `cheapest_mix`; the weight of the judge is estimated from the
same items, which costs a degree of freedom and `1/(n − 3)` of the variance, as a covariate's slope
does (Cochran 1957).
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy import optimize

from dialens.base import DialensError
from dialens.statistics.judges import FEWEST_TRUSTED, HELPFUL, Mix, cheapest_mix
from dialens.statistics.power._closed_form import error_of, exact_power, is_exact, power_of_t
from dialens.statistics.power._design import Design, VarianceParts

_MOST_ITEMS = 1_000_000
_ROUNDS = 30
_WORTH_IT = 0.01
"""Share of the cost that a judge has to save to be worth asking."""


@dataclass(frozen=True)
class JudgeMix:
    """What two agents take with a judge, and without.

    Attributes:
        effect: The difference that is to be seen.
        r: Correlation of the judge with people's mean of an item, or of its difference.
        raters: Of a dialogue.
        items: That people rate.
        judged_items: That the judge rates, those of people among them; 0 without it.
        ratings: By people.
        judged: By the judge.
        price: Of all of them.
        power: Expected.
        alone_items: That people would have to rate without the judge.
        alone_ratings: Ratings by people without the judge.
        alone_price: What these would cost.
        reason: Why the judge is better left out; None if it helps.
        judge: Which judge of an earlier study r is of, if it was measured there.
        chosen: How that judge was chosen, where there were several.
    """

    effect: float
    r: float
    raters: int
    items: int
    judged_items: int
    ratings: int
    judged: int
    price: float
    power: float
    alone_items: int
    alone_ratings: int
    alone_price: float
    reason: str | None = None
    judge: str | None = None
    chosen: str | None = None

    @property
    def saving(self) -> float:
        """Share of human ratings saved."""
        return 1 - self.ratings / self.alone_ratings


def judge_mix(
    parts: VarianceParts,
    effect: float,
    design: Design,
    r: float,
    *,
    price: float,
    judge_price: float,
    power: float = 0.8,
    alpha: float = 0.05,
) -> JudgeMix:
    """The cheapest numbers of items for people and judge that see a difference of two agents.

    Args:
        parts: What ratings are made of.
        effect: The difference.
        design: Raters and dialogues of an item; its number of items plays no part.
        r: Correlation of the judge with the mean of that many raters: of differences between the
            agents on an item where both answer the same items, else of items.
        price: Of one rating by a person.
        judge_price: Of one rating by the judge.
        power: To reach.
        alpha: Of the test.

    Examples:
        >>> design = Design(raters=1, items=2)
        >>> found = judge_mix(
        ...     VarianceParts(dialog=0.6, residual=0.6),
        ...     0.3,
        ...     design,
        ...     0.7,
        ...     price=0.5,
        ...     judge_price=0.01,
        ... )
        >>> found.alone_ratings, found.ratings, found.judged, round(found.price), found.reason
        (256, 152, 1042, 86, None)
    """
    _refuse(parts, design, effect, r, price, judge_price)
    if power <= alpha:
        raise DialensError(f"A power of {power:g} is no more than alpha, {alpha:g}: want more.")
    alone = _alone(parts, effect, design, power, alpha)
    each = 2 * design.raters * design.dialogs
    without = JudgeMix(
        effect, r, design.raters, alone, 0, each * alone, 0, each * alone * price,
        exact_power(parts, replace(design, items=alone), effect, alpha=alpha),
        alone, each * alone, each * alone * price,
    )  # fmt: skip
    if max(r, 0.0) ** 2 < HELPFUL:
        share = f"r² is {max(r, 0.0) ** 2:.2f}, so that it saves at most that share of ratings"
        return replace(without, reason=share if r > 0 else "it does not go with people at all")
    unit_sd = error_of(parts, replace(design, items=2))[0] * np.sqrt(2)
    prices = {"price": each * price, "judge_price": 2 * design.dialogs * judge_price}
    mix = _mix(float(unit_sd), effect, design, r, power, alpha, **prices)
    if mix is None or mix.price > (1 - _WORTH_IT) * without.price:
        return replace(without, reason="it would save less than 1 % of the cost, or nothing")
    items = mix.rated + mix.judged
    return replace(
        without,
        items=mix.rated, judged_items=items, ratings=each * mix.rated,
        judged=2 * design.dialogs * items, price=mix.price,
        power=_power(mix, float(unit_sd), effect, design, r, alpha),
    )  # fmt: skip


def _refuse(
    parts: VarianceParts, design: Design, effect: float, r: float, price: float, judge: float
) -> None:
    if not -1 <= r <= 1:
        raise DialensError(f"A correlation lies between -1 and 1; seen: {r}.")
    if design.between or not is_exact(parts, design):
        raise DialensError(
            "A mix with a judge is planned for differences between two agents in closed form: "
            "leave out --design between, --scale, and --rater-agent-sd beside --shared-raters."
        )
    if not effect:
        raise DialensError("Give the --effect that people and judge are to see, in points.")
    if not price > 0 or judge < 0:
        raise DialensError("A human rating costs more than 0 (--price), one by a judge 0 or more.")


def _alone(parts: VarianceParts, effect: float, design: Design, power: float, alpha: float) -> int:
    """The fewest items with the power wanted, without a judge."""

    def enough(items: int) -> bool:
        return exact_power(parts, replace(design, items=items), effect, alpha=alpha) >= power

    high = 2
    while not enough(high):
        high *= 2
        if high > _MOST_ITEMS:
            raise DialensError(
                f"An effect of {effect:g} takes more than {_MOST_ITEMS:,} items. Look for a larger "
                "one."
            )
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def _freedom(items: int, design: Design) -> float:
    return max((items if design.paired else 2 * items - 1) - 2, 1)


def _grown(items: int) -> float:
    """By how much the variance grows since the judge's weight is estimated."""
    return 1 + 1 / max(items - 3, 1)


def _mix(
    unit_sd: float, effect: float, design: Design, r: float, power: float, alpha: float, *,
    price: float, judge_price: float,
) -> Mix | None:  # fmt: skip
    """The cheapest mix whose t-test has the power; the error it needs depends on the items."""
    found, rated = None, 30
    for _ in range(_ROUNDS):
        freedom = _freedom(rated, design)
        needed = optimize.brentq(
            lambda size, df=freedom: power_of_t(size, 1.0, df, alpha) - power, 1e-3, 500.0
        )
        error = abs(effect) / float(needed) / np.sqrt(_grown(rated))
        found = cheapest_mix(
            unit_sd, float(error), r, price=price, judge_price=judge_price,
            least=FEWEST_TRUSTED,
        )  # fmt: skip
        if not found.helps:
            return None
        if found.rated == rated:
            return found
        rated = found.rated
    return found


def _power(
    mix: Mix, unit_sd: float, effect: float, design: Design, r: float, alpha: float
) -> float:
    share = mix.judged / (mix.rated + mix.judged)
    error = unit_sd * np.sqrt((1 - r * r * share) / mix.rated * _grown(mix.rated))
    return power_of_t(effect, float(error), _freedom(mix.rated, design), alpha)
