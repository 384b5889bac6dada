from ._defaults import FUNCTION_WORD_CATEGORIES, card, emotion_lexicon, function_words, stop_words
from ._language import ENGLISH, MIXED, OTHER, UNCLEAR, languages
from ._lexicon import Lexicon
from ._lexicon_files import PLUTCHIK, as_emotion_lexicon, read_emotion_lexicon, read_lexicon
from ._ngram_keys import LONGEST_NGRAM, NGRAM_BITS, known_ngrams, ngram_keys
from ._tokens import VERSION, is_word, normalise, spans, spans_of_texts, tokenise, tokenise_texts
from ._vocabulary import Vocabulary
from ._word_features import WordTable
from ._word_hashes import word_hashes

__all__ = [
    "ENGLISH",
    "FUNCTION_WORD_CATEGORIES",
    "LONGEST_NGRAM",
    "MIXED",
    "NGRAM_BITS",
    "OTHER",
    "PLUTCHIK",
    "UNCLEAR",
    "VERSION",
    "Lexicon",
    "Vocabulary",
    "WordTable",
    "as_emotion_lexicon",
    "card",
    "emotion_lexicon",
    "function_words",
    "is_word",
    "known_ngrams",
    "languages",
    "ngram_keys",
    "normalise",
    "read_emotion_lexicon",
    "read_lexicon",
    "spans",
    "spans_of_texts",
    "stop_words",
    "tokenise",
    "tokenise_texts",
    "word_hashes",
]
