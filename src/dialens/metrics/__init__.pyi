from ._batch import TurnBatch
from ._cache import ResultCache, default_folder
from ._card import (
    Definition,
    Metric,
    MetricCard,
    Resources,
    in_sentence,
    metric,
    turn_mean,
    with_models,
)
from ._cards import GROUP
from ._family import Family, Workshop
from ._features import DistinctNgrams, Feature, Spread, TurnValue, WordCount, lexicon_feature
from ._model_forecast import Forecast, forecast
from ._model_set import ModelSet
from ._registry import metrics, select
from ._scorers import ScorerSet, check_names
from ._scores import SCORES, ScoredMetric, Scores, make_plan, score, score_into, state_of
from ._scoring import Plan
from ._state import State, Values
from .families import LABELS

__all__ = [
    "GROUP",
    "LABELS",
    "SCORES",
    "Definition",
    "DistinctNgrams",
    "Family",
    "Feature",
    "Forecast",
    "Metric",
    "MetricCard",
    "ModelSet",
    "Plan",
    "Resources",
    "ResultCache",
    "ScoredMetric",
    "ScorerSet",
    "Scores",
    "Spread",
    "State",
    "TurnBatch",
    "TurnValue",
    "Values",
    "WordCount",
    "Workshop",
    "check_names",
    "default_folder",
    "forecast",
    "in_sentence",
    "lexicon_feature",
    "make_plan",
    "metric",
    "metrics",
    "score",
    "score_into",
    "select",
    "state_of",
    "turn_mean",
    "with_models",
]
