"""Small models that ship with the package, and the runtime that runs them on ONNX Runtime.

``metrics`` and everything above may import this room; it imports ``text`` and ``corpus`` at most.
Training lives in :mod:`dialens.models.training` and needs the extra ``train``.
"""

from dialens.models.card import ModelCard, Task, read_card
from dialens.models.inputs import TextInput
from dialens.models.runtime import Model, Precision
from dialens.models.store import Listed, list_models, load, verify

__all__ = [
    "Listed",
    "Model",
    "ModelCard",
    "Precision",
    "Task",
    "TextInput",
    "list_models",
    "load",
    "read_card",
    "verify",
]
