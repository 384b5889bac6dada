"""Effects of the design on people and on language models, side by side; never pooled.

The interval of people's effect is over participants and items, that of a model over items, with its
repeats and prompts averaged: one model is no sample of models. Both rate the same items, and what
an item does to both is counted as if it were not shared, so that intervals of the difference are
rather too wide than too narrow.
"""

import numpy as np
import polars as pl
from scipy import special

from dialens.statistics import corrected

BESIDE = pl.Schema(
    {
        "judge": pl.String,
        "effect": pl.String,
        "question": pl.String,
        "quality": pl.String,
        "unit": pl.String,
        "people": pl.Float64,
        "people_low": pl.Float64,
        "people_high": pl.Float64,
        "models": pl.Float64,
        "models_low": pl.Float64,
        "models_high": pl.Float64,
        "difference": pl.Float64,
        "low": pl.Float64,
        "high": pl.Float64,
        "p": pl.Float64,
        "p_adjusted": pl.Float64,
        "family": pl.Int64,
        "reason": pl.String,
    }
)
"""A row a judge and effect; `difference` is models − people, `models` that judge."""

_KEYS = ("effect", "question", "quality", "unit")
_MANY = 1e6


def effects_beside(
    people: pl.DataFrame, models: pl.DataFrame, *, confidence: float = 0.95
) -> pl.DataFrame:
    """The same effects of two kinds of raters, and how far they differ.

    Args:
        people: In the columns of `EFFECTS`, of people alone.
        models: The same of language models, with the column `judge`.
        confidence: Of the intervals of both, and of the difference.
    """
    numbers = ("value", "low", "high", "degrees", "reason")
    joined = people.select(*_KEYS, *numbers).join(
        models.select("judge", *_KEYS, *numbers), on=_KEYS, how="inner", suffix="_models",
        nulls_equal=True, maintain_order="right_left",
    )  # fmt: skip
    rows = [_row(one, confidence) for one in joined.iter_rows(named=True)]
    table = pl.DataFrame(rows, schema={k: v for k, v in BESIDE.items() if k not in _ADDED})
    return corrected(table).select(BESIDE.names())


_ADDED = ("p_adjusted", "family")


def _row(one: dict[str, float | str | None], confidence: float) -> dict[str, object]:
    row: dict[str, object] = {key: one[key] for key in ("judge", *_KEYS)}
    for name, suffix in (("people", ""), ("models", "_models")):
        row[name] = one[f"value{suffix}"]
        row[f"{name}_low"], row[f"{name}_high"] = one[f"low{suffix}"], one[f"high{suffix}"]
    if row["people"] is None or row["models"] is None:
        return row | {"reason": one["reason"] or one["reason_models"]}
    gap = _float(one["value_models"]) - _float(one["value"])
    row["difference"] = gap
    errors = [_error(one, suffix, confidence) for suffix in ("", "_models")]
    if None in errors:
        return row | {"reason": one["reason"] or one["reason_models"] or "one has no interval"}
    (first, df1), (second, df2) = (error for error in errors if error is not None)
    variance = first**2 + second**2
    degrees = variance**2 / (first**4 / df1 + second**4 / df2)
    reach = np.sqrt(variance) * special.stdtrit(degrees, (1 + confidence) / 2)
    p = 2 * special.stdtr(degrees, -abs(gap) / np.sqrt(variance))
    return row | {"low": gap - float(reach), "high": gap + float(reach), "p": float(p)}


def _error(
    one: dict[str, float | str | None], suffix: str, confidence: float
) -> tuple[float, float] | None:
    """The standard error that an interval was made of, and its degrees of freedom."""
    low, high = one[f"low{suffix}"], one[f"high{suffix}"]
    if low is None or high is None or _float(high) <= _float(low):
        return None
    degrees = one[f"degrees{suffix}"]
    known = _MANY if degrees is None else max(_float(degrees), 1.0)
    reach = (_float(high) - _float(low)) / 2
    return reach / float(special.stdtrit(known, (1 + confidence) / 2)), known


def _float(value: float | str | None) -> float:
    assert isinstance(value, int | float)
    return float(value)
