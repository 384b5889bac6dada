from ._batches import padded, shuffled_batches, token_batches
from ._card import ModelCard, Task, read_card
from ._catalogue import Catalogue, CatalogueEntry, FileCheck, catalogue, verify
from ._emotions import POSITIVE_EMOTIONS
from ._empathy import EMPATHY, EmpathyInputs, EmpathyScorer, WARM
from ._engagement import CONTEXT_TURNS, EngagementScorer, FORMULA, TASK, averaged, background_pairs, check_chances, content_words, context, largest, margins, positive_label, sigmoid
from ._folders import FolderError, PICKLED_WEIGHTS, SAFE_WEIGHTS, TOKENIZER_FILES, check_tokenizer, has_tokenizer, load_gguf, load_model, load_tokenizer
from ._huggingface import LOGITS, TorchModel
from ._inputs import TextInput, make_plain, special_tokens
from ._likelihood import LanguageModel
from ._places import GET_LARGER, PACKAGED, has_larger_models, is_shipped, shipped_folder, shipped_places
from ._runtime import Model, Precision, activated, length_sorted
from ._store import Listed, list_models, load

__all__ = [
    "CONTEXT_TURNS",
    "Catalogue",
    "CatalogueEntry",
    "EMPATHY",
    "EmpathyInputs",
    "EmpathyScorer",
    "EngagementScorer",
    "FORMULA",
    "FileCheck",
    "FolderError",
    "GET_LARGER",
    "LOGITS",
    "LanguageModel",
    "Listed",
    "Model",
    "ModelCard",
    "PACKAGED",
    "PICKLED_WEIGHTS",
    "POSITIVE_EMOTIONS",
    "Precision",
    "SAFE_WEIGHTS",
    "TASK",
    "TOKENIZER_FILES",
    "Task",
    "TextInput",
    "TorchModel",
    "WARM",
    "activated",
    "averaged",
    "background_pairs",
    "catalogue",
    "check_chances",
    "check_tokenizer",
    "content_words",
    "context",
    "has_larger_models",
    "has_tokenizer",
    "is_shipped",
    "largest",
    "length_sorted",
    "list_models",
    "load",
    "load_gguf",
    "load_model",
    "load_tokenizer",
    "make_plain",
    "margins",
    "padded",
    "positive_label",
    "read_card",
    "shipped_folder",
    "shipped_places",
    "shuffled_batches",
    "sigmoid",
    "special_tokens",
    "token_batches",
    "verify",
]
