"""The tables a validation gives, and the correction of the p-values in them."""

import polars as pl

from dialens.statistics import corrected
from dialens.statistics.correlation import COEFFICIENTS

_FLOAT: tuple[str, ...] = tuple(
    f"{name}{part}" for name in COEFFICIENTS for part in ("", "_low", "_high", "_p", "_p_adjusted")
)
CORRELATIONS = pl.Schema(
    {
        **dict.fromkeys(("metric", "group", "quality", "level", "scope", "rated_at"), pl.String()),
        "headline": pl.Boolean(),
        **dict.fromkeys(("n", "n_missing", "n_clusters"), pl.Int64()),
        "n_effective": pl.Float64(),
        **dict.fromkeys(_FLOAT, pl.Float64()),
        "p_at_most": pl.Boolean(),
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
"""One row a metric, quality, level and scope: `within` agents (the headline where there are
several), `pooled` over them, `between` their means. `p_at_most` marks the least Pearson's p that
permutations can give, `n_effective` is how many independent units would scatter as much. `ceiling`
is the reliability of the mean rating, `highest_r` its root; `missing` says why units have no value,
`family` how many tests were corrected together (for each coefficient)."""

ACCURACIES = pl.Schema(
    {
        **dict.fromkeys(("metric", "quality", "level"), pl.String()),
        "reversed": pl.Boolean(),
        **dict.fromkeys(("system_accuracy", "system_low", "system_high"), pl.Float64()),
        "system_pairs": pl.Int64(),
        "system_reason": pl.String(),
        **dict.fromkeys(("segment_accuracy", "segment_low", "segment_high"), pl.Float64()),
        **dict.fromkeys(("segment_pairs", "segment_groups"), pl.Int64()),
        "grouped_by": pl.String(),
        **dict.fromkeys(("epsilon", "ties"), pl.Float64()),
        "segment_reason": pl.String(),
    }
)
"""One row a metric and quality. `system_accuracy` is the share of pairs of agents in the same order
(Kocmi et al. 2021), `segment_accuracy` that of units with ties calibrated at `epsilon` (acc*_eq,
Deutsch et al. 2023), `ties` the share that people tie; `reversed` metrics are better if lower."""

BEST = pl.Schema(
    {
        **dict.fromkeys(("level", "quality", "metric", "scope"), pl.String()),
        **dict.fromkeys(("n", "n_clusters", "agents"), pl.Int64()),
        **dict.fromkeys(("within", "pooled", "between"), pl.Float64()),
        "parted": pl.Boolean(),
        **dict.fromkeys(("r", "low", "high", "p", "p_adjusted"), pl.Float64()),
        "p_at_most": pl.Boolean(),
        "family": pl.Int64(),
        "clear": pl.Boolean(),
        **dict.fromkeys(("n_clear", "n_metrics"), pl.Int64()),
        "r_elsewhere": pl.Float64(),
        "n_ratings": pl.Int64(),
        **dict.fromkeys(("ceiling", "highest_r"), pl.Float64()),
        "reason": pl.String(),
    }
)
"""One row a quality and level: its strongest metric. `r` is the headline coefficient; `r_elsewhere`
that of the strongest of `n_metrics` on halves of the clusters that did not choose it."""

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
    """Each coefficient's p-values, headlines apart from the rest; `family` is Pearson's."""
    for name in COEFFICIENTS:
        family = "family" if name == "pearson" else None
        table = corrected(table, f"{name}_p", by=["headline"], family=family)
    return table


def corrected_increments(table: pl.DataFrame) -> pl.DataFrame:
    """Both tests corrected over the whole table; `family` is that of `p`."""
    return corrected(corrected(table, "cv_p", family=None))
