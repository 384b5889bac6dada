"""dialens looks at conversational agents through a human lens."""

from dialens.corpus import Corpus, read
from dialens.errors import DialensError
from dialens.metrics import Resources, Scores, score
from dialens.stats import compare, intervals

__version__ = "0.1.0"

__all__ = [
    "Corpus",
    "DialensError",
    "Resources",
    "Scores",
    "__version__",
    "compare",
    "intervals",
    "read",
    "score",
]
