from ._ablation import ABLATION_COLUMNS, AGGREGATE, Ablation, WORDS, ablate
from ._evaluation import RatedReplies, engagement_scores, open_scorer, reply_backgrounds, reply_pairs, turns_read
from ._exporting import CARD, TRAINING, export_model
from ._labelled import PARTS, POSTS, POST_COLUMNS, TRAIN, VALIDATION, read_parts, read_posts
from ._negatives import RANDOM, Recipe, count_made, mix_negatives
from ._training import TrainingData, TrainingPlan, best_seed, check_encoder, depends_on, require_training, summarise, train_seeds

__all__ = [
    "ABLATION_COLUMNS",
    "AGGREGATE",
    "Ablation",
    "CARD",
    "PARTS",
    "POSTS",
    "POST_COLUMNS",
    "RANDOM",
    "RatedReplies",
    "Recipe",
    "TRAIN",
    "TRAINING",
    "TrainingData",
    "TrainingPlan",
    "VALIDATION",
    "WORDS",
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
