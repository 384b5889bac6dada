"""dialens looks at conversational agents through a human lens."""

from dialens.corpus import Corpus, read
from dialens.errors import DialensError
from dialens.metrics import Resources, Scores, score
from dialens.stats import (
    compare,
    fit_mixed,
    intervals,
    load_ratings,
    measure_agreement,
    power_curve,
    validate,
)

__version__ = "0.1.0"

__all__ = [
    "Corpus",
    "DialensError",
    "Resources",
    "Scores",
    "__version__",
    "compare",
    "fit_mixed",
    "intervals",
    "load_ratings",
    "measure_agreement",
    "power_curve",
    "read",
    "score",
    "validate",
]
