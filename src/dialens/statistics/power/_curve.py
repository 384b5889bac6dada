"""How many raters, items and dialogues a study needs, by simulating it.

A rating is the mean, plus its agent, plus its item (a prompt or context that every agent
answers), plus the dialogue itself, plus the rater, plus the rest. Studies are drawn from stated
variances and analysed as the real one would be; the share in which a difference between two
agents is seen is the power, and the mean width of the interval is what can be promised.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from scipy import special, stats

from dialens.base import DialensError
from dialens.statistics._bootstrap import Floats

SIMULATIONS = 1_000
_CELLS_AT_ONCE = 2_000_000

CURVE = pl.Schema(
    {
        "raters": pl.Int64(),
        "items": pl.Int64(),
        "dialogs": pl.Int64(),
        "ratings": pl.Int64(),
        "effect": pl.Float64(),
        **dict.fromkeys(("power", "power_low", "power_high", "power_exact"), pl.Float64()),
        **dict.fromkeys(("width", "width_low", "width_high", "width_exact"), pl.Float64()),
        **dict.fromkeys(
            ("mean_width", "mean_width_low", "mean_width_high", "mean_width_exact"), pl.Float64()
        ),
        "simulations": pl.Int64(),
        "reason": pl.String(),
    }
)
"""One row a design. `width` is of the interval of the difference between two agents, `mean_width`
of that of one agent's mean; _low and _high bound the error of the simulation; _exact stands where
the design has a closed form. `ratings` counts all that two agents need."""


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


@dataclass(frozen=True)
class Simulated:
    """What came of many studies of one design.

    Attributes:
        seen: In which the difference had p below alpha; NaN where it could not be tested.
        width: Of the interval of the difference.
        mean_width: Of the interval of the first agent's mean.
    """

    seen: Floats
    width: Floats
    mean_width: Floats


def simulate(
    parts: VarianceParts,
    design: Design,
    effect: float,
    *,
    simulations: int = SIMULATIONS,
    alpha: float = 0.05,
    seed: int = 0,
) -> Simulated:
    """Draw studies and analyse each.

    Examples:
        >>> result = simulate(VarianceParts(), Design(raters=3, items=20), 5.0, simulations=50)
        >>> float(result.seen.mean())
        1.0
    """
    key = [seed, design.raters, design.items, design.dialogs]
    rng = np.random.default_rng(key)
    blocks = [
        _analysed(table, parts, design, alpha)
        for table in _studies(parts, design, effect, simulations, rng)
    ]
    return Simulated(*(np.concatenate(columns) for columns in zip(*blocks, strict=True)))


def _studies(
    parts: VarianceParts, design: Design, effect: float, simulations: int, rng: np.random.Generator
) -> Iterator[Floats]:
    """Ratings averaged over dialogues: studies × 2 agents × items × raters."""
    i, d, r = design.items, design.dialogs, design.raters
    step = max(1, _CELLS_AT_ONCE // design.ratings)
    for start in range(0, simulations, step):
        s = min(step, simulations - start)
        y = rng.normal(0, parts.residual, (s, 2, i, d, r))
        y += rng.normal(0, parts.dialog, (s, 2, i, d, 1))
        y += rng.normal(0, parts.item, (s, 1 if design.paired else 2, i, 1, 1))
        if design.shared_raters:
            y += rng.normal(0, parts.rater, (s, 1, 1, 1, r))
            y += rng.normal(0, parts.rater_agent, (s, 2, 1, 1, r))
        else:
            own = float(np.hypot(parts.rater, parts.rater_agent))
            y += rng.normal(0, own, (s, 2, i, d, r))
        y[:, 1] += effect
        y += design.mean
        if design.scale is not None:
            y = np.clip(np.rint(y), *design.scale)
        yield y.mean(axis=3)


def _analysed(
    table: Floats, parts: VarianceParts, design: Design, alpha: float
) -> tuple[Floats, Floats, Floats]:
    """Whether the difference is seen, and the widths of both intervals, study by study."""
    first, second = table[:, 0], table[:, 1]
    if design.paired:
        crossed = design.shared_raters and parts.rater_agent > 0
        gap, error, freedom = _mean_of(second - first, crossed=crossed)
    else:
        gap, error, freedom = _apart(
            first, second, shared=design.shared_raters and parts.rater_agent > 0
        )
    reach = stats.t.ppf(1 - alpha / 2, freedom) * error
    seen = np.where(np.isnan(reach), np.nan, (np.abs(gap) > reach).astype(np.float64))
    crossed = design.shared_raters and parts.rater + parts.rater_agent > 0
    _, own_error, own_freedom = _mean_of(first, crossed=crossed)
    own_reach = stats.t.ppf(1 - alpha / 2, own_freedom) * own_error
    return seen, 2 * reach, 2 * own_reach


def _mean_of(table: Floats, *, crossed: bool) -> tuple[Floats, Floats, Floats]:
    """Mean, standard error and degrees of freedom of tables of items × raters.

    Where raters come back for every item and differ, both are samples: the error is that of
    Satterthwaite's quasi-F, (items + raters − rest). Otherwise items alone are.
    """
    studies, items, raters = table.shape
    mean = table.mean(axis=(1, 2))
    by_item = table.mean(axis=2)
    square_items = raters * by_item.var(axis=1, ddof=1)
    if not crossed:
        return mean, np.sqrt(square_items / (items * raters)), np.full(studies, items - 1.0)
    if raters < 2:
        nothing = np.full(studies, np.nan)
        return mean, nothing, nothing
    by_rater = table.mean(axis=1)
    square_raters = items * by_rater.var(axis=1, ddof=1)
    rest = table - by_item[:, :, None] - by_rater[:, None, :] + mean[:, None, None]
    free = (items - 1) * (raters - 1)
    square_rest = (rest**2).sum(axis=(1, 2)) / free
    total = square_items + square_raters - square_rest
    below = square_items**2 / (items - 1) + square_raters**2 / (raters - 1) + square_rest**2 / free
    larger = np.maximum(square_items, square_raters)
    total = np.maximum(total, larger)  # an estimate below one of its parts is chance
    return mean, np.sqrt(total / (items * raters)), np.maximum(total**2 / below, 1.0)


def _apart(first: Floats, second: Floats, *, shared: bool) -> tuple[Floats, Floats, Floats]:
    """Difference of two groups of items with a pooled error.

    Where the same raters judged both and may prefer one, the error of their preferences is added;
    chance then counts twice, which errs on the side of caution.
    """
    studies, items, raters = first.shape
    a, b = first.mean(axis=2), second.mean(axis=2)
    gap = b.mean(axis=1) - a.mean(axis=1)
    by_items = (a.var(axis=1, ddof=1) + b.var(axis=1, ddof=1)) / items
    freedom = 2.0 * items - 2
    if not shared:
        return gap, np.sqrt(by_items), np.full(studies, freedom)
    if raters < 2:
        nothing = np.full(studies, np.nan)
        return gap, nothing, nothing
    by_raters = (second.mean(axis=1) - first.mean(axis=1)).var(axis=1, ddof=1) / raters
    below = by_items**2 / freedom + by_raters**2 / (raters - 1)
    return gap, np.sqrt(by_items + by_raters), (by_items + by_raters) ** 2 / below


def power_curve(
    parts: VarianceParts,
    *,
    raters: Sequence[int],
    items: Sequence[int],
    dialogs: Sequence[int] = (1,),
    effects: Sequence[float] = (0.0,),
    design: Design | None = None,
    simulations: int = SIMULATIONS,
    alpha: float = 0.05,
    seed: int = 0,
) -> pl.DataFrame:
    """Power and widths for every combination of numbers.

    Args:
        parts: What ratings are made of.
        raters: Numbers of raters a dialogue to try.
        items: Numbers of items to try.
        dialogs: Numbers of dialogues of an agent about an item to try.
        effects: Differences between two agents, in points of the rating.
        design: Everything else about the study.
        simulations: Studies drawn for each combination.
        alpha: Of the tests; intervals have confidence 1 − alpha.
        seed: Random seed; a combination gives the same numbers whatever stands beside it.

    Examples:
        >>> table = power_curve(
        ...     VarianceParts(item=1, residual=1),
        ...     raters=[3],
        ...     items=[10, 40],
        ...     effects=[0.5],
        ...     simulations=200,
        ... )
        >>> table["power"][0] < table["power"][1], table["width"][0] > table["width"][1]
        (True, True)
    """
    frame = design or Design(1, 2)
    rows = []
    for r in raters:
        for i in items:
            for d in dialogs:
                if min(r, d) < 1 or i < 2:
                    raise DialensError(
                        "A study needs at least one rater, two items and one dialogue; seen: "
                        f"{r} raters, {i} items, {d} dialogues."
                    )
                study = replace(frame, raters=r, items=i, dialogs=d)
                for effect in effects:
                    result = simulate(
                        parts, study, effect, simulations=simulations, alpha=alpha, seed=seed
                    )
                    rows.append(_row(result, parts, study, effect, alpha))
    return pl.DataFrame(rows, schema=CURVE)


def _row(
    result: Simulated, parts: VarianceParts, design: Design, effect: float, alpha: float
) -> dict[str, object]:
    row: dict[str, object] = {
        "raters": design.raters,
        "items": design.items,
        "dialogs": design.dialogs,
        "ratings": design.ratings,
        "effect": effect,
        "simulations": len(result.seen),
    }
    reasons = []
    if effect and not np.isnan(result.seen).any():
        hits = int(result.seen.sum())
        ends = stats.binomtest(hits, len(result.seen)).proportion_ci(0.95, method="wilson")
        row |= {
            "power": hits / len(result.seen),
            "power_low": float(ends.low),
            "power_high": float(ends.high),
        }
    for name, widths in (("width", result.width), ("mean_width", result.mean_width)):
        if np.isnan(widths).any():
            reasons.append("one rater cannot tell raters from items")
            continue
        error = 1.96 * float(widths.std(ddof=1)) / np.sqrt(len(widths))
        mean = float(widths.mean())
        row |= {name: mean, f"{name}_low": mean - error, f"{name}_high": mean + error}
    for name, of_mean in (("width", False), ("mean_width", True)):
        if is_exact(parts, design, of_mean=of_mean):
            row[f"{name}_exact"] = exact_width(parts, design, alpha=alpha, of_mean=of_mean)
    if effect and is_exact(parts, design):
        row["power_exact"] = exact_power(parts, design, effect, alpha=alpha)
    return {**row, "reason": "; ".join(dict.fromkeys(reasons)) or None}


# Closed forms, for the balanced designs that have one. Averaged over raters and dialogues, items
# are independent and normal: the test is a t-test over items, its power the tail of a noncentral t,
# and the expected width that of a mean of normals. Where raters come back and differ in what they
# prefer, there are two crossed samples and no closed form; scales of whole numbers have none.


def is_exact(parts: VarianceParts, design: Design, *, of_mean: bool = False) -> bool:
    """Whether a closed form holds, for the difference or for one agent's mean."""
    if design.scale is not None:
        return False
    if not design.shared_raters:
        return True
    if of_mean:
        return parts.rater == parts.rater_agent == 0
    return parts.rater_agent == 0


def item_variance(parts: VarianceParts, design: Design, *, of_mean: bool = False) -> float:
    """Variance of an item's mean rating, or of the difference of two agents' on one item."""
    chance = parts.residual**2
    if not design.shared_raters:
        chance += parts.rater**2 + parts.rater_agent**2
    alone = (parts.dialog**2 + chance / design.raters) / design.dialogs
    if of_mean or not design.paired:
        return alone + parts.item**2
    return 2 * alone


def _error(parts: VarianceParts, design: Design, *, of_mean: bool) -> tuple[float, int]:
    """Standard error and degrees of freedom."""
    variance = item_variance(parts, design, of_mean=of_mean) / design.items
    if of_mean or design.paired:
        return float(np.sqrt(variance)), design.items - 1
    return float(np.sqrt(2 * variance)), 2 * design.items - 2


def exact_power(
    parts: VarianceParts, design: Design, effect: float, *, alpha: float = 0.05
) -> float:
    """The chance to see a difference between two agents, by the noncentral t.

    Examples:
        >>> study = Design(raters=1, items=64, paired=False)
        >>> round(exact_power(VarianceParts(), study, 0.5), 3)  # Cohen 1988: 64 a group, d = .5
        0.801
    """
    error, freedom = _error(parts, design, of_mean=False)
    if error == 0:
        return float(effect != 0)
    # t² is F on 1 and as many degrees of freedom, and has both tails in one.
    limit = float(stats.f.ppf(1 - alpha, 1, freedom))
    power = float(stats.ncf.sf(limit, 1, freedom, (effect / error) ** 2))
    return power if np.isfinite(power) else 1.0  # so far out that the series gives up


def exact_width(
    parts: VarianceParts, design: Design, *, alpha: float = 0.05, of_mean: bool = False
) -> float:
    """The expected width of the interval of a difference, or of one agent's mean.

    Examples:
        >>> study = Design(raters=4, items=100)
        >>> round(exact_width(VarianceParts(), study, of_mean=True), 3)
        0.198
    """
    error, freedom = _error(parts, design, of_mean=of_mean)
    # The mean of a standard deviation is a little below its square's root (c4).
    shrunk = np.sqrt(2 / freedom) * np.exp(
        special.gammaln((freedom + 1) / 2) - special.gammaln(freedom / 2)
    )
    return float(2 * stats.t.ppf(1 - alpha / 2, freedom) * error * shrunk)
