from . import agents as agents
from . import analysis as analysis
from . import corpus as corpus
from . import engagement as engagement
from . import metrics as metrics
from . import models as models
from . import report as report
from . import statistics as statistics
from . import studies as studies
from . import text as text
from .analysis import compare, gate, intervals, validate
from .base import DialensError
from .corpus import Corpus, read
from .metrics import Resources, Scores, score, score_text
from .statistics import fit_mixed, load_ratings, measure_agreement, power_curve

__version__: str

__all__ = [
    "Corpus",
    "DialensError",
    "Resources",
    "Scores",
    "__version__",
    "compare",
    "fit_mixed",
    "gate",
    "intervals",
    "load_ratings",
    "measure_agreement",
    "power_curve",
    "read",
    "score",
    "score_text",
    "validate",
]
