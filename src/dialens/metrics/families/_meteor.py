"""METEOR as nltk computes it: words aligned by form, by stem, and where it can by synonym.

Words, stems and synonyms are found once for each distinct text or word. Synonyms come from
WordNet, which nltk keeps apart from its package: without it words match by form and stem alone, as
the signature says.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from dialens.base import DialensError
from dialens.metrics._family import Family, NotReadyError, Output, Scorer, ScorerContext, Unit
from dialens.metrics._state import Floats
from dialens.metrics.families._overlap import Pairs
from dialens.metrics.families._weights import lacking_packages

_ALPHA, _BETA, _GAMMA = 0.9, 3.0, 0.5
_SYNONYMS = ("auto", "yes", "no")


class _Meteor:
    """Aligns replies with references; remembers every word's stem and synonyms."""

    def __init__(self, wordnet: Any | None) -> None:
        from importlib.metadata import version

        from nltk.stem.porter import PorterStemmer
        from nltk.tokenize.destructive import NLTKWordTokenizer

        self._tokenizer = NLTKWordTokenizer()
        self._stemmer = PorterStemmer()
        self._wordnet = wordnet
        self._numbers: dict[str, int] = {}
        self._stems: dict[int, int] = {}
        self._synonyms: dict[int, frozenset[int]] = {}
        self._words: list[str] = []
        matched = "exact+stem" if wordnet is None else "exact+stem+wordnet"
        self.signature = f"nltk,version:{version('nltk')},match:{matched},tok:nltk-word"

    def prepare(self, references: Iterable[str]) -> None:
        """Nothing to learn."""

    def score(
        self, units: Sequence[Unit], advance: Callable[[int], None] = lambda _: None
    ) -> Floats:
        """The best alignment with any of the references."""
        pairs = Pairs.of(units)
        texts = [self._read(text) for text in pairs.texts]
        scores = [
            self._aligned(texts[a], texts[b])
            for a, b in zip(
                pairs.response[pairs.owner].tolist(), pairs.reference.tolist(), strict=True
            )
        ]
        advance(len(units))
        return pairs.best(np.array(scores)[:, None])

    def _read(self, text: str) -> list[int]:
        return [self._number(word.lower()) for word in self._tokenizer.tokenize(text)]

    def _number(self, word: str) -> int:
        number = self._numbers.get(word)
        if number is None:
            number = self._numbers[word] = len(self._words)
            self._words.append(word)
        return number

    def _stem(self, word: int) -> int:
        stem = self._stems.get(word)
        if stem is None:
            stem = self._stems[word] = self._number(self._stemmer.stem(self._words[word]))
        return stem

    def _alike(self, word: int) -> frozenset[int]:
        """The word and its synonyms of one word each."""
        if word not in self._synonyms:
            synonyms = {word}
            if self._wordnet is not None:
                for synset in self._wordnet.synsets(self._words[word]):
                    names = (lemma.name() for lemma in synset.lemmas())
                    synonyms |= {self._number(name) for name in names if "_" not in name}
            self._synonyms[word] = frozenset(synonyms)
        return self._synonyms[word]

    def _aligned(self, reply: list[int], reference: list[int]) -> float:
        """Precision, recall and how many chunks it takes, in one number (Lavie & Agarwal 2007).

        Each pass goes from the last word to the first and takes the last free match, as nltk does.
        """
        matches: list[tuple[int, int]] = []
        left, right = list(enumerate(reply)), list(enumerate(reference))
        left, right = _matched(left, right, matches)
        if left and right:
            left = [(place, self._stem(word)) for place, word in left]
            right = [(place, self._stem(word)) for place, word in right]
            left, right = _matched(left, right, matches)
        if left and right and self._wordnet is not None:
            self._match_synonyms(left, right, matches)
        if not matches:
            return 0.0
        matches.sort()
        count = len(matches)
        precision, recall = count / len(reply), count / len(reference)
        mean = precision * recall / (_ALPHA * precision + (1 - _ALPHA) * recall)
        chunks = 1 + sum(b[0] != a[0] + 1 or b[1] != a[1] + 1 for a, b in pairwise(matches))
        penalty: float = _GAMMA * (chunks / count) ** _BETA
        return (1 - penalty) * mean

    def _match_synonyms(
        self,
        left: list[tuple[int, int]],
        right: list[tuple[int, int]],
        matches: list[tuple[int, int]],
    ) -> None:
        free = list(right)
        for place, word in reversed(left):
            alike = self._alike(word)
            for at in range(len(free) - 1, -1, -1):
                if free[at][1] in alike:
                    matches.append((place, free.pop(at)[0]))
                    break


def _matched(
    left: list[tuple[int, int]], right: list[tuple[int, int]], matches: list[tuple[int, int]]
) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """Match equal words, add their places to `matches`, and give what is left of both."""
    waiting: dict[int, list[int]] = {}
    for place, word in right:
        waiting.setdefault(word, []).append(place)
    rest = []
    taken = set()
    for place, word in reversed(left):
        places = waiting.get(word)
        if places:
            other = places.pop()
            taken.add(other)
            matches.append((place, other))
        else:
            rest.append((place, word))
    rest.reverse()
    return rest, [pair for pair in right if pair[0] not in taken]


def _open(context: ScorerContext) -> Scorer:
    wanted = context.options.get("meteor", {}).get("synonyms", "auto")
    if wanted not in _SYNONYMS:
        raise DialensError(
            f"--metric-option meteor.synonyms takes {', '.join(_SYNONYMS)}; seen: {wanted!r}."
        )
    return _Meteor(None if wanted == "no" else _wordnet(needed=wanted == "yes"))


def _wordnet(*, needed: bool) -> Any | None:
    """The WordNet that the user's nltk knows, or none."""
    from nltk.corpus import wordnet

    try:
        wordnet.ensure_loaded()
    except LookupError as error:
        if needed:
            raise NotReadyError(
                "meteor.synonyms=yes needs WordNet in a folder that nltk looks into "
                "(python -m nltk.downloader wordnet, or NLTK_DATA=FOLDER)"
            ) from error
        return None
    return wordnet


FAMILY = Family(
    name="meteor",
    label="METEOR",
    language="en",
    outputs=(
        Output(
            "meteor",
            "Words aligned with a reference by form, stem and, with WordNet, synonym",
            (0.0, 1.0),
            label="METEOR",
            headline=112,
        ),
    ),
    scores_silence=True,
    version=2,  # 1 left out replies that say nothing
    open=_open,
    ready=lambda _: lacking_packages("nltk", extra="overlap"),
    needs=("reference",),
    options={"synonyms": "yes or no, to insist on WordNet or do without (auto)"},
    citation="Banerjee & Lavie 2005, W05-0909; Lavie & Agarwal 2007, W07-0734",
    reads=("reference",),
    groups=("overlap",),
    cached=False,
)


PLACE = 110
METRICS = (FAMILY,)
