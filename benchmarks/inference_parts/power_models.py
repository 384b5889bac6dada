"""Predicted power against mixed models, where raters and items are both samples.

As in `power`, the prediction stands in the design, and `p<.05` is the power that studies have which
`fit_mixed` analyses; without an effect it is the level. A model takes a fifth of a second, so that
400 runs take some minutes.
"""

from collections.abc import Iterator
from itertools import product

import numpy as np
import polars as pl
from scipy import special

from dialens.statistics import Floats, fit_mixed
from dialens.statistics.power import LogitParts, VarianceParts, power_between, power_pairwise
from inference_parts.lines import Line
from inference_parts.power import SIMULATIONS, line_of, logit


def crossed(sides: str, raters: int, items: int) -> pl.DataFrame:
    """A row a rating, without its value."""
    rows = list(product(sides, range(raters), range(items)))
    return pl.DataFrame(rows, schema=["side", "rater", "item"], orient="row")


def added(table: pl.DataFrame, rng: np.random.Generator, sd: float, *columns: str) -> Floats:
    """One draw for each combination of columns, on every row."""
    codes = table.select(pl.struct(columns).rank("dense")).to_series().to_numpy() - 1
    drawn: Floats = rng.normal(0, sd, int(codes.max()) + 1)[codes]
    return drawn


def p_of(table: pl.DataFrame, value: Floats, random: list[str], side: bool = True) -> float:
    """The p-value of the difference between both sides, or else of the mean, in a mixed model."""
    named = table.with_columns(pl.col("rater", "item").cast(pl.String), value=value)
    return fit_mixed(named, "value", ["side"] if side else [], random).fixed[-1].p


def lines(runs: int, seed: int) -> Iterator[Line]:
    """Cells whose items are moved unequally, and win rates of shared raters."""
    rng = np.random.default_rng([seed, 16])
    parts = VarianceParts(rater=0.5, item=0.8, residual=0.9, item_cell=0.5)
    table = crossed("ab", 12, 12)
    dealt = ((pl.col("item") - 4 * pl.col("rater")) % 12) < 4  # each rater has 4 of 12 items
    table = table.filter(dealt).with_columns(
        rater=pl.col("rater") + pl.when(pl.col("side") == "b").then(100).otherwise(0)
    )
    second = (table["side"] == "b").to_numpy()
    for effect in (0.8, 0.0):
        p = []
        for _ in range(runs):
            value = rng.normal(0, 0.9, table.height) + effect * second
            value += added(table, rng, 0.5, "rater") + added(table, rng, 0.8, "item")
            value += added(table, rng, 0.5, "item", "side")
            p.append(p_of(table, value, ["rater", "item", "item:side"]))
        predicted = power_between(parts, effect, raters=12, items=12, each=4)
        what = f"effect {effect:g}, items moved unequally"
        yield line_of("power_between, mixed model", what, "12 × 4/12", predicted, np.array(p))

    table = crossed("a", 8, 15)
    spread = LogitParts(rater=0.4, item=0.8)
    centre = logit(0.65, spread.total)
    p = []
    for _ in range(runs):
        logits = centre + added(table, rng, 0.4, "rater") + added(table, rng, 0.8, "item")
        won = (rng.random(table.height) < special.expit(logits)).astype(np.float64)
        p.append(p_of(table, won - 0.5, ["rater", "item"], side=False))
    predicted = power_pairwise(
        0.65, raters=8, items=15, parts=spread, shared_raters=True, simulations=SIMULATIONS
    )
    yield line_of("power_pairwise, mixed model", "win rate 0.65", "8 × 15", predicted, np.array(p))
