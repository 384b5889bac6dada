from ._fitting import TraitFit, fit
from ._model import MODEL_FILE, TraitModel, load, save, shipped, standardise, tfidf
from ._report import Correlation, TraitReport
from ._table import read_labelled

__all__ = [
    "MODEL_FILE",
    "Correlation",
    "TraitFit",
    "TraitModel",
    "TraitReport",
    "fit",
    "load",
    "read_labelled",
    "save",
    "shipped",
    "standardise",
    "tfidf",
]
