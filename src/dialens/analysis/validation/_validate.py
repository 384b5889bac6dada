"""Metrics against human judgement: correlations, comparisons, ceilings, and what adds to what."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from dialens.analysis.comparison import RESAMPLES
from dialens.analysis.validation._accuracies import accuracy_rows
from dialens.analysis.validation._best import best_rows, elsewhere
from dialens.analysis.validation._groups import Groups, partition
from dialens.analysis.validation._matrix import MetricMatrix, metric_matrix
from dialens.analysis.validation._own_scores import is_own
from dialens.analysis.validation._references import without_references
from dialens.analysis.validation._rows import (
    ALL_AUTOMATIC,
    ALL_PSYCHOLOGICAL,
    correlation_rows,
    difference_rows,
    increment_rows,
)
from dialens.analysis.validation._tables import (
    ACCURACIES,
    BEST,
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
from dialens.base import (
    DialensError,
    counted,
    html_table,
    interval,
    listed,
    number,
    p_value,
    text_table,
)
from dialens.corpus import Corpus
from dialens.metrics import GROUP as AUTOMATIC
from dialens.metrics import MetricCard, Scores
from dialens.statistics import FOLDS, ClusterDraws, corrected

_FEWEST_FOR_MATRIX = 10
_TOO_GOOD = 0.9995
_FEWEST_SUSPICIOUS = 5
_UNITS = {"turn": "turn", "dialog": "dialogue", "agent": "agent", "system": "system"}

_SHOWN = ("quality", "metric", "r", "interval", "p adj.")
_MOST_SHOWN = 12


@dataclass(frozen=True, repr=False)
class Validation:
    """Everything that comes of holding metrics against people.

    Attributes:
        dataset: What the corpus is called.
        groups: P and A.
        best: The strongest metric of each quality; columns as `BEST`.
        correlations: Columns as `CORRELATIONS`.
        accuracies: Columns as `ACCURACIES`.
        differences: Columns as `DIFFERENCES`.
        increments: Columns as `INCREMENTS`.
        matrices: Metrics with each other, one a level.
        units: By level: how many units, clusters, qualities, and what the clusters are.
        references: Agents that were left out, as people wrote their words.
        notes: What a reader should know.
        cards: The metrics' cards by name.
    """

    dataset: str
    groups: Groups
    best: pl.DataFrame
    correlations: pl.DataFrame
    accuracies: pl.DataFrame
    differences: pl.DataFrame
    increments: pl.DataFrame
    matrices: tuple[MetricMatrix, ...]
    units: tuple[Mapping[str, Any], ...]
    references: tuple[str, ...]
    notes: tuple[str, ...]
    cards: Mapping[str, MetricCard]

    def __repr__(self) -> str:
        lead, rows, more = self._shown()
        return "\n".join([lead, text_table(_SHOWN, rows), *([more] if more else [])])

    def _repr_html_(self) -> str:
        lead, rows, more = self._shown()
        return html_table(f"{lead}. {more}".strip(), _SHOWN, rows)

    def _shown(self) -> tuple[str, list[list[str]], str]:
        """One line, and the strongest metric of each quality."""
        lead = (
            f"Validation of {counted(len(self.cards), 'metric')} on {self.dataset}: "
            f"{counted(self.best['quality'].n_unique(), 'quality', 'qualities')}; the strongest "
            "metric of each"
        )
        rows = [
            [
                f"{row['quality']} ({row['level']})",
                row["metric"] or f"none: {row['reason']}",
                number(row["r"], 2),
                interval(row["low"], row["high"], 2),
                p_value(row["p_adjusted"]),
            ]
            for row in self.best.head(_MOST_SHOWN).iter_rows(named=True)
        ]
        rest = self.best.height - len(rows)
        return lead, rows, f"… and {rest:,} more in .best" if rest else ""

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
            "references_left_out": list(self.references),
            "units": [dict(unit) for unit in self.units],
            "best": self.best.to_dicts(),
            "correlations": self.correlations.to_dicts(),
            "accuracies": self.accuracies.to_dicts(),
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
    metrics: str | Sequence[str] | None = None,
    psychological: Sequence[str] | None = None,
    automatic: Sequence[str] | None = None,
    raters: Sequence[str] = ("human",),
    references: bool = False,
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
        references: Whether agents whose words people wrote stay in: human, gold, reference and
            the like, by their names.
        dataset: What the corpus is called.
        resamples: How many times clusters are drawn.
        folds: Of the cross-validation by cluster.
        seed: Random seed; the same seed gives the same numbers.
        confidence: Confidence level of the intervals.
        advance: Called with the number of parts done since the last call.
    """
    ratings = human_ratings(corpus, raters=raters, qualities=qualities)
    ratings, removed = (ratings, ()) if references else without_references(ratings)
    present = available_levels(ratings)
    for level in levels or ():
        if level not in present and not (level == "dialog" and "turn" in present):
            raise DialensError(
                f"Nothing can be validated at the level {level!r}: it was not rated, or there are "
                f"fewer than three. Levels with ratings: {', '.join(present)}."
            )
    asked, of_dialogues = (levels, []) if levels else _levels(present, scores)
    scored, left_out = _with_values(scores, _scored(scores, metrics))
    cards = {name: scores.cards[name] for name in scored}
    groups = partition(cards, psychological=psychological, automatic=automatic)
    name = dataset or _name(corpus)
    baselines = [name for name, card in cards.items() if card.is_baseline]
    tables: dict[str, list[dict[str, Any]]] = {
        name: [] for name in ("correlations", "accuracies", "differences", "increments")
    }
    held_out: dict[tuple[str, str], float | None] = {}
    counts: dict[tuple[str, str], int] = {}
    matrices: list[MetricMatrix] = []
    units: list[dict[str, Any]] = []
    for level in asked:
        rated = only(rated_units(ratings, corpus, scores, level), scored)
        rng = np.random.default_rng([seed, len(units)])
        draws = ClusterDraws.of(rated.clusters, resamples, rng)
        tables["correlations"] += correlation_rows(rated, draws, groups, confidence, seed)
        advance(1)
        tables["accuracies"] += accuracy_rows(rated, draws, cards, confidence, seed)
        tables["differences"] += difference_rows(rated, draws, groups, confidence)
        advance(1)
        tables["increments"] += increment_rows(rated, groups, name, folds, seed)
        held_out |= elsewhere(rated, baselines, seed)
        matrices += _matrices(rated, groups)
        counts |= {(level, q): int(one.count.sum()) for q, one in rated.ratings.items()}
        units.append(_facts(rated))
        advance(1)
    correlations = pl.DataFrame(tables["correlations"], schema=CORRELATIONS)
    correlations = corrected_correlations(correlations)
    return Validation(
        name,
        groups,
        pl.DataFrame(best_rows(correlations, baselines, held_out, counts), schema=BEST),
        correlations,
        pl.DataFrame(tables["accuracies"], schema=ACCURACIES),
        corrected(pl.DataFrame(tables["differences"], schema=DIFFERENCES)),
        corrected_increments(pl.DataFrame(tables["increments"], schema=INCREMENTS)),
        tuple(matrices),
        tuple(units),
        removed,
        (
            *_left_out(removed),
            *of_dialogues,
            *_too_good(correlations),
            *_notes(units),
            *left_out,
        ),
        scores.cards,
    )


def _levels(present: list[str], scores: Scores) -> tuple[list[str], list[str]]:
    """The levels to validate, and a note where scores of dialogues meet ratings of turns."""
    if "turn" not in present or "dialog" in present:
        return present, []
    of_turns = scores.table.filter(pl.col("level") == "turn", pl.col("value").is_not_null())
    scored = set(of_turns.select(pl.col("metric").unique()).collect(engine="streaming")["metric"])
    if not scored:
        levels = ["dialog" if level == "turn" else level for level in present]
        return levels, [
            "Dialogues were scored and turns rated: scores are held against the mean ratings of "
            "each dialogue’s turns. For turns, add a column turn to the scores."
        ]
    whole = [n for n, card in scores.cards.items() if is_own(card) and n not in scored]
    if not whole:
        return present, []
    return present, [
        f"{listed(whole)} {'is' if len(whole) == 1 else 'are'} of dialogues and not held against "
        "ratings of turns: add a column turn, or compare dialogues with --level dialog."
    ]


def _facts(rated: RatedUnits) -> dict[str, Any]:
    return {
        "level": rated.level,
        "units": rated.frame.height,
        "clusters": len(np.unique(rated.clusters)),
        "clustered_by": rated.clustered_by,
        "agents": None if rated.agents is None else len(np.unique(rated.agents)),
        "qualities": list(rated.ratings),
        "ratings": int(sum(one.count.sum() for one in rated.ratings.values())),
    }


def _too_good(correlations: pl.DataFrame) -> list[str]:
    """Metrics that repeat a judgement, which is more likely a mistake than a discovery."""
    suspicious = correlations.filter(
        pl.col("headline"), pl.col("n") >= _FEWEST_SUSPICIOUS, pl.col("pearson").abs() >= _TOO_GOOD
    )
    return [
        f"{row['metric']} goes with {row['quality']} perfectly (r = {number(row['pearson'], 2)}, "
        f"{counted(row['n'], _UNITS[row['level']])}), which is suspicious: are these the same "
        "numbers as the ratings?"
        for row in suspicious.iter_rows(named=True)
    ]


def _left_out(references: Sequence[str]) -> list[str]:
    if not references:
        return []
    return [
        f"Left out as references, not systems: {listed(list(references))}. --references brings "
        "them back."
    ]


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


def _scored(scores: Scores, metrics: str | Sequence[str] | None) -> list[str]:
    if metrics is None:
        return scores.names
    metrics = [metrics] if isinstance(metrics, str) else metrics
    chosen = partition(scores.cards, psychological=metrics, automatic=[]).psychological
    return [name for name in scores.names if name in chosen]


def _name(corpus: Corpus) -> str:
    source = str(corpus.manifest.get("source", {}).get("name", "")) or "corpus"
    return source.split(".")[0]


def only(rated: RatedUnits, scored: Sequence[str]) -> RatedUnits:
    kept = [number for number, name in enumerate(rated.metrics) if name in scored]
    return replace(
        rated,
        metrics=tuple(rated.metrics[number] for number in kept),
        values=rated.values[:, kept],
    )


def _matrices(rated: RatedUnits, groups: Groups) -> list[MetricMatrix]:
    """Of the two groups and of all metrics; a handful of agents has too many by chance."""
    if rated.frame.height < _FEWEST_FOR_MATRIX:
        return []
    chosen = only(rated, groups.both)
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
            rated = counted(row["units"], f"rated {_UNITS[row['level']]}")
            notes.append(
                f"The {rated} come from only {row['clusters']} {row['clustered_by']}: intervals "
                "are rough."
            )
    return notes
