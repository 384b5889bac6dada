from ._card import ModelCard, Task, read_card
from ._catalogue import Catalogue, CatalogueEntry, Figure, FileCheck, catalogue, verify
from ._emotions import POSITIVE_EMOTIONS
from ._engagement import (
    CONTEXT_TURNS,
    FORMULA,
    TASK,
    EngagementScorer,
    averaged,
    background_pairs,
    check_chances,
    context,
    largest,
    margins,
    positive_label,
    sigmoid,
)
from ._huggingface import LOGITS, TorchModel, quietly
from ._inputs import TextInput, make_plain
from ._likelihood import LanguageModel
from ._runtime import Model, Precision, activated, length_sorted
from ._store import SHIPPED, Listed, list_models, load
from ._tokenizer_files import WANTED, has_tokenizer, lacking_vocabulary, needs_sentencepiece

__all__ = [
    "CONTEXT_TURNS",
    "FORMULA",
    "LOGITS",
    "POSITIVE_EMOTIONS",
    "SHIPPED",
    "TASK",
    "WANTED",
    "Catalogue",
    "CatalogueEntry",
    "EngagementScorer",
    "Figure",
    "FileCheck",
    "LanguageModel",
    "Listed",
    "Model",
    "ModelCard",
    "Precision",
    "Task",
    "TextInput",
    "TorchModel",
    "activated",
    "averaged",
    "background_pairs",
    "catalogue",
    "check_chances",
    "context",
    "has_tokenizer",
    "lacking_vocabulary",
    "largest",
    "length_sorted",
    "list_models",
    "load",
    "make_plain",
    "margins",
    "needs_sentencepiece",
    "positive_label",
    "quietly",
    "read_card",
    "sigmoid",
    "verify",
]
