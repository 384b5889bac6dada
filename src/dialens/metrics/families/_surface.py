"""What can be counted without a theory: length, content words, questions, repeated phrases.

Specificity and Question are baselines of EnDex (Xu et al. 2022), distinct-n is by Li et al. 2016.
"""

import hashlib

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dialens.metrics._batch import TurnBatch
from dialens.metrics._card import Definition, MetricCard, Resources, metric, turn_mean
from dialens.metrics._features import WordCount
from dialens.metrics._ngrams import DistinctNgrams
from dialens.metrics._state import Floats, State, Values, ratio
from dialens.text import VERSION, is_word

_ENDEX = "Xu et al. 2022 (EnDex), doi:10.18653/v1/2022.findings-emnlp.359"
_SURFACE = "Words and phrases"
_QUESTION_MARK = "[?？؟]"  # of Latin, Chinese and Japanese, Arabic


_NO_TEXT = "no text"


def _of_said(batch: TurnBatch, values: Floats) -> Floats:
    """Values of turns, missing where nothing was said: an empty turn is no short one."""
    return np.where(batch.says, values, np.nan)


def _words(words: pl.Series) -> Floats:
    return words.to_frame("w").select(is_word("w").cast(pl.Float64)).to_numpy()


def _question_marks(words: pl.Series) -> Floats:
    marks = pl.col("w").str.contains(_QUESTION_MARK) & ~is_word("w")
    return words.to_frame("w").select(marks.cast(pl.Float64)).to_numpy()


WORDS = WordCount("words", _words)
QUESTION_MARKS = WordCount("question marks", _question_marks)


@metric(
    "length",
    meaning="Words in a turn of the agent",
    family="surface",
    range=(0.0, None),
    label="Words a turn",
    higher_reads="writes longer turns",
    family_label=_SURFACE,
    headline=10,
    lens="content",
)
def length(resources: Resources) -> Definition:
    """Tokens that are words and not punctuation."""

    def value(batch: TurnBatch) -> Floats:
        return _of_said(batch, batch.word_sums(WORDS.name)[:, 0])

    return turn_mean("length", value, features=(WORDS,), missing=_NO_TEXT, uses={"tok": VERSION})


@metric(
    "specificity",
    meaning="Words in a turn of the agent that are not stop words",
    family="surface",
    range=(0.0, None),
    citation=_ENDEX,
    licence="stop words written for dialens: Apache-2.0",
    label="Content words",
    higher_reads="uses more content words a turn",
    family_label=_SURFACE,
    headline=8,
    lens="content",
    language="en",
)
def specificity(resources: Resources) -> Definition:
    """Words that carry content, as EnDex counts them."""
    stop = resources.stop
    lexicon = f"{stop.name}@{stop.sha256[:8]}"

    def content(words: pl.Series) -> Floats:
        stopped = (stop.weights(words) != 0).any(axis=1, keepdims=True)
        return np.where(stopped, 0.0, _words(words))

    counted = WordCount("content words", content)

    def value(batch: TurnBatch) -> Floats:
        return _of_said(batch, batch.word_sums(counted.name)[:, 0])

    return turn_mean(
        "specificity",
        value,
        features=(counted,),
        missing=_NO_TEXT,
        uses={"tok": VERSION, "lex": lexicon},
    )


@metric(
    "question",
    meaning="Share of the agent's turns that ask something",
    family="surface",
    range=(0.0, 1.0),
    citation=_ENDEX,
    label="Questions",
    higher_reads="asks in more of its turns",
    family_label=_SURFACE,
    headline=9,
    percent=True,
    lens="question",
)
def question(resources: Resources) -> Definition:
    """1 for a turn with a question mark (one inside an address does not count)."""

    def value(batch: TurnBatch) -> Floats:
        asks = batch.word_sums(QUESTION_MARKS.name)[:, 0] > 0
        return _of_said(batch, asks.astype(np.float64))

    return turn_mean(
        "question", value, features=(QUESTION_MARKS,), missing=_NO_TEXT, uses={"tok": VERSION}
    )


def _distinct(n: int, what: str, headline: int | None) -> MetricCard:
    @metric(
        f"distinct_{n}",
        meaning=f"Different {n}-grams among all {n}-grams of the agent's tokens",
        family="surface",
        range=(0.0, 1.0),
        citation="Li et al. 2016, doi:10.18653/v1/N16-1014",
        label=f"Distinct {what}",
        higher_reads=f"repeats its {what} less",
        family_label=_SURFACE,
        headline=headline,
    )
    def distinct(resources: Resources) -> Definition:
        feature = DistinctNgrams(n)

        def compute(state: State) -> Values:
            different, total = state.own[feature.name].T
            return Values.where(ratio(different, total), too_few_tokens=total == 0)

        return Definition((feature,), compute, {"tok": VERSION})

    return distinct


DISTINCT = (_distinct(1, "words", None), _distinct(2, "word pairs", 11))


@metric(
    "random",
    meaning="A number drawn for each turn: what any metric must beat",
    family="baseline",
    range=(0.0, 1.0),
    citation=_ENDEX,
    label="Random numbers",
    headline=None,
    side="baseline",
)
def random(resources: Resources) -> Definition:
    """Uniform on [0, 1), fixed by seed, dialog and turn, whatever the order of rows."""

    def value(batch: TurnBatch) -> Floats:
        names = batch.turns["dialog"].gather(batch.dialog_starts)
        key = resources.seed.to_bytes(8, "little", signed=True)
        drawn = [hashlib.blake2b(n.encode(), digest_size=8, key=key).digest() for n in names]
        start = np.frombuffer(b"".join(drawn), np.uint64)[batch.dialog_of_turn]
        return _mixed(start + batch.turn_in_dialog.astype(np.uint64) * _STEP)

    return turn_mean("random", value, uses={"seed": str(resources.seed)})


def _mixed(state: NDArray[np.uint64]) -> Floats:
    """The output function of SplitMix64 (Steele et al. 2014), as a number in [0, 1)."""
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    state ^= state >> np.uint64(31)
    return (state >> np.uint64(11)).astype(np.float64) * 2.0**-53


_STEP = np.uint64(0x9E3779B97F4A7C15)


PLACE = 70
METRICS = (specificity, question, length, *DISTINCT, random)
