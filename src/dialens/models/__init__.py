"""Small models that ship with the package, and the runtime that runs them on ONNX Runtime.

``metrics`` and everything above may import this room; it imports ``text`` and ``corpus`` at most.
Training lives in :mod:`dialens.models.training` and needs the extra ``train``. Trait models and
topics have modules of their own: :mod:`dialens.models.traits`, :mod:`dialens.models.topics`.
"""

from dialens.models.card import ModelCard, Task, read_card
from dialens.models.catalogue import Catalogue, CatalogueEntry, FileCheck, catalogue, verify
from dialens.models.inputs import TextInput
from dialens.models.runtime import Model, Precision
from dialens.models.store import Listed, list_models, load

__all__ = [
    "Catalogue",
    "CatalogueEntry",
    "FileCheck",
    "Listed",
    "Model",
    "ModelCard",
    "Precision",
    "Task",
    "TextInput",
    "catalogue",
    "list_models",
    "load",
    "read_card",
    "verify",
]
