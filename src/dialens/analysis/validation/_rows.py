"""Rows of the tables: correlations in every scope, differences, and what adds to what."""

from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np

from dialens.analysis.validation._ceiling import Ceiling, ceiling, disattenuated
from dialens.analysis.validation._groups import Groups
from dialens.analysis.validation._scopes import (
    BETWEEN,
    POOLED,
    WITHIN,
    correlations_by_scope,
    several_agents,
)
from dialens.analysis.validation._units import RatedUnits
from dialens.statistics import ClusterDraws, Floats, Ints, Mask, Memory, increment
from dialens.statistics.correlation import (
    COEFFICIENTS,
    Correlations,
    centred,
    correlation_difference,
    pearson_replicates,
    standard_scores,
)

ALL_PSYCHOLOGICAL = "all psychological"
ALL_AUTOMATIC = "all automatic"


def correlation_rows(
    rated: RatedUnits, draws: ClusterDraws, groups: Groups, confidence: float, seed: int
) -> list[dict[str, Any]]:
    """Every metric with every quality: pooled, and within and between agents if there are several.

    The headline is the coefficient within agents, where there are several, or else the pooled one.
    """
    agents = several_agents(rated.agents)
    limits = {
        WITHIN: None if agents is None else _ceilings(rated, draws, agents, confidence),
        POOLED: _ceilings(rated, draws, None, confidence),
        BETWEEN: None,
    }
    found = correlations_by_scope(
        rated.values, rated.means(), draws, rated.agents, confidence=confidence, seed=seed
    )
    rows = []
    for scope, result in found.items():
        headline = scope == next(iter(found))
        rows += _rows(rated, result, scope, groups, limits[scope], confidence, headline=headline)
    return rows


def _ceilings(
    rated: RatedUnits, draws: ClusterDraws, agents: Ints | None, confidence: float
) -> list[Ceiling]:
    """Reliabilities of the mean ratings; of what agents' means leave of them, if given."""
    ratings = list(rated.ratings.values())
    if agents is not None:
        ratings = [replace(one, mean=centred(one.mean[:, None], agents)[:, 0]) for one in ratings]
    return [ceiling(one, draws, confidence=confidence) for one in ratings]


def _rows(
    rated: RatedUnits,
    result: Correlations,
    scope: str,
    groups: Groups,
    limits: list[Ceiling] | None,
    confidence: float,
    *,
    headline: bool,
) -> list[dict[str, Any]]:
    rows = []
    for i, metric in enumerate(rated.metrics):
        for j, quality in enumerate(rated.ratings):
            limited = {} if limits is None else _limited(result, i, j, limits[j], confidence)
            rows.append(
                {
                    "metric": metric,
                    "group": _group(metric, groups),
                    "quality": quality,
                    "level": rated.level,
                    "scope": scope,
                    "headline": headline,
                    "rated_at": rated.rated_at[quality],
                    **_coefficients(result, i, j),
                    **limited,
                    **_missing(rated, i, quality),
                }
            )
    return rows


def _group(metric: str, groups: Groups) -> str | None:
    if metric in groups.psychological:
        return "psychological"
    return "automatic" if metric in groups.automatic else None


def _coefficients(result: Correlations, i: int, j: int) -> dict[str, Any]:
    effective = float(result.effective[i, j])
    row: dict[str, Any] = {
        "n": int(result.n[i, j]),
        "n_clusters": int(result.n_clusters[i, j]),
        "n_effective": round(effective, 1) if np.isfinite(effective) else None,
    }
    for name in COEFFICIENTS:
        estimate = result.estimates[name][i][j]
        row |= {
            name: estimate.value,
            f"{name}_low": estimate.low,
            f"{name}_high": estimate.high,
            f"{name}_p": estimate.p,
        }
    first = result.estimates["pearson"][i][j]
    at_most = None if first.p is None else bool(first.p <= result.least_p[i, j] * (1 + 1e-9))
    return {**row, "p_at_most": at_most, "interval": first.basis, "reason": first.reason}


def _limited(
    result: Correlations, i: int, j: int, limit: Ceiling, confidence: float
) -> dict[str, Any]:
    clusters = int(result.n_clusters[i, j])
    pearson = result.estimates["pearson"][i][j]
    freed = disattenuated(pearson, result.replicates[:, i, j], limit, clusters, confidence)
    return {
        "ceiling": limit.estimate.value,
        "ceiling_low": limit.estimate.low,
        "ceiling_high": limit.estimate.high,
        "highest_r": limit.highest,
        "pearson_corrected": freed.value,
        "pearson_corrected_low": freed.low,
        "pearson_corrected_high": freed.high,
    }


def _missing(rated: RatedUnits, i: int, quality: str) -> dict[str, Any]:
    was_rated = np.isfinite(rated.ratings[quality].mean)
    n_missing = int((was_rated & np.isnan(rated.values[:, i])).sum())
    why = rated.reasons[rated.metrics[i]] if n_missing else {}
    return {
        "n_missing": n_missing,
        "missing": "; ".join(f"{reason} ({count:,})" for reason, count in why.items()) or None,
    }


def difference_rows(
    rated: RatedUnits, draws: ClusterDraws, groups: Groups, confidence: float
) -> list[dict[str, Any]]:
    """Every pair of the metrics in the two groups, within agents where there are several."""
    names = [name for name in groups.both if name in rated.metrics]
    values = np.column_stack([rated.column(name) for name in names]) if names else rated.values
    agents = several_agents(rated.agents)
    if agents is not None:
        values = centred(values, agents)
    rows = []
    for quality, ratings in rated.ratings.items():
        mean = ratings.mean
        if agents is not None:
            mean = centred(mean[:, None], agents)[:, 0]
        known: dict[bytes, Floats] = {}
        for (i, a), (j, b) in combinations(enumerate(names), 2):
            present = np.isfinite(values[:, i] + values[:, j] + mean)
            key = present.tobytes()
            if key not in known:
                known[key] = _replicates(values, mean, present, draws)
            difference = correlation_difference(
                values[:, i],
                values[:, j],
                mean,
                draws,
                confidence=confidence,
                replicates=known[key][:, [i, j]],
            )
            rows.append(
                {
                    "quality": quality,
                    "level": rated.level,
                    "a": a,
                    "b": b,
                    "n": difference.n,
                    "n_clusters": difference.n_clusters,
                    "r_a": difference.r_a,
                    "r_b": difference.r_b,
                    "r_ab": difference.r_ab,
                    "difference": difference.difference,
                    "low": difference.low,
                    "high": difference.high,
                    "p": difference.p,
                    "williams_t": _finite(
                        difference.williams.statistic if difference.williams else None
                    ),
                    "williams_p": _finite(difference.williams.p if difference.williams else None),
                    "steiger_z": _finite(
                        difference.steiger.statistic if difference.steiger else None
                    ),
                    "steiger_p": _finite(difference.steiger.p if difference.steiger else None),
                    "reason": difference.reason,
                }
            )
    return rows


def _replicates(values: Floats, mean: Floats, present: Mask, draws: ClusterDraws) -> Floats:
    """Correlations of all metrics that these units have, in every resample; NaN for the others."""
    result = np.full((len(draws.counts), values.shape[1]), np.nan)
    whole = np.flatnonzero(np.isfinite(values[present]).all(axis=0))
    if present.sum() > 1 and len(whole):
        a, b = standard_scores(values[present][:, whole]), standard_scores(mean[present][:, None])
        result[:, whole] = pearson_replicates(a, b, present, draws)[:, :, 0]
    return result


def _finite(value: float | None) -> float | None:
    return value if value is not None and np.isfinite(value) else None


def increment_rows(
    rated: RatedUnits, groups: Groups, dataset: str, folds: int, seed: int
) -> list[dict[str, Any]]:
    sides = []
    for members, together in (
        (groups.automatic, ALL_AUTOMATIC),
        (groups.psychological, ALL_PSYCHOLOGICAL),
    ):
        present = [name for name in members if name in rated.metrics]
        tables: dict[str, Floats] = {name: rated.column(name)[:, None] for name in present}
        if len(present) > 1:
            tables[together] = np.column_stack([rated.column(name) for name in present])
        sides.append(tables)
    rows = []
    for quality, ratings in rated.ratings.items():
        memory: Memory = {}
        for a, table_a in sides[0].items():
            for p, table_p in sides[1].items():
                added = increment(
                    table_a,
                    table_p,
                    ratings.mean,
                    rated.clusters,
                    folds=folds,
                    seed=seed,
                    memory=memory,
                )
                rows.append(
                    {
                        "dataset": dataset,
                        "quality": quality,
                        "level": rated.level,
                        "automatic": a,
                        "psychological": p,
                        **vars(added),
                    }
                )
    return rows
