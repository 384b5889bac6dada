"""Metrics: one module a family, one registry, one engine that scores every level in one pass.

May import `models`, `text` and `corpus`; `stats` and `report` build on what it gives.
"""

from dialens.metrics._family import (
    Family,
    NotReadyError,
    Output,
    PoolScorer,
    Scorer,
    ScorerContext,
    Unit,
)
from dialens.metrics._family_cards import cards_of
from dialens.metrics._family_features import family_feature
from dialens.metrics._model_choice import ModelChoice
from dialens.metrics._scorers import ScorerSet
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
from dialens.metrics.model_emotion import LABELS as EMOTION_LABELS
from dialens.metrics.model_forecast import Forecast, forecast
from dialens.metrics.registry import metrics, select
from dialens.metrics.scores import (
    SCORES,
    ScoredMetric,
    Scores,
    make_plan,
    score,
    score_into,
    state_of,
)
from dialens.metrics.state import State, Values

__all__ = [
    "EMOTION_LABELS",
    "SCORES",
    "Definition",
    "DistinctNgrams",
    "Family",
    "Feature",
    "Forecast",
    "Metric",
    "MetricCard",
    "ModelChoice",
    "NotReadyError",
    "Output",
    "PoolScorer",
    "Resources",
    "ScoredMetric",
    "Scorer",
    "ScorerContext",
    "ScorerSet",
    "Scores",
    "Spread",
    "State",
    "TurnBatch",
    "TurnValue",
    "Unit",
    "Values",
    "WordCount",
    "cards_of",
    "family_feature",
    "forecast",
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
