from ._ingest import Ingested, ingest
from ._ingest_plan import IngestPlan, plan_ingest
from ._label import Labelled, Models, label, planned_steps
from ._label_options import EngineOptions, LabelOptions, WEIGHTS, available_threads, read_memory, read_subreddits, read_weights
from ._label_work import open_work
from ._shard_scoring import emotion_scorer, toxicity_scorer

__all__ = [
    "EngineOptions",
    "IngestPlan",
    "Ingested",
    "LabelOptions",
    "Labelled",
    "Models",
    "WEIGHTS",
    "available_threads",
    "emotion_scorer",
    "ingest",
    "label",
    "open_work",
    "plan_ingest",
    "planned_steps",
    "read_memory",
    "read_subreddits",
    "read_weights",
    "toxicity_scorer",
]
