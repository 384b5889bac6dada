"""Metrics against human judgement: correlations, comparisons, ceilings, and what adds to what."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl

from dialens.corpus import Corpus
from dialens.errors import DialensError
from dialens.metrics import MetricCard, Scores
from dialens.metrics._family_cards import GROUP as AUTOMATIC
from dialens.stats.bootstrap import Floats
from dialens.stats.comparison import RESAMPLES
from dialens.stats.correlation import (
    COEFFICIENTS,
    ClusterDraws,
    Correlations,
    Mask,
    correlate,
    pearson_replicates,
    standard_scores,
)
from dialens.stats.correlation_difference import correlation_difference
from dialens.stats.incremental import FOLDS, Memory, increment
from dialens.stats.validation_ceiling import Ceiling, ceiling, corrected
from dialens.stats.validation_groups import Groups, partition
from dialens.stats.validation_matrix import MetricMatrix, metric_matrix
from dialens.stats.validation_tables import (
    CORRELATIONS,
    DIFFERENCES,
    INCREMENTS,
    corrected_correlations,
    corrected_increments,
    with_family,
)
from dialens.stats.validation_units import (
    RatedUnits,
    available_levels,
    human_ratings,
    rated_units,
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
        seed: Of everything that is drawn.
        confidence: Of the intervals.
        advance: Told how many more parts are done.
    """
    ratings = human_ratings(corpus, raters=raters, qualities=qualities)
    there = available_levels(ratings)
    for level in levels or ():
        if level not in there:
            raise DialensError(
                f"Nothing can be validated at the level {level!r}: it was not rated, or there are "
                f"fewer than three. Levels with ratings: {', '.join(there)}."
            )
    scored, left_out = _with_values(scores, _scored(scores, metrics))
    cards = {name: scores.cards[name] for name in scored}
    groups = partition(cards, psychological=psychological, automatic=automatic)
    name = dataset or _name(corpus)
    parts: dict[str, list[dict[str, Any]]] = {"r": [], "difference": [], "increment": []}
    matrices: list[MetricMatrix] = []
    units: list[dict[str, Any]] = []
    for level in levels or there:
        rated = _only(rated_units(ratings, corpus, scores, level), scored)
        rng = np.random.default_rng([seed, len(units)])
        draws = ClusterDraws(rated.clusters, resamples, rng)
        made = correlate(rated.values, rated.means(), draws, confidence=confidence)
        parts["r"] += _correlation_rows(rated, made, draws, groups, confidence)
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
                "ratings": int(sum(one.count.sum() for one in rated.ratings.values())),
            }
        )
        advance(1)
    return Validation(
        name,
        groups,
        corrected_correlations(pl.DataFrame(parts["r"], schema=CORRELATIONS)),
        with_family(pl.DataFrame(parts["difference"], schema=DIFFERENCES), "p"),
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
    found = (
        scores.table.filter(pl.col("metric").is_in(field))
        .group_by("metric")
        .agg(n=pl.col("value").count(), reason=pl.col("reason").drop_nulls().first())
        .collect(engine="streaming")
    )
    empty = {row["metric"]: row["reason"] for row in found.to_dicts() if not row["n"]}
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
    rated: RatedUnits, made: Correlations, draws: ClusterDraws, groups: Groups, confidence: float
) -> list[dict[str, Any]]:
    limits = [ceiling(one, draws, confidence=confidence) for one in rated.ratings.values()]
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
                    **_coefficients(made, i, j),
                    **_limited(made, i, j, limits[j], confidence),
                    **_missing(rated, i, quality),
                }
            )
    return rows


def _group(metric: str, groups: Groups) -> str | None:
    if metric in groups.psychological:
        return "psychological"
    return "automatic" if metric in groups.automatic else None


def _coefficients(made: Correlations, i: int, j: int) -> dict[str, Any]:
    row: dict[str, Any] = {"n": int(made.n[i, j]), "n_clusters": int(made.n_clusters[i, j])}
    for name in COEFFICIENTS:
        one = made.estimates[name][i][j]
        row |= {
            name: one.value,
            f"{name}_low": one.low,
            f"{name}_high": one.high,
            f"{name}_p": one.p,
        }
    first = made.estimates["pearson"][i][j]
    return {**row, "interval": first.basis, "reason": first.reason}


def _limited(
    made: Correlations, i: int, j: int, limit: Ceiling, confidence: float
) -> dict[str, Any]:
    clusters = int(made.n_clusters[i, j])
    pearson = made.estimates["pearson"][i][j]
    freed = corrected(pearson, made.replicates[:, i, j], limit, clusters, confidence)
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
            there = np.isfinite(values[:, i] + values[:, j] + ratings.mean)
            key = there.tobytes()
            if key not in known:
                known[key] = _replicates(values, ratings.mean, there, draws)
            one = correlation_difference(
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
                    "n": one.n,
                    "n_clusters": one.n_clusters,
                    "r_a": one.r_a,
                    "r_b": one.r_b,
                    "r_ab": one.r_ab,
                    "difference": one.difference,
                    "low": one.low,
                    "high": one.high,
                    "p": one.p,
                    "williams_t": _finite(one.williams.statistic if one.williams else None),
                    "williams_p": _finite(one.williams.p if one.williams else None),
                    "steiger_z": _finite(one.steiger.statistic if one.steiger else None),
                    "steiger_p": _finite(one.steiger.p if one.steiger else None),
                    "reason": one.reason,
                }
            )
    return rows


def _replicates(values: Floats, mean: Floats, there: Mask, draws: ClusterDraws) -> Floats:
    """Correlations of all metrics that these units have, in every resample; NaN for the others."""
    made = np.full((len(draws.counts), values.shape[1]), np.nan)
    whole = np.flatnonzero(np.isfinite(values[there]).all(axis=0))
    if there.sum() > 1 and len(whole):
        a, b = standard_scores(values[there][:, whole]), standard_scores(mean[there][:, None])
        made[:, whole] = pearson_replicates(a, b, there, draws)[:, :, 0]
    return made


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
        there = [name for name in members if name in rated.metrics]
        tables: dict[str, Floats] = {name: rated.column(name)[:, None] for name in there}
        if len(there) > 1:
            tables[together] = np.column_stack([rated.column(name) for name in there])
        sides.append(tables)
    rows = []
    for quality, ratings in rated.ratings.items():
        memory: Memory = {}
        for a, table_a in sides[0].items():
            for p, table_p in sides[1].items():
                one = increment(
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
                        **vars(one),
                    }
                )
    return rows


def _matrices(rated: RatedUnits, groups: Groups) -> list[MetricMatrix]:
    """Of the two groups and of all metrics; a handful of agents has too many by chance."""
    if rated.frame.height < _FEWEST_FOR_MATRIX:
        return []
    chosen = _only(rated, groups.both)
    made = [metric_matrix(chosen.values, chosen.metrics, rated.level, "groups")]
    if len(chosen.metrics) < len(rated.metrics):
        made.append(metric_matrix(rated.values, rated.metrics, rated.level, "all"))
    return [one for one in made if one is not None]


def _notes(units: Sequence[Mapping[str, Any]]) -> list[str]:
    notes = []
    for one in units:
        if one["level"] in ("agent", "system"):
            if one["units"] < 20:
                notes.append(
                    f"There are only {one['units']} {one['level']}s: correlations over them say "
                    "little, whatever their size."
                )
        elif one["clusters"] < 20:
            notes.append(
                f"The {one['units']:,} rated {one['level']}s come from only {one['clusters']} "
                f"{one['clustered_by']}: intervals are rough."
            )
    return notes
