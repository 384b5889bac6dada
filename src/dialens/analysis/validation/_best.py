"""The best metric of every quality, and how much of its strength is due to choosing it."""

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
import polars as pl

from dialens.analysis.validation._scopes import BETWEEN, POOLED, WITHIN, several_agents
from dialens.analysis.validation._units import RatedUnits
from dialens.statistics.correlation import centred, chosen_elsewhere

ALPHA = 0.05
APART = 0.1
"""How far pooled and within must lie apart, at least, before a reader is warned."""

Key = tuple[str, str]


def elsewhere(rated: RatedUnits, baselines: Collection[str], seed: int) -> dict[Key, float | None]:
    """By level and quality: the coefficient of the strongest metric where it was not chosen."""
    fair = [number for number, name in enumerate(rated.metrics) if name not in baselines]
    agents = several_agents(rated.agents)
    x, y = rated.values[:, fair], rated.means()
    if agents is not None:
        x, y = centred(x, agents), centred(y, agents)
    return {
        (rated.level, quality): chosen_elsewhere(x, y[:, number], rated.clusters, seed=seed)
        for number, quality in enumerate(rated.ratings)
        if fair
    }


def parted(pooled: pl.Expr, within: pl.Expr, low: pl.Expr, high: pl.Expr) -> pl.Expr:
    """Whether a pooled coefficient is another one than that within agents, whose interval is given.

    Examples:
        >>> row = pl.DataFrame(
        ...     {"p": [0.32, 0.12], "w": [0.0, 0.1], "l": [-0.1, 0], "h": [0.1, 0.2]}
        ... )
        >>> row.select(parted(*(pl.col(name) for name in "pwlh"))).to_series().to_list()
        [True, False]
    """
    outside = (pooled < low) | (pooled > high)
    return ((pooled - within).abs() >= APART) & outside


def beside(correlations: pl.DataFrame) -> pl.DataFrame:
    """Headline rows with Pearson's coefficient of every scope beside, and whether they part."""
    keys = ["level", "quality", "metric"]
    table = correlations.filter("headline")
    for scope in (WITHIN, POOLED, BETWEEN):
        other = correlations.filter(pl.col("scope") == scope)
        columns = [pl.col("pearson").alias(scope)]
        if scope == BETWEEN:
            columns.append(pl.col("n").alias("agents"))
        table = table.join(
            other.select(*keys, *columns), on=keys, how="left", maintain_order="left"
        )
    ends = pl.col("pearson_low"), pl.col("pearson_high")
    apart = parted(pl.col(POOLED), pl.col(WITHIN), *ends).fill_null(value=False)
    return table.with_columns(parted=apart)


def best_rows(
    correlations: pl.DataFrame,
    baselines: Collection[str],
    held_out: Mapping[Key, float | None],
    ratings: Mapping[Key, int],
) -> list[dict[str, Any]]:
    """The strongest metric of each level and quality; one with a corrected p below .05, if any."""
    rows = []
    table = beside(correlations).filter(~pl.col("metric").is_in(list(baselines)))
    for (level, quality), part in table.group_by("level", "quality", maintain_order=True):
        key = str(level), str(quality)
        known = part.filter(pl.col("pearson").is_not_null())
        tested = known.filter(pl.col("pearson_p").is_not_null())
        known = tested if tested.height else known
        sure = known.filter(pl.col("pearson_p_adjusted") < ALPHA)
        if not known.height:
            rows.append({"level": level, "quality": quality, "reason": part["reason"][0]})
            continue
        ordered = (sure if sure.height else known).sort(-pl.col("pearson").abs())
        row = ordered.row(0, named=True)
        kept = ("metric", "scope", "n", "n_clusters", "agents", WITHIN, POOLED, BETWEEN, "parted")
        rows.append(
            {
                "level": level,
                "quality": quality,
                **{name: row[name] for name in kept},
                "r": row["pearson"],
                "low": row["pearson_low"],
                "high": row["pearson_high"],
                "p": row["pearson_p"],
                "p_adjusted": row["pearson_p_adjusted"],
                "p_at_most": row["p_at_most"],
                "family": row["family"],
                "clear": bool(sure.height),
                "n_clear": sure.height,
                "n_metrics": known.height,
                "r_elsewhere": _finite(held_out.get(key)),
                "n_ratings": ratings[key],
                "ceiling": row["ceiling"],
                "highest_r": row["highest_r"],
                "reason": row["reason"],
            }
        )
    return rows


def _finite(value: float | None) -> float | None:
    return value if value is not None and np.isfinite(value) else None
