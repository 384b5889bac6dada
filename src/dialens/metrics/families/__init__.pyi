from ._model_emotion import LABELS

__all__ = [
    "LABELS",
]
