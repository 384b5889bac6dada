from ._blocks import DenseBlock
from ._fitting import TraitFit, cross_validate, fit
from ._labels import labelled, read_labelled
from ._model import MODEL_FILE, TraitModel, load, mark_of, save, shipped, standardise, tfidf
from ._report import Correlation, TraitReport, correlation

__all__ = [
    "MODEL_FILE",
    "Correlation",
    "DenseBlock",
    "TraitFit",
    "TraitModel",
    "TraitReport",
    "correlation",
    "cross_validate",
    "fit",
    "labelled",
    "load",
    "mark_of",
    "read_labelled",
    "save",
    "shipped",
    "standardise",
    "tfidf",
]
