"""The tables a validation gives, and the correction of the p-values in them."""

import polars as pl

from dialens.statistics import corrected
from dialens.statistics.correlation import COEFFICIENTS

_FLOAT: tuple[str, ...] = tuple(
    f"{name}{part}" for name in COEFFICIENTS for part in ("", "_low", "_high", "_p", "_p_adjusted")
)
CORRELATIONS = pl.Schema(
    {
        **dict.fromkeys(("metric", "group", "quality", "level", "rated_at"), pl.String()),
        **dict.fromkeys(("n", "n_missing", "n_clusters"), pl.Int64()),
        **dict.fromkeys(_FLOAT, pl.Float64()),
        "family": pl.Int64(),
        **dict.fromkeys(
            (
                "ceiling",
                "ceiling_low",
                "ceiling_high",
                "highest_r",
                "pearson_corrected",
                "pearson_corrected_low",
                "pearson_corrected_high",
            ),
            pl.Float64(),
        ),
        **dict.fromkeys(("interval", "missing", "reason"), pl.String()),
    }
)
"""One row a metric, quality and level. `ceiling` is the reliability of the mean rating, `highest_r`
its root; `missing` says why units have no value, `family` how many tests were corrected together
(for each coefficient)."""

DIFFERENCES = pl.Schema(
    {
        **dict.fromkeys(("quality", "level", "a", "b"), pl.String()),
        **dict.fromkeys(("n", "n_clusters"), pl.Int64()),
        **dict.fromkeys(
            ("r_a", "r_b", "r_ab", "difference", "low", "high", "p", "p_adjusted"), pl.Float64()
        ),
        "family": pl.Int64(),
        **dict.fromkeys(("williams_t", "williams_p", "steiger_z", "steiger_p"), pl.Float64()),
        "reason": pl.String(),
    }
)
"""One row a pair of metrics. `difference` is |r_a| − |r_b|, `p` from resampled clusters; Williams'
and Steiger's tests take units for independent and are not corrected."""

INCREMENTS = pl.Schema(
    {
        **dict.fromkeys(("dataset", "quality", "level", "automatic", "psychological"), pl.String()),
        **dict.fromkeys(("n", "n_clusters"), pl.Int64()),
        **dict.fromkeys(("r2_a", "r2_p", "r2_pa", "t", "p", "p_adjusted"), pl.Float64()),
        "family": pl.Int64(),
        **dict.fromkeys(
            ("cv_r2_a", "cv_r2_p", "cv_r2_pa", "cv_t", "cv_p", "cv_p_adjusted"), pl.Float64()
        ),
        "reason": pl.String(),
    }
)
"""One row an automatic metric (or all) with a psychological one (or all); r2 are adjusted."""


def corrected_correlations(table: pl.DataFrame) -> pl.DataFrame:
    """Each coefficient's p-values corrected over the whole table; `family` is Pearson's."""
    for name in COEFFICIENTS:
        table = corrected(table, f"{name}_p", family="family" if name == "pearson" else None)
    return table


def corrected_increments(table: pl.DataFrame) -> pl.DataFrame:
    """Both tests corrected over the whole table; `family` is that of `p`."""
    return corrected(corrected(table, "cv_p", family=None))
