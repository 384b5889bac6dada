"""How many raters, items and dialogues a study needs, by simulating it.

A rating is the mean, plus its agent, plus its item (a prompt or context that every agent
answers), plus the dialogue itself, plus the rater, plus the rest. Studies are drawn from stated
variances and analysed as the real one would be; the share in which a difference between two
agents is seen is the power, and the mean width of the interval is what can be promised.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
import polars as pl

from dialens.base import Advance, Estimate
from dialens.statistics._bootstrap import Floats
from dialens.statistics.power._analysis import (
    COMPUTED,
    apart,
    between,
    mean_of,
    mean_width,
    share_seen,
    verdicts,
)
from dialens.statistics.power._closed_form import exact_power, exact_width, is_exact
from dialens.statistics.power._design import (
    Design,
    LogitParts,
    PlannedPower,
    VarianceParts,
    refuse_margin,
)

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
the design has a closed form, and where nothing was simulated `simulations` is 0. `ratings` counts
all that two agents need."""


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
    margin: float | None = None,
    seed: int = 0,
) -> Simulated:
    """Draw studies and analyse each.

    Args:
        parts: What ratings are made of.
        design: The study.
        effect: The true difference.
        simulations: Studies to draw.
        alpha: Of the tests; intervals have confidence 1 − alpha.
        margin: The smallest difference that matters, if equivalence is tested.
        seed: Random seed.

    Examples:
        >>> result = simulate(VarianceParts(), Design(raters=3, items=20), 5.0, simulations=50)
        >>> float(result.seen.mean())
        1.0
    """
    key = [seed, design.raters, design.items, design.dialogs]
    rng = np.random.default_rng(key)
    blocks = [
        _analysed(table, parts, design, alpha, margin)
        for table in _studies(parts, design, effect, simulations, rng)
    ]
    return Simulated(*(np.concatenate(columns) for columns in zip(*blocks, strict=True)))


def _studies(
    parts: VarianceParts, design: Design, effect: float, simulations: int, rng: np.random.Generator
) -> Iterator[Floats]:
    """Ratings averaged over dialogues: studies × 2 agents × items × raters."""
    for shape in blocks_of(design, simulations):
        y = rng.normal(0, parts.residual, shape)
        y += influences(parts, design, shape, rng)
        if design.between:
            s, _, i, _, _ = shape
            y += rng.normal(0, parts.item_cell, (s, 2, i, 1, 1))
        y[:, 1] += effect
        y += design.mean
        if design.scale is not None:
            y = np.clip(np.rint(y), *design.scale)
        yield y.mean(axis=3)


def blocks_of(design: Design, simulations: int) -> Iterator[tuple[int, int, int, int, int]]:
    """Shapes of tables that fit into memory: studies × 2 agents × items × dialogues × raters."""
    step = max(1, _CELLS_AT_ONCE // design.ratings)
    for start in range(0, simulations, step):
        studies = min(step, simulations - start)
        yield studies, 2, design.items, design.dialogs, design.raters


def influences(
    parts: VarianceParts | LogitParts,
    design: Design,
    shape: tuple[int, int, int, int, int],
    rng: np.random.Generator,
) -> Floats:
    """What dialogues, items and raters add to every rating of a table, drawn anew."""
    s, _, i, d, r = shape
    if design.between:  # both conditions rate the same dialogues, each with raters of its own
        y = rng.normal(0, np.hypot(parts.item, parts.dialog), (s, 1, i, d, 1))
        return y + rng.normal(0, parts.rater, (s, 2, 1, 1, r))
    y = np.broadcast_to(rng.normal(0, parts.dialog, (s, 2, i, d, 1)), shape).copy()
    y += rng.normal(0, parts.item, (s, 1 if design.paired else 2, i, 1, 1))
    if design.shared_raters:
        y += rng.normal(0, parts.rater, (s, 1, 1, 1, r))
        return y + rng.normal(0, parts.rater_agent, (s, 2, 1, 1, r))
    return y + rng.normal(0, float(np.hypot(parts.rater, parts.rater_agent)), shape)


def difference(
    table: Floats, design: Design, *, favourites: bool, crossed: bool
) -> tuple[Floats, Floats, Floats]:
    """The difference between both agents or conditions, its error and degrees of freedom.

    Args:
        table: Studies × 2 × items × raters.
        design: The study.
        favourites: Whether raters differ in whom they prefer.
        crossed: Whether items differ in how much a condition moves them.
    """
    first, second = table[:, 0], table[:, 1]
    if design.between:
        return between(first, second, crossed=crossed)
    shared = design.shared_raters and favourites
    if design.paired:
        return mean_of(second - first, crossed=shared)
    return apart(first, second, shared=shared)


def _analysed(
    table: Floats, parts: VarianceParts, design: Design, alpha: float, margin: float | None
) -> tuple[Floats, Floats, Floats]:
    """Whether the difference is seen, and the widths of both intervals, study by study."""
    found = difference(table, design, favourites=parts.rater_agent > 0, crossed=parts.item_cell > 0)
    seen, width = verdicts(*found, alpha=alpha, margin=margin)
    returning = design.shared_raters or design.between
    crossed = returning and parts.rater + parts.rater_agent > 0
    own = mean_of(table[:, 0], crossed=crossed)
    return seen, width, verdicts(*own, alpha=alpha)[1]


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
    margin: float | None = None,
    seed: int = 0,
    advance: Advance | None = None,
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
        margin: The smallest difference that matters; if given, power is that of the two one-sided
            tests which show that the agents differ by less.
        seed: Random seed; a combination gives the same numbers whatever stands beside it.
        advance: Called with 1 after every design.

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
    for r, i, d, effect in product(raters, items, dialogs, effects):
        study = replace(frame, raters=r, items=i, dialogs=d)
        study.refuse_impossible()
        refuse_margin(margin, effect)
        result = simulate(
            parts, study, effect, simulations=simulations, alpha=alpha, margin=margin, seed=seed
        )
        rows.append(_row(result, parts, study, effect, alpha, margin))
        if advance:
            advance(1)
    return pl.DataFrame(rows, schema=CURVE)


def _row(
    result: Simulated,
    parts: VarianceParts,
    design: Design,
    effect: float,
    alpha: float,
    margin: float | None,
) -> dict[str, object]:
    tested = effect != 0 or margin is not None
    found = {
        "power": share_seen(result.seen) if tested else Estimate(),
        "width": mean_width(result.width),
        "mean_width": mean_width(result.mean_width),
    }
    row: dict[str, object] = {
        "raters": design.raters,
        "items": design.items,
        "dialogs": design.dialogs,
        "ratings": design.ratings,
        "effect": effect,
        "simulations": len(result.seen),
        "reason": _reasons(found.values()),
    }
    for name, estimate in found.items():
        row |= _columns(name, estimate)
    for name, of_mean in (("width", False), ("mean_width", True)):
        if is_exact(parts, design, of_mean=of_mean):
            row[f"{name}_exact"] = exact_width(parts, design, alpha=alpha, of_mean=of_mean)
    if tested and is_exact(parts, design):
        row["power_exact"] = exact_power(parts, design, effect, alpha=alpha, margin=margin)
    return row


def curve_of(planned: Iterable[PlannedPower]) -> pl.DataFrame:
    """Planned studies as a table of the same columns.

    Examples:
        >>> one = PlannedPower(3, 20, 120, 0.5, Estimate(0.8, basis=COMPUTED), Estimate(), "")
        >>> curve_of([one]).select("raters", "power", "power_exact", "simulations").row(0)
        (3, 0.8, 0.8, 0)
    """
    rows = []
    for one in planned:
        names = ("raters", "items", "dialogs", "ratings", "effect")
        row = {name: getattr(one, name) for name in names}
        row["reason"] = _reasons([one.power, one.width])
        row["simulations"] = max(one.power.n or 0, one.width.n or 0)
        for name, estimate in (("power", one.power), ("width", one.width)):
            row |= _columns(name, estimate)
            if estimate.basis == COMPUTED:
                row[f"{name}_exact"] = estimate.value
        rows.append(row)
    return pl.DataFrame(rows, schema=CURVE)


def _columns(name: str, estimate: Estimate) -> dict[str, float | None]:
    return {name: estimate.value, f"{name}_low": estimate.low, f"{name}_high": estimate.high}


def _reasons(estimates: Iterable[Estimate]) -> str | None:
    said = dict.fromkeys(one.reason for one in estimates if one.reason)
    return "; ".join(said) or None
