"""The words behind a score: which of them were counted, as what, and how they are marked.

The tokens are those of the tokeniser, the weights those of the lexicons that were counted with. The
report writes them into its page for a script to mark; other pages have them marked here.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from dialens.base import DialensError
from dialens.metrics import MetricCard, Resources
from dialens.text import is_word, spans_of_texts

LENSES = ("emotion", "style", "content", "question")
_OF_FUNCTION_WORDS = 0.9
_WORD, _CONTENT, _QUESTION = 1, 2, 4
_COLOURS = 9
_STYLE_DEPTH, _CONTENT_DEPTH, _QUESTION_DEPTH = 26, 22, 45


@dataclass(frozen=True)
class Mark:
    """A word of a text that is marked.

    Attributes:
        start: Where it begins, in characters.
        end: Where it ends.
        colour: Number of the colour, below nine.
        depth: How strong the colour is, in percent.
        title: What the word counts as.
        tag: The same in a word or two.
    """

    start: int
    end: int
    colour: int
    depth: int
    title: str
    tag: str


def check_resources(
    signatures: Mapping[str, str],
    resources: Resources,
    parts: Iterable[str] = ("lex", "prompt", "seed"),
) -> None:
    """Refuse other lexicons, another prompt or seed than the signatures name.

    Args:
        signatures: Of the metrics, by name.
        resources: Those at hand.
        parts: Of a signature that count.

    Raises:
        DialensError: They are others.
    """
    lexicons = (resources.emotion, resources.style, resources.stop)
    known = {
        "lex": {f"{lexicon.name}@{lexicon.sha256[:8]}" for lexicon in lexicons},
        "prompt": {resources.prompt},
        "seed": {str(resources.seed)},
    }
    allowed = {part: known[part] for part in parts}
    for name, signature in signatures.items():
        for part in signature.split("|")[2:]:
            key, _, value = part.partition(":")
            if value not in allowed.get(key, {value}):
                raise DialensError(
                    f"The report was given other resources than the scores: {name} was scored as "
                    f"{signature}, and now has {key}:{' or '.join(sorted(allowed[key]))}. "
                    "Give the same lexicons, prompt and seed, or score again."
                )


def marked_from(resources: Resources) -> float:
    """The weight from which an emotion word is marked: what function words hardly reach.

    A lexicon learned from text gives small weights to nearly every word, "the" included. What nine
    of ten function words stay below says nothing of an emotion, whatever the word; such words still
    count towards the scores. Where function words weigh as much as any, nothing is left out.

    Examples:
        >>> weights = Resources().emotion.weights(pl.Series(["the", "monday", "afraid"]))
        >>> (weights.max(axis=1) >= marked_from(Resources())).tolist()
        [False, False, True]
    """
    function_words = resources.stop.entries["term"].unique().sort()
    weights = np.abs(resources.emotion.weights(function_words)).max(axis=1, initial=0.0)
    weighing = weights[weights > 0]
    if not len(weighing):
        return 0.0
    bound = float(np.quantile(weighing, _OF_FUNCTION_WORDS))
    heaviest = _heaviest(resources)
    return bound if bound < heaviest else 0.0


def _heaviest(resources: Resources) -> float:
    return float(resources.emotion.entries["weight"].abs().max() or 0.0)  # type: ignore[arg-type]


def counts_partner(cards: Iterable[MetricCard]) -> dict[str, bool]:
    """The lenses that some metrics have, and whether the other side's words count for them too."""
    made: dict[str, bool] = {}
    known = list(cards)
    for lens in LENSES:
        members = [card for card in known if card.lens == lens]
        if members:
            made[lens] = any("partner" in card.needs for card in members)
    return made


class CountedWords:
    """The distinct counted words of all texts seen, numbered in order of appearance."""

    def __init__(self, resources: Resources) -> None:
        self._resources = resources
        self._numbers: dict[str, int | None] = {}
        self._rows: list[list[Any]] = []

    def found(
        self, texts: Sequence[str], was_cut: Sequence[bool] = ()
    ) -> list[list[tuple[int, int, int]]]:
        """For each text start, end and number of each counted word, in characters.

        The last token of a text that was cut may be half a word, and is left alone.
        """
        cut = was_cut or [False] * len(texts)
        spans = [
            tokens[:-1] if half else tokens
            for tokens, half in zip(spans_of_texts(texts), cut, strict=True)
        ]
        self._learn([token for tokens in spans for _, _, token in tokens])
        made = []
        for tokens in spans:
            numbered = [(start, end, self._numbers[token]) for start, end, token in tokens]
            made.append([(start, end, n) for start, end, n in numbered if n is not None])
        return made

    def of(self, texts: Sequence[str], was_cut: Sequence[bool]) -> list[list[int]]:
        """For each text start, length and word number of each counted word, one after another.

        Places are in UTF-16 units, as JavaScript counts.
        """
        made = []
        for text, words in zip(texts, self.found(texts, was_cut), strict=True):
            place = _utf16_places(text)
            flat: list[int] = []
            for start, end, number in words:
                flat += [place[start], place[end] - place[start], number]
            made.append(flat)
        return made

    def _learn(self, tokens: Sequence[str]) -> None:
        fresh = [token for token in dict.fromkeys(tokens) if token not in self._numbers]
        if not fresh:
            return
        words = pl.Series("w", fresh, dtype=pl.String)
        about = words.to_frame().select(
            word=is_word("w"), mark=pl.col("w").str.contains("?", literal=True) & ~is_word("w")
        )
        emotion = self._resources.emotion.weights(words)
        style = self._resources.style.weights(words)
        stopped = (self._resources.stop.weights(words) != 0).any(axis=1)
        for token, weights, kinds, is_stop, (word, mark) in zip(
            fresh, emotion, style, stopped.tolist(), about.iter_rows(), strict=True
        ):
            felt = {int(i): round(float(weights[i]), 3) for i in np.flatnonzero(weights)}
            categories = [int(i) for i in np.flatnonzero(kinds)]
            flags = _WORD * word + _CONTENT * (word and not is_stop) + _QUESTION * mark
            if not (felt or categories or flags & (_CONTENT | _QUESTION)):
                self._numbers[token] = None
                continue
            self._numbers[token] = len(self._rows)
            self._rows.append([token, felt, categories, flags])

    def table(self) -> list[list[Any]]:
        """One row a word: the word, its emotions with weights, its kinds of function word, flags.

        Flags: 1 a word, 2 a content word, 4 a question mark.
        """
        return self._rows


class WordMarks:
    """Marks the words that a lens looks at, as the report's script does."""

    def __init__(self, resources: Resources) -> None:
        """Mark with the lexicons of some resources."""
        self.emotions = list(resources.emotion.categories)
        self.styles = [name.replace("_", " ") for name in resources.style.categories]
        self._resources = resources
        self._least = marked_from(resources)
        self._heaviest = max(_heaviest(resources), 1e-9)

    def of(self, texts: Sequence[str], lens: str) -> list[list[Mark]]:
        """The marks of each text, in order.

        Examples:
            >>> marks = WordMarks(Resources()).of(["I am so happy!"], "emotion")[0]
            >>> [("I am so happy!"[mark.start : mark.end], mark.tag) for mark in marks]
            [('happy', 'joy')]
        """
        words = CountedWords(self._resources)
        found = words.found(texts)
        looks = [self._look(row, lens) for row in words.table()]
        return [
            [
                Mark(start, end, *look)
                for start, end, number in places
                if (look := looks[number]) is not None
            ]
            for places in found
        ]

    def _look(self, row: Sequence[Any], lens: str) -> tuple[int, int, str, str] | None:
        token, emotions, styles, flags = row
        if lens == "emotion":
            felt = [(i, weight) for i, weight in emotions.items() if abs(weight) >= self._least]
            if not felt:
                return None
            felt.sort(key=lambda one: -abs(one[1]))
            main, weight = felt[0]
            depth = 8 + 52 * math.sqrt(min(1.0, abs(weight) / self._heaviest))
            title = ", ".join(f"{self.emotions[i]} {one:g}" for i, one in felt)
            return main % _COLOURS, round(depth), f"{token}: {title}", self.emotions[main]
        if lens == "style" and styles:
            title = ", ".join(self.styles[i] for i in styles)
            return styles[0] % _COLOURS, _STYLE_DEPTH, f"{token}: {title}", title
        if lens == "content" and flags & _CONTENT:
            return 5, _CONTENT_DEPTH, f"{token}: content word", ""
        if lens == "question" and flags & _QUESTION:
            return 1, _QUESTION_DEPTH, "question mark", ""
        return None


def _utf16_places(text: str) -> Sequence[int]:
    """The place of each character, and of the end, as JavaScript counts.

    Examples:
        >>> list(_utf16_places("a😀b"))
        [0, 1, 3, 4]
    """
    if text.isascii() or max(text) <= "\uffff":
        return range(len(text) + 1)
    places = [0]
    for character in text:
        places.append(places[-1] + (2 if character > "\uffff" else 1))
    return places
