"""How far a judge agrees with itself when the same is asked again, in the same way.

ICC(2,1) of items × repeats within each way of asking (prompt, temperature, memory, thought, order)
and condition, variances averaged over them: that prompts differ in level is no agreement. Where
there are several, ratings of one item stand in all, so that intervals leave out items in turn,
with everything said of them; of one full table the interval is that of the F distribution.
"""

import numpy as np
import polars as pl

from dialens.base import DialensError, Estimate
from dialens.statistics.agreement import RatingMatrix, Weights, icc, spreads, two_way_moments

_VARIED = ("prompt", "temperature", "memory", "think", "answer_mode", "condition", "attempt")
_ICC = "ICC(2,1)"


def own_agreement(machine: pl.DataFrame) -> Estimate:
    """How far one judge agrees with itself when it is asked again with the same prompt.

    Args:
        machine: `item`, `value` of one judge and quality; `repeat`, and what was varied.

    Examples:
        >>> rows = [(f"i{n}", k, n + 0.5 * k) for n in range(9) for k in (1, 2)]
        >>> table = pl.DataFrame(rows, ["item", "repeat", "value"], orient="row")
        >>> round(own_agreement(table).value, 3)  # variances 7.5 and, of repeats, 0.125
        0.984
    """
    varied = [name for name in _VARIED if name in machine.columns and machine[name].n_unique() > 1]
    if "repeat" not in machine.columns or machine["repeat"].n_unique() < 2:
        return Estimate(reason="every item was judged once with the same prompt")
    if machine["value"].n_unique() < 2:
        return Estimate(reason="everything has the same rating: no variance, no correlation")
    tables = [
        RatingMatrix.of(
            part["item"].cast(pl.String).to_list(),
            part["repeat"].cast(pl.String).to_list(),
            part["value"],
        )
        for _, part in (
            machine.group_by(varied, maintain_order=True) if varied else [((), machine)]
        )
    ]
    tables = [table for table in tables if len(table.items) > 1 and len(table.raters) > 1]
    if not tables:
        return Estimate(reason="no two items were judged twice with the same prompt")
    if len(tables) == 1:
        try:
            found = icc(tables[0])[_ICC]
        except DialensError as error:
            return Estimate(reason=str(error))
        n = len(tables[0].items)
        return Estimate(found.value, found.low, found.high, n=n, basis=_ICC, reason=found.reason)
    return _within(tables)


def _within(tables: list[RatingMatrix]) -> Estimate:
    """From variances averaged over tables, items left out of all tables at once."""
    items = sorted({item for table in tables for item in table.items})
    place = {item: at for at, item in enumerate(items)}
    places = [np.array([place[item] for item in table.items]) for table in tables]

    def agreement(weights: Weights) -> dict[str, np.ndarray]:
        parts = [
            two_way_moments(table, Weights(None if weights.items is None else weights.items[where]))
            for table, where in zip(tables, places, strict=True)
        ]
        item, rater, rest = (
            np.nanmean([getattr(part, name) for part in parts], axis=0)
            for name in ("item", "rater", "rest")
        )
        whole = item + rater + rest
        with np.errstate(divide="ignore", invalid="ignore"):
            return {_ICC: np.where(whole > 0, item / whole, np.nan)}

    found = spreads(agreement, len(items), 0)[_ICC].over("items")
    if found.value is None:
        return Estimate(reason="everything has the same rating: no variance, no correlation")
    return Estimate(
        found.value, found.low, found.high, n=len(items), basis=_ICC, reason=found.reason
    )
