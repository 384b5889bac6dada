from ._catalogue import FAMILIES
from ._model_emotion import LABELS

__all__ = [
    "FAMILIES",
    "LABELS",
]
