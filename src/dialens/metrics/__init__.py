"""Metrics: one module a family, one registry, one engine that scores every level in one pass.

May import `models`, `text` and `corpus`; `stats` and `report` build on what it gives.
"""

from dialens.metrics.batch import TurnBatch
from dialens.metrics.card import Definition, Metric, MetricCard, Resources, metric, turn_mean
from dialens.metrics.features import (
    DistinctNgrams,
    Feature,
    Spread,
    TurnValue,
    WordCount,
    lexicon_feature,
)
from dialens.metrics.registry import metrics, select
from dialens.metrics.scores import SCORES, Scores, make_plan, score, score_into, state_of
from dialens.metrics.state import State, Values

__all__ = [
    "SCORES",
    "Definition",
    "DistinctNgrams",
    "Feature",
    "Metric",
    "MetricCard",
    "Resources",
    "Scores",
    "Spread",
    "State",
    "TurnBatch",
    "TurnValue",
    "Values",
    "WordCount",
    "lexicon_feature",
    "make_plan",
    "metric",
    "metrics",
    "score",
    "score_into",
    "select",
    "state_of",
    "turn_mean",
]
