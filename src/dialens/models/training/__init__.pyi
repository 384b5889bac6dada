from ._encoder import Encoder, load_encoder, save_encoder
from ._export import export
from ._fit import Plan, best_device, fit, predict
from ._measures import auc, pearson, sigmoid, spearman
from ._negatives import ALL_RULES, GENERIC, PAPER_RULES, common_replies, spoil
from ._tokens import TokenTable, tokenise

__all__ = [
    "ALL_RULES",
    "GENERIC",
    "PAPER_RULES",
    "Encoder",
    "Plan",
    "TokenTable",
    "auc",
    "best_device",
    "common_replies",
    "export",
    "fit",
    "load_encoder",
    "pearson",
    "predict",
    "save_encoder",
    "sigmoid",
    "spearman",
    "spoil",
    "tokenise",
]
