from ._model_emotion import LABELS
from ._trait_counts import TraitScorer

__all__ = [
    "LABELS",
    "TraitScorer",
]
