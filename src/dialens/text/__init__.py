"""Text into countable features: tokens, words as integers, lexicons, stop words.

Uses only :mod:`dialens.errors`; may be imported by every room above (models, metrics, engagement,
report). Nothing here knows what a conversation is: it takes columns of text and gives columns of
numbers.
"""

from dialens.text.defaults import (
    FUNCTION_WORD_CATEGORIES,
    card,
    emotion_lexicon,
    function_words,
    stop_words,
)
from dialens.text.lexicon import Lexicon
from dialens.text.lexicon_files import (
    PLUTCHIK,
    as_emotion_lexicon,
    read_emotion_lexicon,
    read_lexicon,
)
from dialens.text.tokens import (
    PATTERN,
    VERSION,
    is_word,
    normalise,
    spans,
    spans_of_texts,
    tokenise,
    tokenise_texts,
)
from dialens.text.vocabulary import Vocabulary
from dialens.text.word_features import WordTable

__all__ = [
    "FUNCTION_WORD_CATEGORIES",
    "PATTERN",
    "PLUTCHIK",
    "VERSION",
    "Lexicon",
    "Vocabulary",
    "WordTable",
    "as_emotion_lexicon",
    "card",
    "emotion_lexicon",
    "function_words",
    "is_word",
    "normalise",
    "read_emotion_lexicon",
    "read_lexicon",
    "spans",
    "spans_of_texts",
    "stop_words",
    "tokenise",
    "tokenise_texts",
]
