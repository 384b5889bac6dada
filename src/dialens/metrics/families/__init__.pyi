from ._catalogue import shipped, unpacked
from ._emotion_classifier import LABELS

__all__ = [
    "LABELS",
    "shipped",
    "unpacked",
]
