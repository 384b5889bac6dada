from ._ingest import Ingested, ingest
from ._ingest_plan import IngestPlan, plan_ingest
from ._label import Labelled, Models, label, planned_steps
from ._label_options import (
    WEIGHTS,
    EngineOptions,
    LabelOptions,
    available_threads,
    read_subreddits,
    read_weights,
)
from ._shard_scoring import emotion_scorer, toxicity_scorer
from ._work_folder import REJECTS_FOLDER

__all__ = [
    "REJECTS_FOLDER",
    "WEIGHTS",
    "EngineOptions",
    "IngestPlan",
    "Ingested",
    "LabelOptions",
    "Labelled",
    "Models",
    "available_threads",
    "emotion_scorer",
    "ingest",
    "label",
    "plan_ingest",
    "planned_steps",
    "read_subreddits",
    "read_weights",
    "toxicity_scorer",
]
