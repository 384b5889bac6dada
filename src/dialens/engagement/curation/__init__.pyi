from ._ingest import Ingested, ingest
from ._ingest_plan import Plan, plan_ingest
from ._label import Labelled, Models, label, plan_labelling
from ._label_options import (
    WEIGHTS,
    EngineOptions,
    LabelOptions,
    available_threads,
    read_memory,
    read_subreddits,
    read_weights,
)
from ._label_work import open_work
from ._neural import emotion_scorer, toxicity_scorer
from ._tables import REJECTS_FOLDER

__all__ = [
    "REJECTS_FOLDER",
    "WEIGHTS",
    "EngineOptions",
    "Ingested",
    "LabelOptions",
    "Labelled",
    "Models",
    "Plan",
    "available_threads",
    "emotion_scorer",
    "ingest",
    "label",
    "open_work",
    "plan_ingest",
    "plan_labelling",
    "read_memory",
    "read_subreddits",
    "read_weights",
    "toxicity_scorer",
]
