from ._batch import TurnBatch
from ._batch_sums import BatchSums
from ._card import Definition, Metric, MetricCard, Resources, in_sentence, metric, turn_mean
from ._engine import BatchScorer, ScoredBatch, merged_parts, open_scorers, score_parts
from ._family import Family, NotReadyError, Output, PoolScorer, Scorer, ScorerContext, Unit
from ._family_cards import GROUP, cards_of
from ._family_features import family_feature
from ._features import Feature, Merger, Scratch, Spread, TurnValue, WordCount
from ._forecast import Forecast, forecast
from ._given import GIVEN, NOT_THERE, given_metric
from ._groups import Groups
from ._headlines import headline_metrics
from ._language import OtherLanguage, english_only, fit_to_language
from ._model_choice import SIZES, TASKS, ModelChoice
from ._ngrams import DistinctNgrams
from ._partial import partial_note
from ._parts import Part, ScoringPlan
from ._placing import (
    PLACES,
    PlaceAmong,
    SizedValues,
    dialog_sizes,
    place_agents,
    place_values,
    turned_by_length,
    write_places,
)
from ._reference import PEOPLE, REFERENCE, SYSTEMS, References, bands_of, reference_values
from ._registry import metrics, named, select
from ._result_cache import ResultCache, default_folder
from ._score_tables import SCORES, long, state_of
from ._score_text import TextScore, score_text
from ._scored_metric import LAYOUT, ScoredMetric
from ._scorers import ScorerSet, check_names
from ._scores import Scores
from ._scoring import BatchReading, BatchSource, make_plan, score, score_into
from ._state import State, Values
from .families import LABELS

__all__ = [
    "GIVEN",
    "GROUP",
    "LABELS",
    "LAYOUT",
    "NOT_THERE",
    "PEOPLE",
    "PLACES",
    "REFERENCE",
    "SCORES",
    "SIZES",
    "SYSTEMS",
    "TASKS",
    "BatchReading",
    "BatchScorer",
    "BatchSource",
    "BatchSums",
    "Definition",
    "DistinctNgrams",
    "Family",
    "Feature",
    "Forecast",
    "Groups",
    "Merger",
    "Metric",
    "MetricCard",
    "ModelChoice",
    "NotReadyError",
    "OtherLanguage",
    "Output",
    "Part",
    "PlaceAmong",
    "PoolScorer",
    "References",
    "Resources",
    "ResultCache",
    "ScoredBatch",
    "ScoredMetric",
    "Scorer",
    "ScorerContext",
    "ScorerSet",
    "Scores",
    "ScoringPlan",
    "Scratch",
    "SizedValues",
    "Spread",
    "State",
    "TextScore",
    "TurnBatch",
    "TurnValue",
    "Unit",
    "Values",
    "WordCount",
    "bands_of",
    "cards_of",
    "check_names",
    "default_folder",
    "dialog_sizes",
    "english_only",
    "family_feature",
    "fit_to_language",
    "forecast",
    "given_metric",
    "headline_metrics",
    "in_sentence",
    "long",
    "make_plan",
    "merged_parts",
    "metric",
    "metrics",
    "named",
    "open_scorers",
    "partial_note",
    "place_agents",
    "place_values",
    "reference_values",
    "score",
    "score_into",
    "score_parts",
    "score_text",
    "select",
    "state_of",
    "turn_mean",
    "turned_by_length",
    "write_places",
]
