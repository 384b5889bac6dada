"""Metrics against human judgement: correlations, comparisons, ceilings, and what adds to what."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl

from dialens.analysis.comparison import RESAMPLES
from dialens.analysis.validation._ceiling import Ceiling, ceiling, disattenuated
from dialens.analysis.validation._groups import Groups, partition
from dialens.analysis.validation._matrix import MetricMatrix, metric_matrix
from dialens.analysis.validation._tables import (
    CORRELATIONS,
    DIFFERENCES,
    INCREMENTS,
    corrected_correlations,
    corrected_increments,
)
from dialens.analysis.validation._units import (
    RatedUnits,
    available_levels,
    human_ratings,
    rated_units,
)
from dialens.base import DialensError
from dialens.corpus import Corpus
from dialens.metrics import GROUP as AUTOMATIC
from dialens.metrics import MetricCard, Scores
from dialens.statistics import FOLDS, ClusterDraws, Floats, Mask, Memory, corrected, increment
from dialens.statistics.correlation import (
    COEFFICIENTS,
    Correlations,
    correlate,
    correlation_difference,
    pearson_replicates,
    standard_scores,
)

ALL_PSYCHOLOGICAL = "all psychological"
ALL_AUTOMATIC = "all automatic"
_FEWEST_FOR_MATRIX = 10


@dataclass(frozen=True)
class Validation:
    """Everything that comes of holding metrics against people.

    Attributes:
        dataset: What the corpus is called.
        groups: P and A.
        correlations: Columns as `CORRELATIONS`.
        differences: Columns as `DIFFERENCES`.
        increments: Columns as `INCREMENTS`.
        matrices: Metrics with each other, one a level.
        units: By level: how many units, clusters, qualities, and what the clusters are.
        notes: What a reader should know.
        cards: The metrics' cards by name.
    """

    dataset: str
    groups: Groups
    correlations: pl.DataFrame
    differences: pl.DataFrame
    increments: pl.DataFrame
    matrices: tuple[MetricMatrix, ...]
    units: tuple[Mapping[str, Any], ...]
    notes: tuple[str, ...]
    cards: Mapping[str, MetricCard]

    @property
    def labels(self) -> dict[str, str]:
        """What the metrics are called, and both groups as a whole."""
        return {
            **{name: card.long_label for name, card in self.cards.items()},
            ALL_AUTOMATIC: "All automatic",
            ALL_PSYCHOLOGICAL: "All psychological",
        }

    def to_dict(self) -> dict[str, Any]:
        """As `validation.json` holds it."""
        return {
            "dataset": self.dataset,
            "psychological": list(self.groups.psychological),
            "automatic": list(self.groups.automatic),
            "units": [dict(unit) for unit in self.units],
            "correlations": self.correlations.to_dicts(),
            "differences": self.differences.to_dicts(),
            "incremental": self.increments.to_dicts(),
            "matrices": [matrix.to_dict() for matrix in self.matrices],
            "notes": list(self.notes),
        }


def validate(
    corpus: Corpus,
    scores: Scores,
    *,
    qualities: Sequence[str] | None = None,
    levels: Sequence[str] | None = None,
    metrics: Sequence[str] | None = None,
    psychological: Sequence[str] | None = None,
    automatic: Sequence[str] | None = None,
    raters: Sequence[str] = ("human",),
    dataset: str | None = None,
    resamples: int = RESAMPLES,
    folds: int = FOLDS,
    seed: int = 0,
    confidence: float = 0.95,
    advance: Callable[[int], None] = lambda _: None,
) -> Validation:
    """Hold every metric against every quality that people rated.

    Args:
        corpus: Conversations with ratings.
        scores: Of the same corpus.
        qualities: Only these.
        levels: Only these; by default all that were judged, and agents and systems if there are
            three or more.
        metrics: Only these.
        psychological: P, by name or family.
        automatic: A, by name or family.
        raters: Kinds of raters whose ratings count: human, llm, simulated.
        dataset: What the corpus is called.
        resamples: How many times clusters are drawn.
        folds: Of the cross-validation by cluster.
        seed: Random seed; the same seed gives the same numbers.
        confidence: Confidence level of the intervals.
        advance: Called with the number of parts done since the last call.
    """
    ratings = human_ratings(corpus, raters=raters, qualities=qualities)
    present = available_levels(ratings)
    for level in levels or ():
        if level not in present:
            raise DialensError(
                f"Nothing can be validated at the level {level!r}: it was not rated, or there are "
                f"fewer than three. Levels with ratings: {', '.join(present)}."
            )
    scored, left_out = _with_values(scores, _scored(scores, metrics))
    cards = {name: scores.cards[name] for name in scored}
    groups = partition(cards, psychological=psychological, automatic=automatic)
    name = dataset or _name(corpus)
    parts: dict[str, list[dict[str, Any]]] = {"r": [], "difference": [], "increment": []}
    matrices: list[MetricMatrix] = []
    units: list[dict[str, Any]] = []
    for level in levels or present:
        rated = _only(rated_units(ratings, corpus, scores, level), scored)
        rng = np.random.default_rng([seed, len(units)])
        draws = ClusterDraws.of(rated.clusters, resamples, rng)
        result = correlate(rated.values, rated.means(), draws, confidence=confidence)
        parts["r"] += _correlation_rows(rated, result, draws, groups, confidence)
        advance(1)
        parts["difference"] += _difference_rows(rated, draws, groups, confidence)
        advance(1)
        parts["increment"] += _increment_rows(rated, groups, name, folds, seed)
        matrices += _matrices(rated, groups)
        units.append(
            {
                "level": level,
                "units": rated.frame.height,
                "clusters": len(np.unique(rated.clusters)),
                "clustered_by": rated.clustered_by,
                "qualities": list(rated.ratings),
                "ratings": int(sum(q.count.sum() for q in rated.ratings.values())),
            }
        )
        advance(1)
    return Validation(
        name,
        groups,
        corrected_correlations(pl.DataFrame(parts["r"], schema=CORRELATIONS)),
        corrected(pl.DataFrame(parts["difference"], schema=DIFFERENCES)),
        corrected_increments(pl.DataFrame(parts["increment"], schema=INCREMENTS)),
        tuple(matrices),
        tuple(units),
        (*_notes(units), *left_out),
        scores.cards,
    )


def _with_values(scores: Scores, names: Sequence[str]) -> tuple[list[str], list[str]]:
    """Without the automatic metrics that have no value at all, and a note that says why."""
    field = [name for name in names if AUTOMATIC in scores.cards[name].groups]
    if not field:
        return list(names), []
    counts = (
        scores.table.filter(pl.col("metric").is_in(field))
        .group_by("metric")
        .agg(n=pl.col("value").count(), reason=pl.col("reason").drop_nulls().first())
        .collect(engine="streaming")
    )
    empty = {row["metric"]: row["reason"] for row in counts.to_dicts() if not row["n"]}
    by_reason: dict[str, list[str]] = {}
    for name in field:
        if name in empty:
            by_reason.setdefault(str(empty[name]).split("; ")[0], []).append(name)
    notes = [
        f"{', '.join(those)} {'is' if len(those) == 1 else 'are'} left out, without a value in the "
        f"scores: {reason}."
        for reason, those in by_reason.items()
    ]
    return [name for name in names if name not in empty], notes


def _scored(scores: Scores, metrics: Sequence[str] | None) -> list[str]:
    if metrics is None:
        return scores.names
    chosen = partition(scores.cards, psychological=metrics, automatic=[]).psychological
    return [name for name in scores.names if name in chosen]


def _name(corpus: Corpus) -> str:
    source = str(corpus.manifest.get("source", {}).get("name", "")) or "corpus"
    return source.split(".")[0]


def _only(rated: RatedUnits, scored: Sequence[str]) -> RatedUnits:
    kept = [number for number, name in enumerate(rated.metrics) if name in scored]
    return replace(
        rated,
        metrics=tuple(rated.metrics[number] for number in kept),
        values=rated.values[:, kept],
    )


def _correlation_rows(
    rated: RatedUnits, result: Correlations, draws: ClusterDraws, groups: Groups, confidence: float
) -> list[dict[str, Any]]:
    limits = [ceiling(ratings, draws, confidence=confidence) for ratings in rated.ratings.values()]
    rows = []
    for i, metric in enumerate(rated.metrics):
        for j, quality in enumerate(rated.ratings):
            rows.append(
                {
                    "metric": metric,
                    "group": _group(metric, groups),
                    "quality": quality,
                    "level": rated.level,
                    "rated_at": rated.rated_at[quality],
                    **_coefficients(result, i, j),
                    **_limited(result, i, j, limits[j], confidence),
                    **_missing(rated, i, quality),
                }
            )
    return rows


def _group(metric: str, groups: Groups) -> str | None:
    if metric in groups.psychological:
        return "psychological"
    return "automatic" if metric in groups.automatic else None


def _coefficients(result: Correlations, i: int, j: int) -> dict[str, Any]:
    row: dict[str, Any] = {"n": int(result.n[i, j]), "n_clusters": int(result.n_clusters[i, j])}
    for name in COEFFICIENTS:
        estimate = result.estimates[name][i][j]
        row |= {
            name: estimate.value,
            f"{name}_low": estimate.low,
            f"{name}_high": estimate.high,
            f"{name}_p": estimate.p,
        }
    first = result.estimates["pearson"][i][j]
    return {**row, "interval": first.basis, "reason": first.reason}


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


def _difference_rows(
    rated: RatedUnits, draws: ClusterDraws, groups: Groups, confidence: float
) -> list[dict[str, Any]]:
    """Every pair of the metrics in the two groups."""
    names = [name for name in groups.both if name in rated.metrics]
    values = np.column_stack([rated.column(name) for name in names]) if names else rated.values
    rows = []
    for quality, ratings in rated.ratings.items():
        known: dict[bytes, Floats] = {}
        for (i, a), (j, b) in combinations(enumerate(names), 2):
            present = np.isfinite(values[:, i] + values[:, j] + ratings.mean)
            key = present.tobytes()
            if key not in known:
                known[key] = _replicates(values, ratings.mean, present, draws)
            difference = correlation_difference(
                values[:, i],
                values[:, j],
                ratings.mean,
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


def _increment_rows(
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


def _matrices(rated: RatedUnits, groups: Groups) -> list[MetricMatrix]:
    """Of the two groups and of all metrics; a handful of agents has too many by chance."""
    if rated.frame.height < _FEWEST_FOR_MATRIX:
        return []
    chosen = _only(rated, groups.both)
    result = [metric_matrix(chosen.values, chosen.metrics, rated.level, "groups")]
    if len(chosen.metrics) < len(rated.metrics):
        result.append(metric_matrix(rated.values, rated.metrics, rated.level, "all"))
    return [matrix for matrix in result if matrix is not None]


def _notes(units: Sequence[Mapping[str, Any]]) -> list[str]:
    notes = []
    for row in units:
        if row["level"] in ("agent", "system"):
            if row["units"] < 20:
                notes.append(
                    f"There are only {row['units']} {row['level']}s: correlations over them say "
                    "little, whatever their size."
                )
        elif row["clusters"] < 20:
            notes.append(
                f"The {row['units']:,} rated {row['level']}s come from only {row['clusters']} "
                f"{row['clustered_by']}: intervals are rough."
            )
    return notes
