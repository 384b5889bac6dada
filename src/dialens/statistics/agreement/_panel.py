"""How many raters an item needs for a wanted reliability of its mean.

Three answers, from three readings of what a rater is:

- `spearman_brown`: other raters for every item, from ICC(1,1) (Spearman 1910; Brown 1910);
- `g_absolute`: a generalisability study with raters crossed with items, raters' own levels count
  as error (Φ, Brennan 2001);
- `g_relative`: the same, where only the order and distance of items matters (Eρ²).

The number m is the smallest whole one with `a / (a + error / m) ≥ target`, a the variance of
items.
"""

import math

import polars as pl

from dialens.base import DialensError, Estimate
from dialens.statistics.agreement._components import Components

TARGETS = (0.7, 0.8, 0.9)
_SINGLE = {"spearman_brown": "ICC(1,1)", "g_absolute": "ICC(2,1)", "g_relative": "ICC(3,1)"}
BASES = tuple(_SINGLE)

PANEL = pl.Schema(
    {
        "quality": pl.String,
        "group": pl.String,
        "basis": pl.String,
        "target": pl.Float64,
        "single": pl.Float64,
        "now": pl.Float64,
        "reliability_now": pl.Float64,
        "needed": pl.Int64,
        "needed_low": pl.Int64,
        "needed_high": pl.Int64,
        "more": pl.Int64,
        "share_items": pl.Float64,
        "share_raters": pl.Float64,
        "share_rest": pl.Float64,
        "reason": pl.String,
    }
)
"""One row a basis and a target.

`single` is the reliability of one rating, `now` the ratings an item has, `more` how many each
needs in addition. `share_*` are the shares of variance of the generalisability study.
"""


def raters_needed(single: float, target: float) -> int | None:
    """The smallest number of raters that reaches a target; None where no number does.

    Examples:
        >>> raters_needed(0.25, 0.8), raters_needed(-0.1, 0.8), raters_needed(0.9, 0.8)
        (12, None, 1)
    """
    if not 0 < target < 1:
        raise DialensError(f"A target reliability lies between 0 and 1; seen: {target:g}.")
    if not single > 0:
        return None
    if single >= 1:
        return 1
    many = target * (1 - single) / (single * (1 - target))
    return max(1, math.ceil(many - 1e-9))


def panel_rows(
    singles: dict[str, Estimate],
    two_way: Components | None,
    k: float,
    targets: tuple[float, ...] = TARGETS,
) -> pl.DataFrame:
    """The table for one group of ratings, without its name.

    Args:
        singles: The reliability of one rating, by form of ICC.
        two_way: Components with raters told apart, where raters are known.
        k: Ratings an item has.
        targets: Wanted reliabilities.
    """
    shares = _shares(two_way)
    rows = []
    for basis, form in _SINGLE.items():
        single = singles.get(form, Estimate())
        for target in targets:
            needed = None if single.value is None else raters_needed(single.value, target)
            reason = single.reason if single.value is None else None
            if single.value is not None and needed is None:
                reason = "one rating is not more reliable than chance: no number of raters helps"
            rows.append(
                {
                    "basis": basis,
                    "target": target,
                    "single": single.value,
                    "now": k,
                    "reliability_now": _stepped(single.value, k),
                    "needed": needed,
                    "needed_low": None
                    if single.high is None
                    else raters_needed(single.high, target),
                    "needed_high": None
                    if single.low is None
                    else raters_needed(single.low, target),
                    "more": None if needed is None else max(0, math.ceil(needed - k - 1e-9)),
                    **(shares if basis != "spearman_brown" else {}),
                    "reason": reason,
                }
            )
    schema = {name: dtype for name, dtype in PANEL.items() if name not in ("quality", "group")}
    return pl.DataFrame(rows, schema=schema)


def _stepped(single: float | None, k: float) -> float | None:
    if single is None or 1 + (k - 1) * single <= 0:
        return None
    return k * single / (1 + (k - 1) * single)


def _shares(two_way: Components | None) -> dict[str, float]:
    if two_way is None:
        return {}
    parts = {
        "share_items": float(two_way.item[0]),
        "share_raters": float(two_way.rater[0]),
        "share_rest": float(two_way.rest[0]),
    }
    total = sum(parts.values())
    if not total > 0:
        return {}
    return {name: part / total for name, part in parts.items()}
