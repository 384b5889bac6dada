from ._ablation import ABLATION_COLUMNS, AGGREGATE, WORDS, Ablation, ablate
from ._evaluation import (
    RatedReplies,
    engagement_scores,
    open_scorer,
    reply_backgrounds,
    reply_pairs,
    turns_read,
)
from ._exporting import CARD, TRAINING, export_model
from ._labelled import PARTS, POST_COLUMNS, POSTS, TRAIN, VALIDATION, read_parts, read_posts
from ._negatives import RANDOM, Recipe, count_made, mix_negatives
from ._training import (
    TrainingData,
    TrainingPlan,
    best_seed,
    check_encoder,
    depends_on,
    require_training,
    summarise,
    train_seeds,
)

__all__ = [
    "ABLATION_COLUMNS",
    "AGGREGATE",
    "CARD",
    "PARTS",
    "POSTS",
    "POST_COLUMNS",
    "RANDOM",
    "TRAIN",
    "TRAINING",
    "VALIDATION",
    "WORDS",
    "Ablation",
    "RatedReplies",
    "Recipe",
    "TrainingData",
    "TrainingPlan",
    "ablate",
    "best_seed",
    "check_encoder",
    "count_made",
    "depends_on",
    "engagement_scores",
    "export_model",
    "mix_negatives",
    "open_scorer",
    "read_parts",
    "read_posts",
    "reply_backgrounds",
    "reply_pairs",
    "require_training",
    "summarise",
    "train_seeds",
    "turns_read",
]
