from ._encoder import Encoder, load_encoder, save_encoder
from ._export import export
from ._fit import fit, predict
from ._loop import Progress, Schedule, best_device, cosine_decay, train
from ._negatives import ALL_RULES, GENERIC, PAPER_RULES, chat_style, common_replies, opening, spoil
from ._tokens import TokenTable, tokenise

__all__ = [
    "ALL_RULES",
    "GENERIC",
    "PAPER_RULES",
    "Encoder",
    "Progress",
    "Schedule",
    "TokenTable",
    "best_device",
    "chat_style",
    "common_replies",
    "cosine_decay",
    "export",
    "fit",
    "load_encoder",
    "opening",
    "predict",
    "save_encoder",
    "spoil",
    "tokenise",
    "train",
]
