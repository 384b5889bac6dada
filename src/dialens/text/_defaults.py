"""The word lists that dialens ships, each with a card: source, licence, hash, limits.

=====================================  =============================================================
``data/emotion_goemotions.tsv``        Plutchik's eight emotions, made from GoEmotions by
                                       ``recipes/emotion_lexicon.py``
``data/function_words.tsv``            nine classes of English function words, written by hand
``data/stop_words.txt``                words that carry grammar rather than content, by hand
=====================================  =============================================================
"""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from importlib.resources import as_file, files
from typing import Any

from dialens.text._lexicon import Lexicon
from dialens.text._lexicon_files import as_emotion_lexicon, read_lexicon

FUNCTION_WORD_CATEGORIES = (
    "personal_pronouns",
    "impersonal_pronouns",
    "articles",
    "conjunctions",
    "prepositions",
    "auxiliary_verbs",
    "adverbs",
    "negations",
    "quantifiers",
)
"""The nine categories of language style matching, in the order of METHODS and of the paper."""


@cache
def emotion_lexicon() -> Lexicon:
    """Return the shipped emotion lexicon, weighted, over Plutchik's eight emotions.

    Examples:
        >>> import polars as pl
        >>> lexicon = emotion_lexicon()
        >>> weights = lexicon.weights(pl.Series(["thanks", "scary"]))
        >>> [lexicon.categories[i] for i in weights.argmax(axis=1)]
        ['trust', 'fear']
    """
    return as_emotion_lexicon(_shipped("emotion_goemotions", "tsv"))


@cache
def function_words() -> Lexicon:
    """Return nine classes of function words; a word may stand in several.

    Examples:
        >>> import polars as pl
        >>> words = function_words()
        >>> row = words.weights(pl.Series(["don't"]))[0]
        >>> [name for name, weight in zip(words.categories, row) if weight]
        ['auxiliary_verbs', 'negations']
    """
    return _shipped("function_words", "tsv").select(FUNCTION_WORD_CATEGORIES)


@cache
def stop_words() -> Lexicon:
    """Return the stop words, a lexicon with the single category ``stop_words``.

    Punctuation is not among them: what counts as content is a *word* (see
    :func:`dialens.text._tokens.is_word`) that is not a stop word.

    Examples:
        >>> import polars as pl
        >>> stop_words().weights(pl.Series(["the", "castle"])).ravel().tolist()
        [1.0, 0.0]
    """
    return _shipped("stop_words", "txt")


def card(stem: str) -> dict[str, Any]:
    """Return the card of a list: ``emotion_goemotions``, ``function_words``, ``stop_words``.

    Examples:
        >>> card("function_words")["licence"]
        'Apache-2.0'
    """
    text = (files("dialens.text") / "data" / f"{stem}.card.json").read_text(encoding="utf-8")
    loaded: dict[str, Any] = json.loads(text)
    return loaded


def _shipped(stem: str, suffix: str) -> Lexicon:
    about = card(stem)
    with as_file(files("dialens.text") / "data" / f"{stem}.{suffix}") as path:
        lexicon = read_lexicon(path, name=about["name"])
    return replace(lexicon, licence=about["licence"], source=about["source"])
