"""What an agent had better not say: blocked words while it writes, toxicity when it has written.

Agents learn from what people write in public, which includes insults. Two guards stand before a
reply. Blocked words are those, among the words an agent has learned from, that the shipped toxicity
model calls toxic by themselves and in friendly sentences as well; they are kept in the agent's
folder, cannot be written, and are looked for again in the finished text. The second guard, on
request, lets the toxicity model read the whole reply. Neither is perfect: what hurts is often said
in harmless words.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Final

import numpy as np

from dialens.agents.neural._subwords import Subwords
from dialens.models import Model, load

if TYPE_CHECKING:
    from dialens.models import TorchModel

WORD: Final = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_FREQUENT: Final = 5
_MOST_WORDS: Final = 20_000
_SUSPECT: Final = 0.5
_TOXIC_WORD: Final = 0.7
_FRIENDLY: Final = (
    "i really like {}, thank you",
    "have you ever read about {}?",
    "my friend is {} and very kind",
)

# Toxicity models take the names of groups and people who are often insulted for insults.
_NO_INSULT: Final = frozenset(
    (
        *("trans", "cis", "gay", "gays", "lesbian", "lesbians", "homosexual", "homosexuals"),
        *("liberals", "leftists", "biden", "trump", "trumps", "satan", "mistress", "steroid"),
        *("impeach", "impeached", "impeachment", "euthanasia", "hoo", "ck", "fud"),
    )
)


def words_of(text: str) -> list[str]:
    """The words of a text, in lower case.

    Examples:
        >>> words_of("Don't SHOUT, please!")
        ["don't", 'shout', 'please']
    """
    return [found.lower() for found in WORD.findall(text)]


def says_blocked(text: str, blocked: frozenset[str]) -> bool:
    """Whether a text has a blocked word."""
    return any(word in blocked for word in words_of(text))


def blocked_spellings(words: Iterable[str], subwords: Subwords) -> tuple[tuple[int, ...], ...]:
    """Blocked words as subwords, inside a sentence."""
    return tuple(tuple(ids) for ids in subwords.ids(list(words)) if ids)


def blocked_words(texts: Iterable[str], *, threshold: float = _TOXIC_WORD) -> list[str]:
    """Words of some texts that the shipped toxicity model calls toxic whatever is around them.

    Args:
        texts: What an agent learns from; words that occur fewer than five times are not looked at.
        threshold: Of the lowest probability over the word alone and in friendly sentences.

    Examples:
        >>> blocked_words(["What a nice cup of tea!"] * 5)
        []
    """
    counted: Counter[str] = Counter()
    for text in texts:
        counted.update(words_of(text))
    often = [word for word, n in counted.most_common(_MOST_WORDS) if n >= _FREQUENT]
    suspects = [
        word
        for word, p in zip(often, toxicity(often), strict=True)
        if p >= _SUSPECT and word not in _NO_INSULT
    ]
    forms = ("{}", *_FRIENDLY)
    sentences = [form.format(word) for word in suspects for form in forms]
    lowest = toxicity(sentences).reshape(len(suspects), len(forms)).min(axis=1)
    return [word for word, p in zip(suspects, lowest, strict=True) if p >= threshold]


def toxicity(texts: Sequence[str]) -> np.ndarray:
    """Probability that each text is toxic, by the shipped model; read at the first use."""
    if not texts:
        return np.zeros(0)
    return np.asarray(_model().predict(list(texts))[:, 0])


@lru_cache(maxsize=1)
def _model() -> Model | TorchModel:
    return load("toxicity")
