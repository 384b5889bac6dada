"""Which raters disagree with the rest.

Each rater is held against the mean of all others on the items both judged. The interval is
Fisher's. A rater is called at odds with the rest where the correlation is lower than those of the
other raters would let expect: raters differ, so their own spread (a robust one, that outliers
cannot widen) is part of the yardstick, and p-values are corrected over the raters of the group
(Benjamini & Hochberg 1995). Raters with fewer than ten items in common with others are not tested:
Fisher's approximation is too rough for them.
"""

import numpy as np
import polars as pl
from scipy import special

from dialens.statistics._corrections import corrected
from dialens.statistics.agreement._categories import ValueCounts
from dialens.statistics.agreement._matrix import Floats, RatingMatrix, Weights

ALPHA = 0.05
_FEWEST_ITEMS = 5
_FEWEST_TESTED = 10
_FEWEST_RATERS = 5
_MOST_RATERS = 2_000
_TO_SIGMA = 1.4826
_FARTHEST = 1 - 1e-9

RATERS = pl.Schema(
    {
        "quality": pl.String,
        "group": pl.String,
        "rater": pl.String,
        "n_items": pl.Int64,
        "agreement": pl.Float64,
        "low": pl.Float64,
        "high": pl.Float64,
        "offset": pl.Float64,
        "alpha_without": pl.Float64,
        "p": pl.Float64,
        "p_adjusted": pl.Float64,
        "family": pl.Int64,
        "at_odds": pl.Boolean,
        "reason": pl.String,
    }
)
"""One row a rater.

`agreement` is the correlation with the mean of the others, `offset` how much higher the rater
rates than they do, `alpha_without` Krippendorff's alpha (interval) of the others by themselves.
"""


def disagreeing_raters(table: RatingMatrix, *, confidence: float = 0.95) -> pl.DataFrame:
    """Every rater against the rest, the one who agrees least first.

    Examples:
        >>> rng = np.random.default_rng(3)
        >>> ratings = rng.normal(size=(40, 1)) + 0.5 * rng.normal(size=(40, 8))
        >>> ratings[:, 2] *= -1
        >>> found = disagreeing_raters(RatingMatrix.of_array(ratings))
        >>> found.filter("at_odds")["rater"].to_list()
        ['2']
    """
    if table.rater is None:
        return RATERS.to_frame().drop("quality", "group")
    count, r, offset = _against_the_rest(table)
    enough = (count >= _FEWEST_ITEMS) & ~np.isnan(r)
    z = np.arctanh(np.clip(r, -_FARTHEST, _FARTHEST))
    with np.errstate(divide="ignore", invalid="ignore"):
        error = np.where(count > 3, 1 / np.sqrt(np.maximum(count - 3, 1)), np.nan)
    reach = special.ndtri((1 + confidence) / 2) * error
    p = _low_p_values(z, error, enough & (count >= _FEWEST_TESTED))
    rows = pl.DataFrame(
        {
            "rater": table.raters,
            "n_items": count.astype(np.int64),
            "agreement": np.where(enough, r, np.nan),
            "low": np.where(enough, np.tanh(z - reach), np.nan),
            "high": np.where(enough, np.tanh(z + reach), np.nan),
            "offset": offset,
            "alpha_without": _alpha_without(table),
            "p": p,
            "reason": [
                _reason(int(c), constant=bool(np.isnan(x))) for c, x in zip(count, r, strict=True)
            ],
        }
    ).with_columns(pl.selectors.float().fill_nan(None))
    rows = corrected(rows).with_columns(
        at_odds=(pl.col("p_adjusted") < ALPHA).fill_null(value=False)
    )
    columns = [name for name in RATERS if name not in ("quality", "group")]
    return rows.select(columns).sort("agreement", "rater", nulls_last=True)


def _against_the_rest(table: RatingMatrix) -> tuple[Floats, Floats, Floats]:
    """Items shared with others, correlation with their mean, mean difference from it."""
    assert table.rater is not None
    others = table.per_item[table.item] - 1
    shared = others > 0
    sums = np.bincount(table.item, table.centred, minlength=len(table.items))
    own, who = table.centred[shared], table.rater[shared]
    rest = (sums[table.item] - table.centred)[shared] / others[shared]
    k = len(table.raters)
    count = np.bincount(who, minlength=k).astype(np.float64)
    size = np.maximum(count, 1)
    mean_own, mean_rest = (np.bincount(who, x, minlength=k) / size for x in (own, rest))
    a, b = own - mean_own[who], rest - mean_rest[who]
    aa, bb, ab = (np.bincount(who, x, minlength=k) for x in (a * a, b * b, a * b))
    tiny = 1e-12 * max(float(table.centred.var()), 1e-300) * size
    with np.errstate(divide="ignore", invalid="ignore"):
        r = np.where((aa > tiny) & (bb > tiny), ab / np.sqrt(aa * bb), np.nan)
    return count, r, np.where(count > 0, mean_own - mean_rest, np.nan)


def _low_p_values(z: Floats, error: Floats, enough: np.ndarray) -> Floats:
    """How surprising each correlation is, low ones only, given how much raters differ."""
    p = np.full(len(z), np.nan)
    if enough.sum() < _FEWEST_RATERS:
        return p
    middle = np.median(z[enough])
    spread = _TO_SIGMA * np.median(np.abs(z[enough] - middle))
    between = max(0.0, float(spread**2 - np.median(error[enough] ** 2)))
    p[enough] = special.ndtr((z[enough] - middle) / np.sqrt(error[enough] ** 2 + between))
    return p


def _alpha_without(table: RatingMatrix) -> Floats:
    k = len(table.raters)
    if k > _MOST_RATERS or k < 3:
        return np.full(k, np.nan)
    return ValueCounts.of(table).alpha("interval", Weights(raters=1 - np.eye(k)))


def _reason(count: int, *, constant: bool) -> str | None:
    if count < _FEWEST_ITEMS:
        many = "one item" if count == 1 else f"{count} items" if count else "no item"
        return f"judged {many} together with others: too few for a correlation"
    if constant:
        return "gave the same rating to everything, or the others did"
    return None
